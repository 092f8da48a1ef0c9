import { MAX_LEDGER, MAX_UINT32 } from "../ledger_numbers.ts";

/**
 * Names, order and filters of events, for every room.
 *
 * An *epoch* lasts from one network reset to the next: a reset starts the ledger numbers over. A *height* is one number for epoch
 * and ledger, so ledgers compare over all epochs. The *sequence* is the event's position in the log. The store assigns it when
 * the gateway learns of the event. Without late events it follows the order of the ledgers.
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

/**
 * Events of the gateway's own, which no contract emits. A query gets them only if it names their types, or asks for all.
 */
export const OWN_EVENT_TYPES = ["payment.expiring", "payment.expired"] as const;

export function isOwnType(type: string): boolean {
  return (OWN_EVENT_TYPES as readonly string[]).includes(type);
}

/** The fields of all events, decoded or not. */
interface EventOrigin {
  /**
   * The RPC's event id: a 19-digit TOID (SEP-35), a hyphen and a 10-digit index. In all but the first epoch, the epoch and a
   * hyphen come first. Unique over all epochs. Receivers use it to drop duplicates.
   */
  id: string;
  contractId: string;
  ledger: number;
  /** ISO 8601 UTC with seconds. */
  ledgerClosedAt: string;
  /** 64 lower-case hex digits. */
  txHash: string;
}

/** A decoded event as clients and webhooks see it. */
export interface PublicEvent extends EventOrigin {
  type: string;
  /** Of an event of the gateway's own: the payment's id. */
  paymentId?: string;
  /** 64 lower-case hex digits. */
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string of the smallest unit: every movement's event has one. */
  amount?: string;
  /** Contract of the asset that moved, or that a policy was registered for. Null for a movement whose asset is unknown. */
  asset?: string | null;
  /** The client's own name of the transaction. Only for the API key that gave it with a prepare. */
  reference?: string;
}

/** The facts of a payment or of a claim that its transaction shows. Absent fields are unknown. Clients do not see it. */
export interface PaymentFacts {
  /** Of a payment: who authorised it. */
  agent?: string;
  /** Of a payment: the slot of its entry, unless its own transaction claimed it. */
  slot?: number;
  /** Of a payment: the last ledger of its entry's life. */
  endLedger?: number;
  /** Of an event of the gateway's own: the payment's id. */
  of?: string;
  /** Of a claim: the living entries that its transaction removed or overwrote. `at`: the time in the entry, Unix seconds. */
  taken?: { slot: number; at: number }[];
}

/** A decoded event before the store has given it a sequence. */
export interface NewEvent extends Omit<PublicEvent, "reference" | "paymentId"> {
  /** Undefined: unknown. */
  asset?: string;
  payment?: PaymentFacts;
  /** When the gateway learned of the event, by the network's clock: close time of the newest ledger, Unix seconds. */
  knownAt: number;
}

/** An event of the log. */
export interface LoggedEvent extends NewEvent {
  /** 1, 2, 3 … in the order in which the gateway learned of the events. */
  sequence: number;
  /** The references of API keys by the key's id, once `references.attach` has set them. */
  references?: ReadonlyMap<string, string>;
}

/** An event that this program cannot decode. The store keeps it outside of the log for a newer program. */
export interface UndecodedEvent extends EventOrigin {
  type: null;
  /** Base64 XDR (ScVal) each. */
  raw: { topics: string[]; value: string };
}

/** Selects the events that meet every given condition. An event without a field does not match a condition on that field. */
export interface EventFilter {
  /** Any of these types; an empty list matches nothing. Absent: every type but `OWN_EVENT_TYPES`. */
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

/** The conditions in memory. A store's query selects the same events. */
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
  if (filter.types === undefined && isOwnType(event.type)) return false;
  for (const key in filter) {
    const wanted = filter[key as keyof EventFilter];
    if (wanted === undefined) continue;
    const meets = CONDITIONS[key as keyof EventFilter] as (event: PublicEvent, wanted: unknown) => boolean;
    if (!meets(event, wanted)) return false;
  }
  return true;
}

/** Counts of events are exact up to here. */
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

/** The parts of an event's id, undefined for other text. Also parses the RPC's own ids and cursors, as of epoch 0. */
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

/** The height of an event's ledger. Throws a plain Error for another id: the gateway itself made the ids of such events. */
export function heightOfEvent({ id, ledger }: Pick<PublicEvent, "id" | "ledger">): number {
  // Ids of the first epoch have no prefix: 19 digits, a hyphen, 10 digits.
  if (id.length === 30) return ledger;
  const parts = parseEventId(id);
  if (parts === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return heightOf(parts.epoch, ledger);
}

/** The fields of an event for clients and webhooks: the common ones first, then those of its type, and the key's reference. */
export function publicEvent(event: PublicEvent | LoggedEvent, keyId?: string): PublicEvent {
  const { id, type, contractId, ledger, ledgerClosedAt, txHash } = event;
  const shown: PublicEvent = { id, type, contractId, ledger, ledgerClosedAt, txHash };
  for (const field of ["deviceHash", "agent", "merchant", "amount"] as const) {
    if (event[field] !== undefined) shown[field] = event[field];
  }
  if (event.asset !== undefined) shown.asset = event.asset;
  else if (event.amount !== undefined) shown.asset = null;
  const paymentId = "payment" in event ? event.payment?.of : undefined;
  if (paymentId !== undefined) shown.paymentId = paymentId;
  const reference = keyId !== undefined && "references" in event ? event.references?.get(keyId) : undefined;
  if (reference !== undefined) shown.reference = reference;
  return shown;
}
