// The API reference: Scalar's script, told to stay at home. It is asked for after the page stands, because it takes a
// browser about a second to read.

/** Where the gateway is: this script lies beneath it, whatever prefix a proxy puts before both. */
const ROOT = new URL("../..", import.meta.url);

/** Whether the sandbox answers at the same address: its key is no secret, and what is tried out works at once. */
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
 * The editor of what is tried out writes its style piece by piece, so that no hash in the policy can name it: what the
 * browser has left out is taken over as a constructed sheet, which only a script that is allowed to run can do.
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

/** What Scalar leaves without a name or out of the keyboard's reach. */
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
  // What is tried out goes to the gateway that serves this page.
  document_.servers = [{ url: ROOT.href.slice(0, -1), description: "This gateway" }];
  document.querySelector("#reference").replaceChildren();
  globalThis.Scalar.createApiReference("#reference", {
    content: document_,
    authentication: { preferredSecurityScheme: "bearer", securitySchemes: { bearer: { token: key ?? "" } } },
    // A key lives as long as the page.
    persistAuth: false,
    // Nothing is asked of, or told to, anybody else.
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
    document.querySelector("#reference").textContent = `The reference could not be shown: ${error.message}`;
  });
});
