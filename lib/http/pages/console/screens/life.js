// @ts-check
/** @import { Step } from "../card_life.js" */
/** @import { SandboxInfo } from "../session.js" */
import { post } from "../api.js";
import { CARD_LIFE } from "../card_life.js";
import { button, failure, fill, h, panel, say, tag } from "../dom.js";
import { listen } from "../feed.js";
import { grouped } from "../format.js";
import { accountLink, transactionLink } from "../links.js";
import { hex, signEnvelope } from "../signing.js";

/** The present card and the number of its finished steps. They outlive a visit of another screen. */
let played = { deviceHash: "", done: 0 };

/** Plays the life of a card in the sandbox: the gateway prepares, this page signs, the gateway submits. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function life({ session: { sandbox }, signal }) {
  if (sandbox === undefined) {
    return {
      title: "Sandbox",
      content: [
        h(
          "p",
          {},
          "This gateway is no sandbox on this machine. Start one with ",
          h("code", {}, "gateway sandbox"),
          ".",
        ),
      ],
    };
  }
  const { section, body } = panel("The life of a card", { class: "wide" });
  show(body, sandbox, signal);
  return { title: "Sandbox", content: [section, accounts(sandbox)] };
}

/** @param {Element} place @param {SandboxInfo} sandbox @param {AbortSignal} signal */
function show(place, sandbox, signal) {
  if (played.deviceHash === "") played = { deviceHash: hex(crypto.getRandomValues(new Uint8Array(32))), done: 0 };
  const { deviceHash } = played;
  const items = CARD_LIFE.map((step, at) => stepItem(step, at < played.done));
  const problem = h("div");
  const next = button("", () => void play(1), { class: "primary" });
  const all = button("Play the rest", () => void play(CARD_LIFE.length));
  const fresh = button("A new card", () => {
    played = { deviceHash: "", done: 0 };
    show(place, sandbox, signal);
  });

  /** The transactions whose events the page has received. @type {Set<string>} */
  const heard = new Set();

  /** @param {boolean} isBusy */
  function enable(isBusy) {
    const step = CARD_LIFE[played.done];
    next.textContent = step === undefined ? "All steps are done" : `Step ${played.done + 1}: ${step.title}`;
    next.disabled = all.disabled = isBusy || step === undefined;
    fresh.disabled = isBusy;
    items[played.done]?.element.classList.add("next");
  }

  /** @param {number} steps */
  async function play(steps) {
    enable(true);
    fill(problem);
    try {
      for (let n = 0; n < steps && played.done < CARD_LIFE.length && !signal.aborted; n++) await playStep(played.done);
    } catch (error) {
      fill(problem, failure(error));
    }
    enable(false);
  }

  /** @param {number} at */
  async function playStep(at) {
    const item = /** @type {ReturnType<typeof stepItem>} */ (items[at]);
    const step = /** @type {Step} */ (CARD_LIFE[at]);
    item.element.classList.add("next");
    const { hash, ledger } = await write(
      step,
      { ...(/** @type {SandboxInfo} */ (sandbox)), deviceHash },
      item.progress,
    );
    played.done = at + 1;
    item.finished(hash, ledger);
    // The event may come before the answer.
    if (heard.has(hash)) item.heard();
    say(`${step.event} in ledger ${ledger}`);
  }

  listen({
    event({ txHash }) {
      heard.add(txHash);
      items.find(({ hash }) => hash() === txHash)?.heard();
    },
  }, signal);
  const card = h(
    "p",
    {},
    h("span", { class: "dim" }, "Card "),
    h("a", { href: `#/cards/${deviceHash}` }, h("code", {}, deviceHash)),
  );
  fill(
    place,
    card,
    h("ol", { class: "steps" }, items.map(({ element }) => element)),
    problem,
    h("div", { class: "actions" }, next, all, fresh),
  );
  enable(false);
}

/**
 * The three steps of a write: the gateway prepares, this page signs, the gateway submits.
 * @param {Step} step
 * @param {import("../card_life.js").SandboxCard} card
 * @param {(text: string) => void} onProgress
 */
async function write(step, card, onProgress) {
  const { address, secret } = card.accounts[step.by];
  onProgress("preparing …");
  const prepared = await post("v1/transactions/prepare", { source: address, operation: step.operation(card) });
  onProgress("signing …");
  const xdr = await signEnvelope(prepared, secret);
  onProgress("submitting …");
  return await post("v1/transactions/submit", { xdr });
}

/** @param {Step} step @param {boolean} isDone */
function stepItem({ event, title, by }, isDone) {
  const state = h("span", { class: "state dim" }, isDone && tag("good", "done"));
  const element = h(
    "li",
    { class: isDone ? "done" : "" },
    h("span", {}, h("b", {}, title), h("small", { class: "dim" }, `${event}, signed by the ${by}`)),
    state,
  );
  let sent = "";
  return {
    element,
    hash: () => sent,
    progress: (/** @type {string} */ text) => fill(state, text),
    /** @param {string} hash @param {number} ledger */
    finished(hash, ledger) {
      sent = hash;
      element.className = "done";
      fill(state, tag("good", "confirmed"), ` ledger ${grouped(ledger)} `, transactionLink(hash));
    },
    heard: () => state.append(" ", tag("plain", "event received")),
  };
}

/** @param {SandboxInfo} sandbox */
function accounts({ accounts }) {
  const { section, body } = panel("Accounts", { class: "wide" });
  const parts = {
    owner: "owns the card and its money",
    agent: "authorises payments, within the policy",
    merchant: "receives the payments",
  };
  fill(
    body,
    h(
      "ul",
      { class: "rows" },
      Object.entries(accounts).map(([name, { address }]) =>
        h(
          "li",
          {},
          h(
            "span",
            {},
            h("b", {}, name),
            h("small", { class: "dim" }, parts[/** @type {keyof typeof parts} */ (name)]),
          ),
          h("span", { class: "end" }, accountLink(address)),
        )
      ),
    ),
  );
  return section;
}
