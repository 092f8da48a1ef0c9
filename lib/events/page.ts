import { isoSeconds } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { EventsAnswer, RawEvent } from "../stellar/rpc/schemas.ts";
import { formatEventId, type NewEvent, parseEventId, type UndecodedEvent } from "../store/event.ts";

/** Decodes an event; see `escrow/events`. Returns undefined for an event that it does not know. */
export type Decode = (event: Pick<RawEvent, "contractId" | "topic" | "value">) =>
  | Omit<NewEvent, "id" | "contractId" | "ledger" | "ledgerClosedAt" | "txHash" | "knownAt">
  | undefined;

/** Where a page starts. */
export type Place = { startLedger: number } | { cursor: string };

/** A checked page of a node's events. */
export interface Page {
  /** Events of the requested contracts, ascending by id, each once. */
  events: RawEvent[];
  /** With this page all ledgers up to this one have been read. */
  scannedLedger: number;
  cursor: string;
}

/** The ledger in which this page starts. */
export function ledgerOfPlace(place: Place): number {
  return "cursor" in place ? ledgerOf(place.cursor) ?? 0 : place.startLedger;
}

/**
 * Checks a node's answer against the request. Drops events of other contracts, of other types and of failed calls,
 * whatever the node's filter did.
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
    // The cursor of a full page is its last event, whose ledger may go on. Any other cursor is at a ledger's end.
    scannedLedger: answer.cursor === lastId ? cursorLedger - 1 : cursorLedger,
    cursor: answer.cursor,
  };
}

/**
 * Converts an event for the log.
 * @param known its epoch, and network time in Unix seconds
 * @throws {GatewayError} `upstream_error` when its time is invalid
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

/** Decodes a stored raw event; undefined when that fails again. */
export function decodeAgain({ raw, ...event }: UndecodedEvent, knownAt: number, decode: Decode): NewEvent | undefined {
  const decoded = decode({ contractId: event.contractId, topic: raw.topics, value: raw.value });
  return decoded && { ...event, ...decoded, knownAt };
}

/** The ledger of an RPC's event id or cursor, undefined when the text is neither. */
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
