import { xdr } from "@stellar/stellar-sdk";
import type { HeldEntry, Network } from "../network_types.ts";
import { fromBase64 } from "./base64.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { readStrings } from "./params.ts";
import { readXdrFormat, type XdrFormat } from "./xdr_format.ts";
import { LEDGER_ENTRY_TYPES } from "../ledger/protocol.ts";

const MAX_KEYS = 200;
/** Bound of one decoded key. */
const MAX_KEY_BYTES = 16 * 1024;
/** Durability, the last word of the LedgerKey of contract data. */
const TEMPORARY = 0;

/** `getLedgerEntries`: the entries of 1 to 200 keys, in the order of the keys. */
export function getLedgerEntries(network: Network, params: Params) {
  const keys = readStrings(params, "keys");
  const format = readXdrFormat(network, params);
  if (keys.length > MAX_KEYS) {
    throw new JsonRpcError(INVALID_PARAMS, `key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`);
  }
  // At the real node its client of stellar-core refuses this.
  if (keys.length === 0) {
    throw new JsonRpcError(INTERNAL_ERROR, "could not query captive core: no keys specified in request");
  }
  const latestLedger = network.latestLedger().sequence;
  const entries = [];
  for (const [index, key] of keys.entries()) {
    const keyXdr = decodeKey(key, index);
    const entry = network.entry(keyXdr);
    if (!entry) requireLedgerKey(keyXdr, key, index);
    else if (!isGone(keyXdr, entry, latestLedger)) entries.push(entryResult(keyXdr, entry, latestLedger, format));
  }
  requireNoKeyTwice(keys);
  return { entries, latestLedger };
}

/** stellar-core refuses repeated keys. The real node reports only its status code. */
function requireNoKeyTwice(keys: string[]): void {
  const twice = keys.findIndex((key, index) => keys.indexOf(key) < index);
  if (twice < 0) return;
  const message = "could not query captive core: http request failed with non-200 status code (404): " +
    `the key at index ${twice} is the one at index ${keys.indexOf(keys[twice]!)}`;
  throw new JsonRpcError(INTERNAL_ERROR, message);
}

function decodeKey(key: string, index: number): Uint8Array {
  let keyXdr: Uint8Array;
  try {
    keyXdr = fromBase64(key);
  } catch {
    throw badKey(key, index);
  }
  if (keyXdr.length <= MAX_KEY_BYTES) return keyXdr;
  const message = `key at index ${index} has ${keyXdr.length} bytes, more than the ${MAX_KEY_BYTES} a key may have`;
  throw new JsonRpcError(INVALID_PARAMS, message);
}

/** For keys without an entry. A key with an entry is a LedgerKey. */
function requireLedgerKey(keyXdr: Uint8Array, key: string, index: number): void {
  try {
    xdr.LedgerKey.fromXdr(keyXdr);
  } catch {
    throw badKey(key, index);
  }
  if (keyXdr[3] === LEDGER_ENTRY_TYPES.ttl) {
    throw new JsonRpcError(INVALID_PARAMS, "ledger ttl entries cannot be queried directly");
  }
}

function badKey(key: string, index: number): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, `cannot unmarshal key value ${key} at index ${index}`);
}

/** An expired temporary entry counts as deleted, even before its eviction. */
function isGone(keyXdr: Uint8Array, entry: HeldEntry, latestLedger: number): boolean {
  return keyXdr[3] === LEDGER_ENTRY_TYPES.contractData && keyXdr.at(-1) === TEMPORARY && isPast(entry, latestLedger);
}

function isPast(entry: HeldEntry, latestLedger: number): boolean {
  return entry.liveUntilLedger !== undefined && entry.liveUntilLedger < latestLedger;
}

function entryResult(keyXdr: Uint8Array, entry: HeldEntry, latestLedger: number, format: XdrFormat) {
  return {
    ...format.one("key", "LedgerKey", keyXdr),
    ...format.one("xdr", "LedgerEntryData", entry.dataXdr, "dataJson"),
    lastModifiedLedgerSeq: entry.lastModifiedLedger,
    // An archived entry has 0, because core does not store when it was archived.
    liveUntilLedgerSeq: isPast(entry, latestLedger) ? 0 : entry.liveUntilLedger,
    ...format.one("extXdr", "LedgerEntryExt", entry.extXdr),
  };
}
