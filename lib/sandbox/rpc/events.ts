import { isoSeconds } from "../../clock.ts";
import type { Network, NetworkEvent } from "../network_types.ts";
import { beforeLedger, endOfLedger, parseEventCursor } from "./event_cursor.ts";
import { readEventFilters } from "./event_filter.ts";
import { INVALID_PARAMS, INVALID_REQUEST, JsonRpcError, type Params } from "./json_rpc.ts";
import { readInteger, readObject, readString } from "./params.ts";
import { readXdrFormat, unlessEmpty, type XdrFormat } from "./xdr_format.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;
/** Ledgers that one call scans. A page may be empty and still move the cursor. */
const LEDGER_SCAN_LIMIT = 10_000;

/** `getEvents`: events from `startLedger` or after `pagination.cursor`, oldest first. */
export function getEvents(network: Network, params: Params) {
  const format = readXdrFormat(network, params);
  const { start, endLedger, limit, matches } = readEventsRequest(params);
  const latest = network.latestLedger();
  const oldest = network.oldestLedger();
  if (start.ledger < oldest.sequence || start.ledger > latest.sequence) {
    throw new JsonRpcError(
      INVALID_REQUEST,
      `startLedger must be within the ledger range: ${oldest.sequence} - ${latest.sequence}`,
    );
  }
  const windowEnd = Math.min(start.ledger + LEDGER_SCAN_LIMIT, latest.sequence + 1, endLedger || Infinity);
  const found: NetworkEvent[] = [];
  for (const event of network.eventsAfter(start.id, windowEnd - 1)) {
    if (!matches(event)) continue;
    found.push(event);
    if (found.length === limit) break;
  }
  return {
    events: found.map((event) => eventInfo(event, format)),
    // A full page continues after its last event, any other page after the scanned ledgers.
    cursor: found.length === limit ? found.at(-1)!.id : endOfLedger(windowEnd - 1),
    latestLedger: latest.sequence,
    oldestLedger: oldest.sequence,
    latestLedgerCloseTime: String(latest.closeTime),
    oldestLedgerCloseTime: String(oldest.closeTime),
  };
}

interface EventsRequest {
  /** The first ledger, and the id after which events begin. */
  start: { ledger: number; id: string };
  /** Exclusive; 0 without a bound. */
  endLedger: number;
  limit: number;
  matches: (event: NetworkEvent) => boolean;
}

function readEventsRequest(params: Params): EventsRequest {
  const startLedger = readInteger(params, "startLedger");
  const endLedger = readInteger(params, "endLedger");
  const pagination = readObject(params, "pagination") ?? {};
  const cursor = pagination.cursor == null ? undefined : parseEventCursor(readString(pagination, "cursor"));
  const limit = readInteger(pagination, "limit", Number.MAX_SAFE_INTEGER);
  if (cursor && (startLedger !== 0 || endLedger !== 0)) {
    throw new JsonRpcError(INVALID_PARAMS, "ledger ranges and cursor cannot both be set");
  }
  if (!cursor && startLedger === 0) throw new JsonRpcError(INVALID_PARAMS, "startLedger must be positive");
  if (limit > MAX_LIMIT) throw new JsonRpcError(INVALID_PARAMS, `limit must not exceed ${MAX_LIMIT}`);
  return {
    start: cursor ?? { ledger: startLedger, id: beforeLedger(startLedger) },
    endLedger,
    limit: limit || DEFAULT_LIMIT,
    matches: readEventFilters(params),
  };
}

function eventInfo(event: NetworkEvent, format: XdrFormat) {
  return {
    type: event.type,
    ledger: event.ledger,
    ledgerClosedAt: isoSeconds(event.closeTime * 1000),
    contractId: event.contractId,
    id: event.id,
    operationIndex: event.operationIndex,
    transactionIndex: event.transactionIndex,
    inSuccessfulContractCall: event.inSuccessfulContractCall,
    txHash: event.txHash,
    ...unlessEmpty(event.topicsXdr, (topics) => format.list("topic", "ScVal", topics)),
    ...format.one("value", "ScVal", event.valueXdr),
  };
}
