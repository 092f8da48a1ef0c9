import type { ClosedLedger, Network } from "../network_types.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { heldRange, isHeld, readPageRequest } from "./pages.ts";
import { readXdrFormat, type XdrFormat } from "./xdr_format.ts";

/** A LedgerHeaderHistoryEntry is a hash, the LedgerHeader and a void extension. */
const HASH_BYTES = 32;
const VOID_EXTENSION_BYTES = 4;

/** `getLatestLedger`. Unlike getLedgers it returns the bare LedgerHeader. */
export function getLatestLedger(network: Network, params: Params) {
  const format = readXdrFormat(network, params);
  const { hash, sequence, closeTime, headerXdr, metadataXdr } = network.latestLedger();
  return {
    id: hash,
    protocolVersion: network.protocolVersion,
    sequence,
    closeTime: String(closeTime),
    ...format.one("headerXdr", "LedgerHeader", headerXdr.subarray(HASH_BYTES, -VOID_EXTENSION_BYTES)),
    ...format.one("metadataXdr", "LedgerCloseMeta", metadataXdr),
  };
}

/** `getLedgers`: ledgers from `startLedger`, or after the ledger of `pagination.cursor`. */
export function getLedgers(network: Network, params: Params) {
  const { startLedger, cursor, limit, format } = readPageRequest(network, params);
  const latest = network.latestLedger();
  const oldest = network.oldestLedger();
  const start = cursor === "" ? startLedger : /^\d{1,10}$/.test(cursor) ? Number(cursor) + 1 : NaN;
  if (!isHeld(network, start)) {
    throw new JsonRpcError(INVALID_PARAMS, `cursor ('${cursor}') must be ${heldRange(network)}`);
  }
  const end = Math.min(start + limit - 1, latest.sequence);
  const ledgers = [];
  for (let sequence = start; sequence <= end; sequence++) {
    const ledger = network.ledger(sequence);
    if (ledger) ledgers.push(ledgerInfo(ledger, format));
  }
  return {
    ledgers,
    latestLedger: latest.sequence,
    latestLedgerCloseTime: latest.closeTime,
    oldestLedger: oldest.sequence,
    oldestLedgerCloseTime: oldest.closeTime,
    cursor: String(end),
  };
}

function ledgerInfo({ hash, sequence, closeTime, headerXdr, metadataXdr }: ClosedLedger, format: XdrFormat) {
  return {
    hash,
    sequence,
    ledgerCloseTime: String(closeTime),
    ...format.one("headerXdr", "LedgerHeaderHistoryEntry", headerXdr),
    ...format.one("metadataXdr", "LedgerCloseMeta", metadataXdr),
  };
}
