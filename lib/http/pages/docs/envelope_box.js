// The box on the page about signing describes an envelope in a sentence. The page sends it nowhere.

import { decodeEnvelope } from "./envelope.js";
import { lumens, nativeContract } from "./native_asset.js";

const short = (/** @type {string} */ text) => `${text.slice(0, 4)}…`;
const account = (/** @type {string} */ address) => `${address.slice(0, 4)}…${address.slice(-4)}`;

/** The meaning of a call, by the function of the contract. `money` writes an amount with its asset. */
const MEANINGS = {
  authorize: ([, card, merchant, asset, amount, nonce], money) =>
    `pay ${money(amount, asset)} to ${account(merchant)} with card ${short(card)} (payment number ${nonce})`,
  claim: ([asset], money) => `claim all payments that are pending in ${money(undefined, asset)}`,
  register_agent: ([, card, agent, max, asset, expires], money) =>
    `let agent ${account(agent)} pay with card ${short(card)}, ` +
    `${max === 0n ? `without a cap, in ${money(undefined, asset)}` : `at most ${money(max, asset)} a payment`}, ` +
    `${expires === 0n ? "for ever" : `until ${time(expires)}`}`,
  revoke_agent: ([, card]) => `let no agent pay with card ${short(card)} any more`,
  fund_escrow: ([asset, , card, amount], money) => `fund card ${short(card)} with ${money(amount, asset)}`,
  defund_escrow: ([asset, card, amount], money) => `take ${money(amount, asset)} back from card ${short(card)}`,
  register: ([, card, agent]) => `register card ${short(card)} as yours, with agent ${account(agent)}`,
  revoke: ([, card]) => `give card ${short(card)} up`,
  sweep_on_revoke: ([asset, card], money) =>
    `send what is left on card ${short(card)} back to its owner, in ${money(undefined, asset)}`,
};

/** @param {bigint} seconds of 64 bits, which may be beyond the calendar */
function time(seconds) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return "beyond the calendar";
  return date.toISOString().replace("T", " ").replace(".000Z", " UTC");
}

/** The contract of each function. All others belong to the escrow. */
const CONTRACTS = {
  register: "deviceRegistry",
  revoke: "deviceRegistry",
  register_agent: "agentRegistry",
  revoke_agent: "agentRegistry",
};

/** The gateway's contracts by name, as in `GET /v1/network`, when the page knows them. @typedef {Record<string, string> | undefined} Contracts */

/**
 * Describes the effect of a signature in a sentence, with a verdict:
 * - `good`: the gateway prepares such envelopes;
 * - `bad`: the gateway never does;
 * - `open`: it may be `good`, but the page does not know the gateway's contracts.
 * @param {string} text an envelope, or the answer of prepare as JSON @param {string} passphrase @param {Contracts} [contracts]
 */
export async function explain(text, passphrase, contracts) {
  // Over plain HTTP a browser has Web Crypto only for this machine. The hash needs it.
  if (crypto.subtle === undefined) {
    throw new Error("the browser computes its hash over HTTPS only. Open this page over HTTPS");
  }
  const given = text.trim().startsWith("{") ? parsed(text) : { xdr: text };
  const network = given.networkPassphrase ?? passphrase;
  const call = await decodeEnvelope(String(given.xdr ?? ""), network);
  const native = await nativeContract(network);
  const money = (amount, asset) => {
    const isNative = asset === native;
    if (amount === undefined) return isNative ? "XLM" : `asset ${account(asset)}`;
    return isNative ? `${lumens(amount)} XLM` : `${amount} of asset ${account(asset)}, in its smallest unit`;
  };
  const wrong = objection(call, contracts);
  const what = wrong === undefined
    ? MEANINGS[call.function](call.args, money)
    : `call ${call.function} of ${account(call.contract)}, ${wrong}`;
  const until = call.validUntil === undefined ? "" : `, valid until ${time(call.validUntil)}`;
  const verdict = wrong !== undefined ? "bad" : contracts === undefined ? "open" : "good";
  const open = ` This page does not know whether ${account(call.contract)} is this gateway's contract. ` +
    "Compare the address, or fill the examples with a key.";
  return {
    sentence: `You are about to sign: ${what}, fee at most ${lumens(call.fee)} XLM${until}.` +
      (verdict === "open" ? open : ""),
    ...call,
    verdict,
  };
}

/** @param {string} json */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error("its JSON is incomplete");
  }
}

/**
 * The reason why the gateway never prepares such a call; undefined when there is none.
 * @param {import("./envelope.js").Decoded} call @param {Contracts} contracts
 */
function objection(call, contracts) {
  if (!Object.hasOwn(MEANINGS, call.function)) return "which is no operation of the gateway";
  if (allowsMore(call)) {
    const calls = (one) => [`${one.function} of ${account(one.contract)}`, ...one.under.flatMap(calls)];
    return `and allow ${
      call.authorised.flatMap(calls).join(", ")
    } in your name, which no operation of the gateway does`;
  }
  const own = contracts?.[CONTRACTS[call.function] ?? "paymentEscrow"];
  return contracts === undefined || own === call.contract ? undefined : "which is not this gateway's contract for that";
}

/** Whether the signature allows more calls than the operation makes. Only funding has a call beneath it. */
function allowsMore({ contract, function: name, args, authorised }) {
  const [asset, from, , amount] = args;
  const transfer = { contract: asset, function: "transfer", args: [from, contract, amount], under: [] };
  const own = { contract, function: name, args, under: name === "fund_escrow" ? [transfer] : [] };
  const text = (one) => JSON.stringify(one, (_, value) => typeof value === "bigint" ? String(value) : value);
  return authorised.length > 1 || authorised.some((one) => text(one) !== text(own));
}

/** @param {HTMLFormElement} box @param {() => Contracts} contracts those that the page knows at the time */
export function workEnvelopeBox(box, contracts) {
  const [envelope, passphrase] = box.querySelectorAll("textarea, input");
  const says = box.querySelector("output");
  const idle = says.textContent;
  async function show() {
    const text = envelope.value;
    says.className = "";
    if (text.trim() === "") return says.textContent = idle;
    try {
      const explained = await explain(text, passphrase.value, contracts());
      if (text !== envelope.value) return;
      const { sentence, source, contract, hash, signatures, verdict } = explained;
      says.className = verdict;
      const rows = { "Signs": source, "Contract": contract, "Hash": hash, "Signatures so far": String(signatures) };
      const list = document.createElement("dl");
      for (const [name, value] of Object.entries(rows)) {
        list.append(...["dt", "dd"].map((tag, index) => {
          const element = document.createElement(tag);
          element.textContent = [name, value][index];
          return element;
        }));
      }
      says.replaceChildren(sentence, list);
    } catch (error) {
      says.className = "bad";
      says.textContent = `Cannot read this envelope: ${error instanceof Error ? error.message : error}.`;
    }
  }
  envelope.addEventListener("input", show);
  passphrase.addEventListener("input", show);
  box.addEventListener("submit", (event) => event.preventDefault());
  // The reader may have typed before this script ran.
  show();
}
