import { GatewayError } from "../errors.ts";
import type { EventsAnswer, RawEvent } from "../stellar/rpc/rpc.ts";
import type { StoredEvent, WatcherState } from "../store/store.ts";
import { eventId, ledgerOfRpcId, positionOf } from "./position.ts";
import { isoSeconds } from "./time.ts";

/** What an event says, as `escrow/events` decodes it; undefined: it could not be decoded. */
export type Decode = (event: Pick<RawEvent, "contractId" | "topic" | "value">) =>
  | Pick<StoredEvent, "deviceHash" | "agent" | "merchant" | "amount"> & { type: string }
  | undefined;

/** A page of the node's events that has been checked. */
export interface Page {
  /** Those of the watched contracts, ascending by id, each once. */
  events: RawEvent[];
  /** All ledgers up to this one have been read when the page has been. */
  scannedLedger: number;
  cursor: string;
}

/**
 * Checks what the node answered against what was asked. Events of other contracts, of other types and of calls that
 * failed are left out here, whatever the node's own filter did.
 * @throws {GatewayError} `upstream_error` when the answer contradicts itself
 */
export function checkPage(answer: EventsAnswer, state: WatcherState, contractIds: readonly string[]): Page {
  const cursorLedger = ledgerOfRpcId(answer.cursor);
  if (cursorLedger === undefined) throw nonsense(`the cursor ${JSON.stringify(answer.cursor.slice(0, 40))}`);
  if (cursorLedger > answer.latestLedger) throw nonsense("a cursor beyond its latest ledger");
  if (answer.cursor < (state.rpcCursor ?? "") || cursorLedger < state.scannedLedger) {
    throw nonsense("a cursor that goes back");
  }

  const byId = new Map<string, RawEvent>();
  let lastId = "";
  for (const event of answer.events) {
    if (ledgerOfRpcId(event.id) !== event.ledger) {
      throw nonsense(`an event id that is not of its ledger ${event.ledger}`);
    }
    if (event.id > lastId) lastId = event.id;
    if (event.type !== "contract" || !contractIds.includes(event.contractId)) continue;
    if (event.inSuccessfulContractCall !== false) byId.set(event.id, event);
  }
  if (answer.cursor < lastId) throw nonsense("events after its cursor");

  return {
    events: [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    // A full page's cursor is its last event, and that event's ledger may go on; any other lies at a ledger's end.
    scannedLedger: answer.cursor === lastId ? cursorLedger - 1 : cursorLedger,
    cursor: answer.cursor,
  };
}

/** An event as it is kept. Throws `upstream_error` when its time is none. */
export function toStoredEvent(event: RawEvent, epoch: number, decode: Decode): StoredEvent {
  const common = {
    position: positionOf(epoch, event.id),
    id: eventId(epoch, event.id),
    contractId: event.contractId,
    ledger: event.ledger,
    ledgerClosedAt: closedAt(event),
    txHash: event.txHash.toLowerCase(),
  };
  const decoded = decode(event);
  return decoded === undefined
    ? { ...common, type: null, raw: { topics: event.topic, value: event.value } }
    : { ...common, ...decoded };
}

/** An event kept raw, read again: its decoded form, or undefined when it still cannot be decoded. */
export function decodeStoredEvent({ raw, ...event }: StoredEvent, decode: Decode): StoredEvent | undefined {
  const decoded = raw && decode({ contractId: event.contractId, topic: raw.topics, value: raw.value });
  return decoded && { ...event, ...decoded };
}

function closedAt({ id, ledgerClosedAt }: RawEvent): string {
  const timeMs = Date.parse(ledgerClosedAt);
  if (Number.isNaN(timeMs)) throw nonsense(`a close time of event ${id} that is no time`);
  return isoSeconds(timeMs);
}

function nonsense(what: string): GatewayError {
  return new GatewayError("upstream_error", `the RPC node answered getEvents with ${what}`);
}
