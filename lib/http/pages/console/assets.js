// @ts-check
/** @import { AssetInfo } from "../../../escrow/reads/asset_info.ts" */
import { get, isMissing } from "./api.js";
import { fill, h, tag } from "./dom.js";
import { grouped, inUnits, shortId } from "./format.js";

/** Writes amounts in units with the symbol of the asset's contract, and in smallest units beneath. */

/** @type {Map<string, AssetInfo>} */
const known = new Map();
/** The requests by contract. The result is undefined when the contract is no token. @type {Map<string, Promise<AssetInfo | undefined>>} */
const requests = new Map();

/** The accepted assets; undefined when the gateway accepts all. @type {Set<string> | undefined} */
let accepted;

/** Empties the cache before another session. @param {string[] | null | undefined} assets contracts of the accepted assets; none when the gateway accepts all */
export function forgetAssets(assets) {
  known.clear();
  requests.clear();
  accepted = assets ? new Set(assets) : undefined;
}

/**
 * Shows an asset as far as the page knows it, and again when the gateway has answered.
 * @param {HTMLElement} element
 * @param {string} contract
 * @param {(info: AssetInfo | undefined) => import("./dom.js").Child[]} content
 */
function showing(element, contract, content) {
  fill(element, content(known.get(contract)));
  if (!known.has(contract)) void load(contract).then((info) => info && fill(element, content(info)));
  return element;
}

/** @param {string} contract */
function load(contract) {
  let request = requests.get(contract);
  if (request === undefined) {
    request = get(`v1/assets/${contract}`).then((info) => {
      known.set(contract, info);
      return info;
    }, (error) => {
      // The next use retries after a failure that may pass.
      if (!isMissing(error)) requests.delete(contract);
      return undefined;
    });
    requests.set(contract, request);
  }
  return request;
}

/** The symbol, which a token chooses. `bdi` keeps its direction of writing from the text around it. @param {AssetInfo} info */
function symbolOf({ symbol }) {
  return symbol === "native" ? "XLM" : h("bdi", { class: "symbol", title: symbol }, symbol);
}

/**
 * An amount in units with the symbol, and in smallest units beneath; without a known asset only in smallest units.
 * @param {string | null | undefined} amount
 * @param {string | null | undefined} contract
 * @param {string | null} [expected] the expected asset; another one gets a flag
 */
export function amountOf(amount, contract, expected) {
  if (amount === null || amount === undefined) return null;
  const element = h("span", { class: "amount" });
  if (!contract) {
    fill(element, h("b", {}, grouped(amount)), h("small", {}, "smallest units"));
    return element;
  }
  const flag = isUnaccepted(contract) || (expected && expected !== contract) ? unacceptedFlag(contract) : null;
  return showing(
    element,
    contract,
    (info) =>
      info === undefined
        ? [h("b", {}, grouped(amount)), h("small", {}, `smallest units of ${shortId(contract)}`), flag]
        : [
          h("b", {}, inUnits(amount, info.decimals), " ", symbolOf(info)),
          h("small", {}, `${grouped(amount)} ${info.symbol === "native" ? "stroops" : "smallest units"}`),
          flag,
        ],
  );
}

/** Whether the gateway does not accept the asset. @param {string} contract */
function isUnaccepted(contract) {
  return accepted !== undefined && !accepted.has(contract);
}

/** @param {string} contract */
function unacceptedFlag(contract) {
  const why = `${contract} is not the accepted asset. The contracts keep one balance for all assets.`;
  return tag("bad", "unaccepted asset", why);
}

/** An asset by its symbol, with its contract or name as title. @param {string} contract */
export function assetName(contract) {
  return showing(h("span"), contract, (info) => [
    h("abbr", { title: info?.name ?? contract }, info === undefined ? shortId(contract) : symbolOf(info)),
    isUnaccepted(contract) && [" ", unacceptedFlag(contract)],
  ]);
}
