// @ts-check
import { h, tag } from "./dom.js";
import { grouped, inUnits, shortId } from "./format.js";
import { joined, networkId, sha256 } from "./signing.js";
import { CONTRACT, encodeKey } from "./strkey.js";

/** What the contracts of assets are called, and how their amounts are written. */

/** @typedef {{ symbol: string, decimals: number | undefined, smallest: string }} Asset `decimals` undefined: not known, amounts stay in the smallest unit */

/** @type {Map<string, Asset>} */
const known = new Map();

/** The assets that this deployment deals in; undefined: it does not say. @type {Set<string> | undefined} */
let dealtIn;

/** Every asset contract of the protocol has so many. */
const STELLAR_DECIMALS = 7;

/**
 * Learns the assets of the network: the native one's contract follows from the passphrase.
 * @param {{ networkPassphrase: string, assets?: { contract: string, code?: string | null, decimals?: number | null }[] | null }} network as `/v1/network` answers
 */
export async function learnAssets({ networkPassphrase, assets }) {
  known.clear();
  // HashIdPreimage: ENVELOPE_TYPE_CONTRACT_ID, the network, CONTRACT_ID_PREIMAGE_FROM_ASSET, ASSET_TYPE_NATIVE.
  const preimage = joined([0, 0, 0, 8], await networkId(networkPassphrase), [0, 0, 0, 1], [0, 0, 0, 0]);
  const native = encodeKey(CONTRACT, await sha256(preimage));
  known.set(native, { symbol: "XLM", decimals: STELLAR_DECIMALS, smallest: "stroops" });
  dealtIn = assets?.length ? new Set(assets.map(({ contract }) => contract)) : undefined;
  for (const { contract, code, decimals } of assets ?? []) if (code) learnAsset(contract, code, decimals ?? undefined);
}

/**
 * @param {string} contract
 * @param {string} symbol
 * @param {number} [decimals]
 */
export function learnAsset(contract, symbol, decimals = STELLAR_DECIMALS) {
  if (!known.has(contract)) known.set(contract, { symbol, decimals, smallest: "smallest units" });
}

/** @param {string} contract @returns {Asset} */
function assetOf(contract) {
  return known.get(contract) ?? { symbol: shortId(contract), decimals: undefined, smallest: "smallest units" };
}

/** Whether this deployment does not deal in the asset. @param {string} contract */
function isForeign(contract) {
  return dealtIn !== undefined && !dealtIn.has(contract);
}

/**
 * An amount in units with the symbol, its smallest units beneath; where the asset is not known only these.
 * @param {string | null | undefined} amount
 * @param {string | null | undefined} contract
 * @param {string | null} [expected] the asset it should be in: another one is flagged
 */
export function amountOf(amount, contract, expected) {
  if (amount === null || amount === undefined) return null;
  const { symbol, decimals, smallest } = contract
    ? assetOf(contract)
    : { symbol: "", decimals: undefined, smallest: "smallest units" };
  const flag = contract && (isForeign(contract) || (expected && expected !== contract)) ? foreignFlag(contract) : null;
  if (decimals === undefined) {
    return h(
      "span",
      { class: "amount" },
      h("b", {}, grouped(amount)),
      h("small", {}, contract ? `smallest units of ${symbol}` : smallest),
      flag,
    );
  }
  return h(
    "span",
    { class: "amount" },
    h("b", {}, inUnits(amount, decimals), " ", symbol),
    h("small", {}, grouped(amount), " ", smallest),
    flag,
  );
}

/** @param {string} contract */
function foreignFlag(contract) {
  return tag(
    "bad",
    "foreign asset",
    `${contract} is not the asset that is dealt in here: the contracts keep one balance for all`,
  );
}

/** An asset by its symbol, its contract when pointed at. @param {string} contract */
export function assetName(contract) {
  return h(
    "span",
    {},
    h("abbr", { title: contract }, assetOf(contract).symbol),
    " ",
    isForeign(contract) && foreignFlag(contract),
  );
}
