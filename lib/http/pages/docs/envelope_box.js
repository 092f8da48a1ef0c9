// The box on the page about signing: an envelope in, a sentence out. Nothing is sent anywhere.

import { decodeEnvelope } from "./envelope.js";
import { lumens, nativeContract } from "./native_asset.js";

const short = (/** @type {string} */ text) => `${text.slice(0, 4)}…`;
const account = (/** @type {string} */ address) => `${address.slice(0, 4)}…${address.slice(-4)}`;

/** By the contracts' functions: what calling them means. `money` says an amount with its asset. */
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

/** @param {bigint} seconds any of 64 bits: more than a calendar has */
function time(seconds) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return "beyond the calendar";
  return date.toISOString().replace("T", " ").replace(".000Z", " UTC");
}

/** Which contract each function is of; all others are the escrow's. */
const CONTRACTS = {
  register: "deviceRegistry",
  revoke: "deviceRegistry",
  register_agent: "agentRegistry",
  revoke_agent: "agentRegistry",
};

/** @typedef {Record<string, string> | undefined} Contracts the gateway's by name, as `GET /v1/network` has them; undefined: not known */

/**
 * What signing an envelope would do, as a sentence, and a verdict: `good` is what the gateway prepares, `bad` what it never
 * does, and `open` where nothing speaks against it but whose contract it calls is not known.
 * @param {string} text an envelope, or the JSON of an answer of prepare @param {string} passphrase @param {Contracts} [contracts]
 */
export async function explain(text, passphrase, contracts) {
  // Over plain HTTP, but for the machine's own, a browser has no Web Crypto, and the hash is a part of the answer.
  if (crypto.subtle === undefined) throw new Error("a browser reads envelopes over HTTPS only");
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
  const open = ` Whether ${account(call.contract)} is this gateway's contract is not known here: ` +
    "compare it, or fill the examples with a key.";
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
    throw new Error("its JSON is not whole");
  }
}

/**
 * Why a call is none that the gateway prepares; undefined: nothing speaks against it.
 * @param {import("./envelope.js").Decoded} call @param {Contracts} contracts
 */
function objection(call, contracts) {
  if (!Object.hasOwn(MEANINGS, call.function)) return "which is no operation of the gateway";
  if (allowsMore(call)) {
    const calls = (one) => [`${one.function} of ${account(one.contract)}`, ...one.under.flatMap(calls)];
    return `and allow ${call.authorised.flatMap(calls).join(", ")} in your name, as no operation of the gateway does`;
  }
  const own = contracts?.[CONTRACTS[call.function] ?? "paymentEscrow"];
  return contracts === undefined || own === call.contract ? undefined : "which is not this gateway's contract for that";
}

/** Whether the signature allows other calls than the operation makes: of all, funding alone has one beneath it. */
function allowsMore({ contract, function: name, args, authorised }) {
  const [asset, from, , amount] = args;
  const transfer = { contract: asset, function: "transfer", args: [from, contract, amount], under: [] };
  const own = { contract, function: name, args, under: name === "fund_escrow" ? [transfer] : [] };
  const text = (one) => JSON.stringify(one, (_, value) => typeof value === "bigint" ? String(value) : value);
  return authorised.length > 1 || authorised.some((one) => text(one) !== text(own));
}

/** @param {HTMLFormElement} box @param {() => Contracts} contracts as far as they are known by then */
export function workEnvelopeBox(box, contracts) {
  const [envelope, passphrase] = box.querySelectorAll("textarea, input");
  const says = box.querySelector("output");
  const idle = says.textContent;
  async function tell() {
    const text = envelope.value;
    says.className = "";
    if (text.trim() === "") return says.textContent = idle;
    try {
      const said = await explain(text, passphrase.value, contracts());
      if (text !== envelope.value) return;
      const { sentence, source, contract, hash, signatures, verdict } = said;
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
      says.textContent = `This cannot be read: ${error instanceof Error ? error.message : error}.`;
    }
  }
  envelope.addEventListener("input", tell);
  passphrase.addEventListener("input", tell);
  box.addEventListener("submit", (event) => event.preventDefault());
  // Somebody may have been faster than this script.
  tell();
}
