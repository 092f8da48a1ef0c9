// Fills the open words of examples, such as $KEY, with the values of this gateway.

const OPEN =
  /\$(GATEWAY|KEY|PASSPHRASE|RPC|DEVICE_REGISTRY|AGENT_REGISTRY|PAYMENT_ESCROW|ASSET|OWNER_SECRET|AGENT_SECRET|MERCHANT_SECRET|OWNER|AGENT|MERCHANT)\b/g;

/** Addresses of accounts and contracts, secret keys (SEP-23), and hashes. `markdown.ts` has the same. */
const LONG_ID = /(?<![\w$])([GCS][A-Z2-7]{55}|[0-9a-f]{64})(?!\w)/;

/** @typedef {{ rpc?: string, rpcUrl?: string, networkPassphrase: string, contracts: Record<string, string>, asset?: string }} Network */

/**
 * Fills the examples of the page: those of a sandbox at once, those of another gateway when the reader enters a key.
 * @param {URL} root the gateway's
 * @returns {() => Record<string, string> | undefined} the gateway's contracts by name, once the page knows them
 */
export function fillExamples(root) {
  const examples = openExamples(document.querySelectorAll("pre > code"));
  /** The values that the page knows, by open word. @type {Map<string, string>} */
  const known = new Map([["GATEWAY", root.href.slice(0, -1)]]);
  /** @type {Record<string, string> | undefined} */
  let contracts;

  function fill() {
    for (const [element, text] of examples) {
      const filled = text.replace(OPEN, (word, name) => known.get(name) ?? word);
      element.replaceChildren(...withShortIds(filled));
    }
  }

  /** @param {Network} network */
  function learn(network) {
    contracts = network.contracts;
    const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;
    known.set("RPC", network.rpc ?? network.rpcUrl).set("PASSPHRASE", network.networkPassphrase)
      .set("DEVICE_REGISTRY", deviceRegistry).set("AGENT_REGISTRY", agentRegistry)
      .set("PAYMENT_ESCROW", paymentEscrow);
    if (network.asset !== undefined) known.set("ASSET", network.asset);
    const passphrase = document.querySelector("#envelope-passphrase");
    if (passphrase === null) return;
    passphrase.value = network.networkPassphrase;
    passphrase.dispatchEvent(new Event("input"));
  }

  /** @param {string} key @param {Element} state */
  async function fillWithKey(key, state) {
    try {
      // A browser refuses to send such a character in a header.
      if (/[^\x21-\x7e]/.test(key)) {
        throw new Error("the API key is malformed: it has a character that no key has. Copy the key again");
      }
      const answer = await fetch(new URL("v1/network", root), { headers: { authorization: `Bearer ${key}` } });
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error.message);
      learn(body);
      known.set("KEY", key);
      fill();
      state.textContent =
        "The examples have this gateway's values. Replace $OWNER, $AGENT, $MERCHANT and their secrets " +
        "with your own.";
    } catch (error) {
      state.textContent = `The examples are not filled: ${error.message}`;
    }
  }

  async function start() {
    const form = document.querySelector("#fill");
    const state = document.querySelector("#fill-state");
    // The form shows before its text is known, so that nothing moves later.
    form.hidden = false;
    state.textContent = "The page asks the gateway whether it is a sandbox …";
    const sandbox = await sandboxAt(root);
    if (sandbox === undefined) {
      state.textContent =
        "Enter an API key to fill the examples with this gateway's network and contracts. The key stays in this page.";
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        fillWithKey(form.querySelector("input").value.trim(), state);
      });
    } else {
      learn(sandbox);
      known.set("KEY", sandbox.apiKey);
      for (const [name, { address, secret }] of Object.entries(sandbox.accounts)) {
        known.set(name.toUpperCase(), address).set(`${name.toUpperCase()}_SECRET`, secret);
      }
      state.textContent = "The examples have this sandbox's key and accounts. They run as they stand.";
      form.querySelector(".row").hidden = true;
    }
    fill();
  }

  if (examples.size > 0) start();
  return () => contracts;
}

/** The description that a sandbox returns at its root; undefined for another gateway. @param {URL} root */
async function sandboxAt(root) {
  const answer = await fetch(root, { headers: { accept: "application/json" } }).catch(() => undefined);
  const info = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  return info?.accounts === undefined ? undefined : info;
}

/**
 * Puts each piece of text with an open word into an element of its own. Colours of the code stay around it.
 * @param {Iterable<Element>} blocks @returns {Map<Element, string>} the text of each element, as the page has it
 */
function openExamples(blocks) {
  const examples = new Map();
  for (const block of blocks) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts.filter(({ data }) => data.search(OPEN) !== -1)) {
      const element = document.createElement("span");
      text.replaceWith(element);
      element.append(text);
      examples.set(element, text.data);
    }
  }
  return examples;
}

/** Text in which long ids show their two ends only, as `markdown.ts` renders them. @param {string} text */
function withShortIds(text) {
  return text.split(LONG_ID).map((part, index) => {
    if (index % 2 === 0) return part;
    const [id, middle] = [document.createElement("span"), document.createElement("span")];
    id.className = "id";
    id.title = part;
    middle.className = "middle";
    middle.textContent = part.slice(4, -4);
    id.append(part.slice(0, 4), middle, part.slice(-4));
    return id;
  });
}
