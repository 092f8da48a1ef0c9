import { MAX_LEDGER, MAX_UINT32 } from "../ledger_numbers.ts";

/**
 * What an event is to every room: how it is named, ordered, filtered and shown.
 *
 * An *epoch* is one life of the network: a reset numbers its ledgers anew. A *height* is one number for epoch and ledger,
 * so that ledgers compare over all epochs. The *sequence* is the place in the log that the store gives an event when it
 * becomes known; in quiet times that is the order of the ledgers.
 */

export const LEDGERS_PER_EPOCH = 2 ** 32;

/** The height of a ledger; below 2^53 for epochs up to 9 999. */
export function heightOf(epoch: number, ledger: number): number {
  return epoch * LEDGERS_PER_EPOCH + Math.min(ledger, MAX_LEDGER);
}

/** The ledger of a height. */
export function ledgerOfHeight(height: number): number {
  return height % LEDGERS_PER_EPOCH;
}

/** What all events have, decoded or not. */
interface EventOrigin {
  /**
   * The RPC's own event id (a 19-digit TOID, SEP-35, a hyphen, a 10-digit index), with the epoch and a hyphen in front in
   * all but the first epoch. Unique over all epochs; consumers deduplicate on it.
   */
  id: string;
  contractId: string;
  ledger: number;
  /** ISO 8601 UTC with seconds. */
  ledgerClosedAt: string;
  /** 64 lower-case hex digits. */
  txHash: string;
}

/** A decoded event as callers and webhooks see it. */
export interface PublicEvent extends EventOrigin {
  /** One of the nine event types. */
  type: string;
  /** 64 lower-case hex digits. */
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string of the smallest unit: every movement's event has one. */
  amount?: string;
  /**
   * Contract of the asset that was moved, or that a policy was registered for; shown as null of a movement whose asset is
   * not known: it was read before this was kept, or could not be learnt.
   */
  asset?: string | null;
}

/** A decoded event before the store has given it a sequence. */
export interface NewEvent extends PublicEvent {
  /** Undefined: not known. */
  asset?: string;
  /** When it became known, by the network's clock: Unix seconds of the newest ledger's close time. */
  knownAt: number;
}

/** An event of the log. */
export interface LoggedEvent extends NewEvent {
  /** 1, 2, 3 … in the order in which events became known. */
  sequence: number;
}

/** An event that could not be decoded: kept, not in the log, until a newer program can. */
export interface UndecodedEvent extends EventOrigin {
  type: null;
  /** Base64 XDR (ScVal) each. */
  raw: { topics: string[]; value: string };
}

/** Which events are meant: those that meet every condition given. An event without a field does not match one on it. */
export interface EventFilter {
  /** Any of these types; an empty list matches nothing. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
  agent?: string;
  txHash?: string;
  /** Inclusive (`heightOf`). */
  fromHeight?: number;
  /** Inclusive. */
  toHeight?: number;
}

/** How each condition is met: what matches in memory and what a store's query finds are the same events. */
const CONDITIONS: {
  [Key in keyof Required<EventFilter>]: (event: PublicEvent, wanted: Required<EventFilter>[Key]) => boolean;
} = {
  types: ({ type }, types) => types.includes(type),
  deviceHash: ({ deviceHash }, wanted) => deviceHash === wanted,
  merchant: ({ merchant }, wanted) => merchant === wanted,
  agent: ({ agent }, wanted) => agent === wanted,
  txHash: ({ txHash }, wanted) => txHash === wanted,
  fromHeight: (event, height) => heightOfEvent(event) >= height,
  toHeight: (event, height) => heightOfEvent(event) <= height,
};

/** Whether a filter lets an event through. */
export function matches(filter: EventFilter, event: PublicEvent): boolean {
  for (const key in filter) {
    const wanted = filter[key as keyof EventFilter];
    if (wanted === undefined) continue;
    const meets = CONDITIONS[key as keyof EventFilter] as (event: PublicEvent, wanted: unknown) => boolean;
    if (!meets(event, wanted)) return false;
  }
  return true;
}

/** Events are counted exactly up to here. */
export const MAX_COUNTED = 10_000;

/** An event's id taken apart; the parts order events within a ledger. */
export interface EventIdParts {
  epoch: number;
  ledger: number;
  /** The lower 32 bits of the TOID: transaction and operation (SEP-35). */
  order: number;
  index: number;
}

const EVENT_ID = /^(?:([1-9]\d{0,3})-)?(\d{19})-(\d{10})$/;

/** The parts of an event's id, undefined for text that is none. Takes the RPC's own ids and cursors, as of epoch 0. */
export function parseEventId(id: string): EventIdParts | undefined {
  const [, epoch = "0", toid, index] = EVENT_ID.exec(id) ?? [];
  if (toid === undefined || Number(index) > MAX_UINT32) return undefined;
  const ledger = BigInt(toid) >> 32n;
  if (ledger > BigInt(MAX_LEDGER)) return undefined;
  return {
    epoch: Number(epoch),
    ledger: Number(ledger),
    order: Number(BigInt(toid) & BigInt(MAX_UINT32)),
    index: Number(index),
  };
}

/** The id with these parts. */
export function formatEventId({ epoch, ledger, order, index }: EventIdParts): string {
  const toid = (BigInt(ledger) << 32n) | BigInt(order);
  const rpcId = `${String(toid).padStart(19, "0")}-${String(index).padStart(10, "0")}`;
  return epoch === 0 ? rpcId : `${epoch}-${rpcId}`;
}

/** The height of an event's ledger. Throws a plain Error for an id that is none: such an event never comes from outside. */
export function heightOfEvent({ id, ledger }: Pick<PublicEvent, "id" | "ledger">): number {
  // Ids of the first epoch have no prefix: 19 digits, a hyphen, 10 digits.
  if (id.length === 30) return ledger;
  const parts = parseEventId(id);
  if (parts === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return heightOf(parts.epoch, ledger);
}

/** What callers and webhooks are shown of an event: the common fields, then those its type has. */
export function publicEvent(event: PublicEvent): PublicEvent {
  const { id, type, contractId, ledger, ledgerClosedAt, txHash } = event;
  const shown: PublicEvent = { id, type, contractId, ledger, ledgerClosedAt, txHash };
  for (const field of ["deviceHash", "agent", "merchant", "amount"] as const) {
    if (event[field] !== undefined) shown[field] = event[field];
  }
  if (event.asset !== undefined) shown.asset = event.asset;
  else if (event.amount !== undefined) shown.asset = null;
  return shown;
}
