import type { OWN_EVENT_TYPES } from "./event.ts";
import type { Lease } from "./lease.ts";
import type { HistoryGap } from "./watcher_state.ts";

export const PAYMENT_STATES = ["pending", "claimed", "expired", "unknown"] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** A payment, by the id of its `payment.authorized` event. */
export interface StoredPayment {
  id: string;
  state: PaymentState;
  contractId: string;
  ledger: number;
  /** Close time of its ledger, Unix seconds. */
  authorizedAt: number;
  txHash: string;
  deviceHash: string;
  merchant: string;
  /** Decimal string of the smallest unit. */
  amount: string;
  agent?: string;
  asset?: string;
  /** The contract's slot. */
  slot?: number;
  /** The last ledger of its entry's life, as last seen; of the shortest life while the gateway has not seen it. */
  expiresAtLedger: number;
  claim?: PaymentClaim;
  /** The reads of its entry. */
  reading?: PaymentReading;
  /** When to read its entry, or, once the entry is gone, the ledger that has to settle. */
  due?: { for: "last_quarter" | "end" | "settling"; ledger: number };
  /** The event that the log does not have yet, with its ledger and the close time of that, Unix seconds. */
  owes?: { type: (typeof OWN_EVENT_TYPES)[number]; ledger: number; at: number };
  /** The log has its `payment.expiring`. */
  isAnnounced?: true;
  /** Its `payment.expired`. `at`: Unix seconds. `isOwn`: an API key of this gateway submitted the payment. */
  expired?: { eventId: string; ledger: number; at: number; isOwn: boolean };
}

/** The reads of a payment's entry. */
export interface PaymentReading {
  /** The last read ledger. */
  ledger: number;
  /** The newest ledger with its entry. */
  aliveAt?: number;
  /** The first ledger without its entry after its end. */
  absentAt?: number;
  /** Close time of `absentAt`, else of `aliveAt`, Unix seconds. */
  at: number;
  /** The last ledger of its entry's life, as read in `aliveAt`. */
  endLedger?: number;
}

export interface PaymentClaim {
  eventId: string;
  txHash: string;
  ledger: number;
  /** Unix seconds. */
  claimedAt: number;
  asset?: string;
}

/** The progress of the projection. */
export interface PaymentsCursor {
  epoch: number;
  /** The contract of the payments. */
  contractId: string;
  /** The payments have the effects of all events up to this sequence. */
  sequence: number;
  /** The payments hold up to this ledger. */
  latestLedger: number;
  /** The ledgers up to this one were settled. */
  settledLedger: number;
  /** The gaps that were open. */
  gaps: Pick<HistoryGap, "epoch" | "fromLedger" | "toLedger">[];
  /** The projection derives payments in these states again, because gaps, the epoch or the contract changed. */
  renewal?: { states: PaymentState[]; after?: PaymentPlace };
}

/** The place of a payment in every list: by time, then by id. */
export type PaymentPlace = Pick<StoredPayment, "authorizedAt" | "id">;

/** Selects the payments that meet every given condition. */
export interface PaymentFilter {
  state?: PaymentState;
  merchant?: string;
  deviceHash?: string;
  agent?: string;
  /** `authorizedAt`, Unix seconds, inclusive. */
  from?: number;
  /** Exclusive. */
  to?: number;
}

export const PAYMENT_SUBJECTS = ["merchant", "deviceHash", "agent"] as const;
export type PaymentSubject = (typeof PAYMENT_SUBJECTS)[number];

export interface PaymentQuery {
  filter: PaymentFilter;
  order: "asc" | "desc";
  /** The last payment of the page before. */
  after?: PaymentPlace;
  limit: number;
}

/** Deno KV takes 1 000 writes at once, and a payment has at most seven. */
export const MAX_PAYMENT_ROWS = 140;

export interface PaymentStore {
  /**
   * Writes at most `MAX_PAYMENT_ROWS` payments and the cursor atomically. A payment replaces the one with its id, which has
   * the same time, merchant and card. An absent cursor stays. Rejects with `fenced`.
   */
  commit(step: { lease: Lease; rows: StoredPayment[]; cursor?: PaymentsCursor }): Promise<void>;
  /** The cursor of the last commit, undefined before the first. */
  cursor(): Promise<PaymentsCursor | undefined>;
  /** The payment with this id, undefined when there is none. */
  get(id: string): Promise<StoredPayment | undefined>;
  /**
   * At most `limit` (≤ 1 000) payments that match, by time and id. The cost depends on `limit`, not on the depth or on the
   * rarity of matches. With several of merchant, device hash and agent it depends on the rarest of them.
   */
  list(query: PaymentQuery): Promise<StoredPayment[]>;
  /** The payments that are due up to this ledger, the longest due first: at most `limit` (≤ 1 000). */
  due(
    query: { for: NonNullable<StoredPayment["due"]>["for"]; upToLedger: number; limit: number },
  ): Promise<StoredPayment[]>;
  /** The payments whose own event the log does not have yet: at most `limit` (≤ 1 000), in no order. */
  owing(page: { limit: number }): Promise<StoredPayment[]>;
  /** Deletes at most 200 payments authorised before this time, Unix seconds. Returns their number. */
  forget(authorizedBefore: number): Promise<number>;
}

/** Whether a filter lets a payment through. */
export function matchesPayment(filter: PaymentFilter, payment: StoredPayment): boolean {
  const { from = -Infinity, to = Infinity, state, ...subjects } = filter;
  const isOf = (subject: PaymentSubject) => subjects[subject] === undefined || subjects[subject] === payment[subject];
  return payment.authorizedAt >= from && payment.authorizedAt < to &&
    (state === undefined || state === payment.state) &&
    PAYMENT_SUBJECTS.every(isOf);
}
