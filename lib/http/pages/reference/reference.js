// The API reference: Scalar's script, which calls this gateway only. The page loads first, because a browser needs about a
// second for the script.

/** The gateway's root: this script lies beneath it, whatever prefix a proxy adds. */
const ROOT = new URL("../..", import.meta.url);

/** The key of a sandbox, which is no secret; undefined for another gateway. With the key every request of the page works. */
async function sandboxKey() {
  try {
    const answer = await fetch(ROOT, { headers: { accept: "application/json" } });
    return answer.ok ? (await answer.json()).apiKey : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} src */
function loadScript(src) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = src;
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

/**
 * Scalar's editor writes its styles piece by piece, so the policy cannot have their hashes. The browser blocks these styles,
 * and this function adds them as constructed sheets, which only an allowed script can do.
 */
function adoptStyles() {
  /** @type {Map<HTMLStyleElement, CSSStyleSheet>} */
  const adopted = new Map();
  const observer = new MutationObserver(() => {
    for (const style of document.head.querySelectorAll("style")) {
      if (style.sheet !== null || style.textContent === "") continue;
      const sheet = adopted.get(style) ?? new CSSStyleSheet();
      sheet.replaceSync(style.textContent);
      if (adopted.has(style)) continue;
      adopted.set(style, sheet);
      document.adoptedStyleSheets.push(sheet);
    }
  });
  observer.observe(document.head, { childList: true, subtree: true, characterData: true });
}

/** Names the buttons that Scalar leaves without a name, and lets the keyboard reach its lists. */
function mendControls() {
  const mend = () => {
    for (const button of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])')) {
      button.setAttribute("aria-label", "Copy");
    }
    for (const list of document.querySelectorAll("ul.endpoints:not([tabindex])")) list.tabIndex = 0;
  };
  new MutationObserver(mend).observe(document.querySelector("#reference"), { childList: true, subtree: true });
}

async function show() {
  mendControls();
  adoptStyles();
  const [key, document_] = await Promise.all([
    sandboxKey(),
    fetch(new URL("openapi.json", ROOT)).then((answer) => answer.json()),
    loadScript(new URL("docs/reference/scalar.js", ROOT).href),
  ]);
  // Requests of the page go to the gateway that serves it.
  document_.servers = [{ url: ROOT.href.slice(0, -1), description: "This gateway" }];
  document.querySelector("#reference").replaceChildren();
  globalThis.Scalar.createApiReference("#reference", {
    content: document_,
    authentication: { preferredSecurityScheme: "bearer", securitySchemes: { bearer: { token: key ?? "" } } },
    // The page forgets the key with a reload.
    persistAuth: false,
    // The page calls no other server.
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: "never",
    documentDownloadType: "direct",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    operationTitleSource: "path",
    defaultOpenAllTags: true,
  });
}

addEventListener("load", () => {
  show().catch((error) => {
    document.querySelector("#reference").textContent = `Cannot show the reference: ${error.message}. Reload the page.`;
  });
});
