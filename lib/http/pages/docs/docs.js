// What the documentation does beyond being read: tabs, copying, and examples filled from this gateway.

/** Where the gateway is: this script lies beneath it, whatever prefix a proxy puts before both. */
const ROOT = new URL("..", import.meta.url);

/** Words that examples leave open, as they stand in the text, with what is known of them. @type {Map<string, string>} */
const known = new Map([["GATEWAY", ROOT.href.slice(0, -1)]]);
/** The gateway's contracts by name, once they are known. @type {Record<string, string> | undefined} */
let contracts;
const OPEN =
  /\$(GATEWAY|KEY|PASSPHRASE|RPC|DEVICE_REGISTRY|AGENT_REGISTRY|PAYMENT_ESCROW|ASSET|OWNER_SECRET|AGENT_SECRET|MERCHANT_SECRET|OWNER|AGENT|MERCHANT)\b/g;

/** The text of each block of code as it was written. @type {Map<HTMLElement, string>} */
const written = new Map([...document.querySelectorAll("pre > code")].map((code) => [code, code.textContent]));

function fill() {
  for (const [code, text] of written) code.textContent = text.replace(OPEN, (word, name) => known.get(name) ?? word);
}

/** @param {{ rpc?: string, rpcUrl?: string, networkPassphrase: string, contracts: Record<string, string>, asset?: string }} info */
function learn(info) {
  contracts = info.contracts;
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;
  known.set("RPC", info.rpc ?? info.rpcUrl);
  known.set("PASSPHRASE", info.networkPassphrase);
  known.set("DEVICE_REGISTRY", deviceRegistry).set("AGENT_REGISTRY", agentRegistry).set(
    "PAYMENT_ESCROW",
    paymentEscrow,
  );
  if (info.asset !== undefined) known.set("ASSET", info.asset);
  const passphrase = document.querySelector("#envelope-passphrase");
  if (passphrase === null) return;
  passphrase.value = info.networkPassphrase;
  passphrase.dispatchEvent(new Event("input"));
}

/** What the sandbox tells of itself at the same address; of another gateway nothing. */
async function sandbox() {
  const answer = await fetch(ROOT, { headers: { accept: "application/json" } }).catch(() => undefined);
  const info = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  return info?.accounts === undefined ? undefined : info;
}

async function setUpFilling() {
  const form = document.querySelector("#fill");
  const state = document.querySelector("#fill-state");
  if (![...written.values()].some((text) => text.search(OPEN) !== -1)) return;
  // Shown before it is known what it says: nothing moves when it is.
  form.hidden = false;
  state.textContent = "Looking whether this is a sandbox …";
  const info = await sandbox();
  if (info !== undefined) {
    learn(info);
    known.set("KEY", info.apiKey);
    for (const [name, { address, secret }] of Object.entries(info.accounts)) {
      known.set(name.toUpperCase(), address).set(`${name.toUpperCase()}_SECRET`, secret);
    }
    state.textContent = "The examples are filled with this sandbox's key and accounts, and run as they stand.";
    form.querySelector(".row").hidden = true;
  } else {
    state.textContent = "Examples can be filled with this gateway's network and contracts. The key stays in this page.";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      fillWithKey(form.querySelector("input").value.trim(), state);
    });
  }
  fill();
}

/** @param {string} key @param {Element} state */
async function fillWithKey(key, state) {
  try {
    // A browser puts such a character into no header.
    if (/[^\x21-\x7e]/.test(key)) throw new Error("the API key is malformed: it has a character that no key has");
    const answer = await fetch(new URL("v1/network", ROOT), { headers: { authorization: `Bearer ${key}` } });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error.message);
    learn(body);
    known.set("KEY", key);
    fill();
    state.textContent = "The examples are filled. $OWNER, $AGENT, $MERCHANT and their secrets are yours to put in.";
  } catch (error) {
    state.textContent = `Not filled: ${error.message}`;
  }
}

/** @param {Element} pre */
function addCopying(pre) {
  const figure = document.createElement("div");
  figure.className = "code";
  pre.replaceWith(figure);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    // Over plain HTTP a browser has no clipboard.
    const isCopied = await navigator.clipboard?.writeText(pre.textContent).then(() => true, () => false);
    button.textContent = isCopied ? "Copied" : "Cannot copy";
    setTimeout(() => button.textContent = "Copy", 1_500);
  });
  figure.append(pre, button);
}

/** Tabs as in the ARIA Authoring Practices; the language that was chosen stays chosen from page to page. */
let groups = 0;
/** @param {Element} box */
function makeTabs(box) {
  const group = groups++;
  const panels = [...box.querySelectorAll(":scope > section")];
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const tabs = panels.map((panel, index) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${group}-${index}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id = `panel-${group}-${index}`);
    tab.textContent = panel.dataset.tab;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.querySelector("h4").remove();
    tab.addEventListener("click", () => choose(panel.dataset.tab));
    tab.addEventListener("keydown", ({ key }) => {
      const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
      if (step !== 0) choose(tabs[(index + step + tabs.length) % tabs.length].textContent, list);
    });
    return tab;
  });
  list.append(...tabs);
  box.prepend(list);
}

/** @param {string} name @param {Element} [focused] the list whose tab gets the focus */
function choose(name, focused) {
  for (const box of document.querySelectorAll(".tabs")) {
    const tabs = [...box.querySelectorAll("[role=tab]")];
    const chosen = tabs.find((tab) => tab.textContent === name);
    if (chosen === undefined && tabs.some((tab) => tab.ariaSelected === "true")) continue;
    for (const tab of tabs) {
      const isChosen = tab === (chosen ?? tabs[0]);
      tab.ariaSelected = String(isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
      if (isChosen && focused === tab.parentElement) tab.focus();
    }
  }
  try {
    localStorage.setItem("docs-language", name);
  } catch {
    // A browser may forbid it: then the choice is this page's.
  }
}

function chosenLanguage() {
  try {
    return localStorage.getItem("docs-language") ?? "";
  } catch {
    return "";
  }
}

for (const pre of document.querySelectorAll("article pre")) addCopying(pre);
for (const box of document.querySelectorAll(".tabs")) makeTabs(box);
choose(chosenLanguage() || "TypeScript");
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".menu").open = false;
setUpFilling();
const box = document.querySelector("#envelope-box");
if (box !== null) import("./envelope_box.js").then(({ workEnvelopeBox }) => workEnvelopeBox(box, () => contracts));
