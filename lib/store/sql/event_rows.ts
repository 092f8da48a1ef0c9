import { isoSeconds } from "../../clock.ts";
import { formatEventId, heightOf, ledgerOfHeight, LEDGERS_PER_EPOCH, parseEventId } from "../event.ts";

/** What of an event's id its place in the epoch's order is, as columns. */
export interface IdColumns {
  height: number;
  place: number;
  event_index: number;
}

/** The columns of an id; undefined for text that is no event id. */
export function idColumns(id: string): IdColumns | undefined {
  const parts = parseEventId(id);
  return parts && { height: heightOf(parts.epoch, parts.ledger), place: parts.order, event_index: parts.index };
}

/** The columns of an id. Throws a plain Error for text that is none: such an event never comes from outside. */
export function requireId(id: string): IdColumns {
  const columns = idColumns(id);
  if (columns === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return columns;
}

/** What decoded and undecoded events have. */
export interface OriginRow<Packed> extends IdColumns {
  contract: number;
  closed_at: number;
  tx_hash: Packed;
}

/** Where an event comes from, with what its numbered contract and its packed hash stand for. */
export function toOrigin(
  { height, place, event_index, closed_at }: OriginRow<unknown>,
  { contractId, txHash }: { contractId: string; txHash: string },
) {
  const ledger = ledgerOfHeight(height);
  return {
    id: formatEventId({ epoch: Math.floor(height / LEDGERS_PER_EPOCH), ledger, order: place, index: event_index }),
    contractId,
    ledger,
    ledgerClosedAt: isoSeconds(closed_at * 1_000),
    txHash,
  };
}
