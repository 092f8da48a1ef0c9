import { isoSeconds } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { EventsAnswer, RawEvent } from "../stellar/rpc/schemas.ts";
import { formatEventId, type NewEvent, parseEventId, type UndecodedEvent } from "../store/event.ts";

/** What an event says, as `escrow/events` decodes it; undefined: it could not be decoded. */
export type Decode = (event: Pick<RawEvent, "contractId" | "topic" | "value">) =>
  | Omit<NewEvent, "id" | "contractId" | "ledger" | "ledgerClosedAt" | "txHash" | "knownAt">
  | undefined;

/** From where a page is asked for. */
export type Place = { startLedger: number } | { cursor: string };

/** A page of a node's events that has been checked. */
export interface Page {
  /** Those of the contracts that were asked for, ascending by id, each once. */
  events: RawEvent[];
  /** All ledgers up to this one have been read when the page has been. */
  scannedLedger: number;
  cursor: string;
}

/** The ledger that a page from here begins in. */
export function ledgerOfPlace(place: Place): number {
  return "cursor" in place ? ledgerOf(place.cursor) ?? 0 : place.startLedger;
}

/**
 * Checks what the node answered against what was asked. Events of other contracts, of other types and of calls that
 * failed are left out here, whatever the node's own filter did.
 * @throws {GatewayError} `upstream_error` when the answer contradicts itself
 */
export function checkPage(answer: EventsAnswer, place: Place, contractIds: readonly string[]): Page {
  const cursorLedger = ledgerOf(answer.cursor);
  if (cursorLedger === undefined) throw nonsense(`the cursor ${JSON.stringify(answer.cursor.slice(0, 40))}`);
  if (cursorLedger > answer.latestLedger) throw nonsense("a cursor beyond its latest ledger");
  const goesBack = "cursor" in place ? answer.cursor < place.cursor : cursorLedger < place.startLedger - 1;
  if (goesBack) throw nonsense("a cursor that goes back");

  const byId = new Map<string, RawEvent>();
  let lastId = "";
  for (const event of answer.events) {
    if (ledgerOf(event.id) !== event.ledger) {
      throw nonsense(`an event id that is not of its ledger ${event.ledger}`);
    }
    if (event.id > lastId) lastId = event.id;
    if (event.ledger < ledgerOfPlace(place)) throw nonsense("events from before its page");
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

/**
 * An event as it is kept.
 * @param known the epoch it is of, and the network's time, Unix seconds
 * @throws {GatewayError} `upstream_error` when its time is none
 */
export function toEvent(
  event: RawEvent,
  known: { epoch: number; seconds: number },
  decode: Decode,
): NewEvent | UndecodedEvent {
  const common = {
    id: formatEventId({ ...parseEventId(event.id)!, epoch: known.epoch }),
    contractId: event.contractId,
    ledger: event.ledger,
    ledgerClosedAt: closedAt(event),
    txHash: event.txHash.toLowerCase(),
  };
  const decoded = decode(event);
  return decoded === undefined
    ? { ...common, type: null, raw: { topics: event.topic, value: event.value } }
    : { ...common, ...decoded, knownAt: known.seconds };
}

/** An event that was kept raw, decoded; undefined when it still cannot be. */
export function decodeAgain({ raw, ...event }: UndecodedEvent, knownAt: number, decode: Decode): NewEvent | undefined {
  const decoded = decode({ contractId: event.contractId, topic: raw.topics, value: raw.value });
  return decoded && { ...event, ...decoded, knownAt };
}

/** The ledger that an RPC's event id or cursor lies in, undefined when the text is neither. */
function ledgerOf(rpcId: string): number | undefined {
  const parts = parseEventId(rpcId);
  return parts?.epoch === 0 ? parts.ledger : undefined;
}

function closedAt({ id, ledgerClosedAt }: RawEvent): string {
  const timeMs = Date.parse(ledgerClosedAt);
  if (Number.isNaN(timeMs)) throw nonsense(`a close time of event ${id} that is no time`);
  return isoSeconds(timeMs);
}

function nonsense(what: string): GatewayError {
  return new GatewayError("upstream_error", `the RPC node answered getEvents with ${what}`);
}
