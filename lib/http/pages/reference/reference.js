// The API reference: Scalar's script, told to stay at home. It is asked for after the page stands, because it takes a
// browser about a second to read.

/** Whether the sandbox answers at the same address: its key is no secret, and what is tried out works at once. */
async function sandboxKey() {
  try {
    const answer = await fetch("/", { headers: { accept: "application/json" } });
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

async function show() {
  const [key, document_] = await Promise.all([
    sandboxKey(),
    fetch("/openapi.json").then((answer) => answer.json()),
    loadScript("/docs/reference/scalar.js"),
  ]);
  // What is tried out goes to the gateway that serves this page.
  document_.servers = [{ url: location.origin, description: "This gateway" }];
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
    defaultOpenFirstTag: false,
  });
}

addEventListener("load", () => {
  show().catch((error) => {
    document.querySelector("#reference").textContent = `The reference could not be shown: ${error.message}`;
  });
});
