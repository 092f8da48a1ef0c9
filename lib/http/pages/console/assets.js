// @ts-check
/** @import { AssetInfo } from "../../../escrow/reads/asset_info.ts" */
import { get, isMissing } from "./api.js";
import { fill, h, tag } from "./dom.js";
import { grouped, inUnits, shortId } from "./format.js";

/** How amounts are written: in units with the symbol that the asset's contract says, its smallest units beneath. */

/** @type {Map<string, AssetInfo>} */
const known = new Map();
/** What was asked for; undefined is answered where there is no token. @type {Map<string, Promise<AssetInfo | undefined>>} */
const asked = new Map();

/** The assets that this deployment deals in; undefined: all. @type {Set<string> | undefined} */
let dealtIn;

/** Begins anew, on another network. @param {string[] | null | undefined} assets contracts of those dealt in; none: all are */
export function forgetAssets(assets) {
  known.clear();
  asked.clear();
  dealtIn = assets ? new Set(assets) : undefined;
}

/**
 * Shows what is known of an asset now, and again when it has said more of itself.
 * @param {HTMLElement} element
 * @param {string} contract
 * @param {(info: AssetInfo | undefined) => import("./dom.js").Child[]} content
 */
function showing(element, contract, content) {
  fill(element, content(known.get(contract)));
  if (!known.has(contract)) void learn(contract).then((info) => info && fill(element, content(info)));
  return element;
}

/** @param {string} contract */
function learn(contract) {
  let learning = asked.get(contract);
  if (learning === undefined) {
    learning = get(`v1/assets/${contract}`).then((info) => {
      known.set(contract, info);
      return info;
    }, (error) => {
      // What failed in passing is asked for again at the next look.
      if (!isMissing(error)) asked.delete(contract);
      return undefined;
    });
    asked.set(contract, learning);
  }
  return learning;
}

/** What any token may say of itself: however it is written, the text around it is not. @param {AssetInfo} info */
function symbolOf({ symbol }) {
  return symbol === "native" ? "XLM" : h("bdi", { class: "symbol", title: symbol }, symbol);
}

/**
 * An amount in units with the symbol, its smallest units beneath; where the asset is not known only these.
 * @param {string | null | undefined} amount
 * @param {string | null | undefined} contract
 * @param {string | null} [expected] the asset it should be in: another one is flagged
 */
export function amountOf(amount, contract, expected) {
  if (amount === null || amount === undefined) return null;
  const element = h("span", { class: "amount" });
  if (!contract) {
    fill(element, h("b", {}, grouped(amount)), h("small", {}, "smallest units"));
    return element;
  }
  const flag = isForeign(contract) || (expected && expected !== contract) ? foreignFlag(contract) : null;
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

/** Whether this deployment does not deal in the asset. @param {string} contract */
function isForeign(contract) {
  return dealtIn !== undefined && !dealtIn.has(contract);
}

/** @param {string} contract */
function foreignFlag(contract) {
  const why = `${contract} is not the asset that it should be: the contracts keep one balance for all of them`;
  return tag("bad", "foreign asset", why);
}

/** An asset by its symbol, its contract when pointed at. @param {string} contract */
export function assetName(contract) {
  return showing(h("span"), contract, (info) => [
    h("abbr", { title: info?.name ?? contract }, info === undefined ? shortId(contract) : symbolOf(info)),
    isForeign(contract) && [" ", foreignFlag(contract)],
  ]);
}
