import type { StoredEvent } from "./store.ts";

/**
 * What webhooks keep: subscriptions, deliveries that are still owed, attempts that were made, replays under way, and how
 * far fan-out has come. Part of `Store`; the same rules hold (times are Unix milliseconds unless a name says otherwise,
 * a write that rejects has written nothing, one contract suite proves every sentence).
 */

/** A secret that was rotated away and signs too until then; kept like the one that took its place. */
export interface FormerSecret {
  secret: string;
  untilMs: number;
}

/** Who wants to hear which events where. */
export interface Subscription {
  /** `wh_…`. */
  id: string;
  /** The API key it belongs to. */
  keyId: string;
  url: string;
  /** Only these event types; null: all. */
  types: string[] | null;
  /** Only events with this device hash; null: all. */
  deviceHash: string | null;
  /** Only events with this merchant; null: all. */
  merchant: string | null;
  /** As it is kept: plain (`whsec_…`) or sealed. */
  secret: string;
  /** The secret before the last rotation. */
  previousSecret: FormerSecret | null;
  /** The oldest secret that still signed at the last rotation; absent: none but the previous one did. */
  olderSecret?: FormerSecret;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** It hears events after this position: the end of the tip's ledger at its creation. */
  startPosition: string;
}

/** One event owed to one subscription. It is gone once it was delivered or its retries ended. */
export interface Delivery {
  /** Unique in its subscription. The position of the event, and of a replay its id: writing it again is harmless. */
  id: string;
  subscriptionId: string;
  /** Position of the event, which is held. */
  position: string;
  /** Attempts made so far. */
  attempts: number;
  /** When it is to be tried next; null: never again by itself (dead, kept for the operator). */
  dueAtMs: number | null;
  createdAtMs: number;
}

/** A delivery with the event that it carries. */
export interface DueDelivery {
  delivery: Delivery;
  event: StoredEvent;
}

/** `delivered`: 2xx. `retry`: due again. `ended`: an answer that ends the retries. `dead`: the last attempt failed. */
export type AttemptOutcome = "delivered" | "retry" | "ended" | "dead";

/** One POST that was made, or could not be made. */
export interface Attempt {
  /** Sorts as text by time, unique in its subscription. */
  id: string;
  subscriptionId: string;
  /** Absent for a test event. */
  deliveryId: string | null;
  eventId: string;
  eventType: string;
  /** 1 for the first attempt of a delivery. */
  number: number;
  atMs: number;
  durationMs: number;
  outcome: AttemptOutcome;
  /** HTTP status, null when there was no answer. */
  statusCode: number | null;
  /** Why it failed, null when it did not. */
  error: string | null;
  /** The beginning of the answer's body, at most 1 KiB. */
  responseBody: string | null;
  nextAttemptAtMs: number | null;
}

/** The right to deliver to one subscription until it expires. Every write under it is fenced by its token. */
export interface SubscriptionLease {
  subscriptionId: string;
  token: string;
  untilMs: number;
}

/** What an attempt came to: the attempt and the delivery's new state are written together. */
export interface Settlement {
  lease: SubscriptionLease;
  deliveryId: string;
  attempt: Attempt;
}

/** How far fan-out has come: all subscriptions for the events before `position`, and those up to `subscriptionId` for it. */
export interface FanOutCursor {
  position: string;
  /** The last subscription (by id) that got the event at `position`; absent: all have. */
  subscriptionId?: string;
  /** The latest due time given so far: later deliveries are never due earlier, so first attempts keep the ledger's order. */
  lastDueAtMs: number;
  /**
   * Raised by the store when events may have become known after `position`, in ledgers that were scanned before: who has
   * looked through more than the cursor says goes back to it. Absent: never.
   */
  rereads?: number;
}

/**
 * An event that became known when fan-out had passed its position: it could not be decoded before, or its contract was
 * not watched. Fan-out hands it on beside its cursor.
 */
export interface LateEvent {
  event: StoredEvent;
  /** The last subscription (by id) that got it; absent: none has. */
  subscriptionId?: string;
}

/** Late events that are handed on, with how far each was expected to be. */
export interface LateStep {
  /** At most 100, by position. They are late no more. */
  events: { position: string; subscriptionId?: string }[];
  /** But the last of them has only been handed on up to this subscription. */
  begunUpTo?: string;
  deliveries: Delivery[];
}

/** Past events sent again to one subscription, a bounded piece at a time. */
export interface Replay {
  id: string;
  subscriptionId: string;
  /** Exclusive. */
  afterPosition: string;
  /** Inclusive. */
  upToPosition: string;
  /** How far it has come; `afterPosition` at first. */
  position: string;
  /** How many deliveries it was said to make when it was created. */
  deliveries: number;
  createdAtMs: number;
}

export interface Backlog {
  /** Deliveries that are due now or later. */
  pending: number;
  /** Deliveries whose attempts are used up. */
  dead: number;
  /** When the oldest pending delivery was created; null when there is none. */
  oldestCreatedAtMs: number | null;
}

/** All secrets of a subscription. */
export type Secrets = Pick<Subscription, "secret" | "previousSecret" | "olderSecret">;

export interface WebhookStore {
  /**
   * Adds a subscription. Rejects with `exists` when its key has `maxPerKey` already (counted atomically), or when the id
   * is taken.
   */
  insertSubscription(subscription: Subscription, maxPerKey: number): Promise<void>;
  /** The subscription with this id, undefined when there is none. */
  getSubscription(id: string): Promise<Subscription | undefined>;
  /** Of one key, or of all when absent: ascending by id, at most `limit` (≤ 1 000) after the id `after`. */
  listSubscriptions(page: { keyId?: string; after?: string; limit: number }): Promise<Subscription[]>;
  /** Replaces its secrets if `secret` is still the one given; false otherwise or when it is gone. */
  setSubscriptionSecrets(
    id: string,
    expectedSecret: string,
    secrets: Secrets,
  ): Promise<boolean>;
  /**
   * Deletes it with its replay: from here on it is not listed, gets nothing, is owed nothing, can't be leased, has no
   * attempts, and whoever has leased it has lost the lease; false when there is none. What is left of its deliveries and
   * attempts is left to `purgeDeleted`.
   */
  deleteSubscription(id: string): Promise<boolean>;
  /** Removes what deleted subscriptions left behind, at most 600 rows in one commit; true while there may be more. */
  purgeDeleted(): Promise<boolean>;
  /** Rises with every insert, secret change and delete of a subscription, from any process. */
  subscriptionsVersion(): Promise<number>;

  /** How far fan-out has come, undefined before its first commit. */
  fanOutCursor(): Promise<FanOutCursor | undefined>;
  /**
   * Adds deliveries (at most 200; one whose id is there already is left as it is, one of a deleted subscription is passed
   * over) and moves the cursor, in one commit. False, and nothing written, when the cursor is no longer `expected`.
   */
  commitFanOut(
    step: { expected: FanOutCursor | undefined; cursor: FanOutCursor; deliveries: Delivery[] },
  ): Promise<boolean>;
  /** Events that fan-out has to hand on beside its cursor, ascending by position, at most `limit` (≤ 100). */
  lateEvents(limit: number): Promise<LateEvent[]>;
  /**
   * Adds deliveries (at most 200, as `commitFanOut`) of late events and notes how far these have come, in one commit.
   * False, and nothing written, when one of them is not as expected.
   */
  commitLateEvents(step: LateStep): Promise<boolean>;

  /**
   * Leases subscriptions that have something due and that no lease or `notBeforeMs` holds any more (at its end it holds no
   * more), at most `limit` (≤ 100), first those that could have been leased the longest: who gives a lease back with
   * `notBeforeMs` now goes to the end of the queue. Of several callers one gets each. Its cost does not grow with what is
   * pending.
   */
  leaseSubscriptions(request: { nowMs: number; leaseMs: number; limit: number }): Promise<SubscriptionLease[]>;
  /**
   * Prolongs leases (at most 100) that are still one's own; answers them with their new end. The others are lost and not in
   * the answer. A lease is one's own until it is given back or somebody else has leased the subscription, which nobody
   * can before it ends, or until somebody holds the store for serving (`holdForServing`).
   */
  renewLeases(leases: SubscriptionLease[], untilMs: number): Promise<SubscriptionLease[]>;
  /** Its deliveries that are due, ascending by due time and then position, at most `limit` (≤ 200), less those in `except`. */
  dueDeliveries(
    request: { subscriptionId: string; nowMs: number; limit: number; except?: ReadonlySet<string> },
  ): Promise<DueDelivery[]>;
  /**
   * Writes attempts and what became of their deliveries (at most 100): `delivered` and `ended` remove the delivery, `retry`
   * makes it due at `nextAttemptAtMs` (a RangeError without one), `dead` keeps it without a due time; its `attempts` are
   * the attempt's `number`. Passed over, attempt and all, are settlements whose lease is no longer one's own, and those
   * whose delivery is gone or dead: settling the same again changes nothing. Settlements of up to ten leases are one
   * commit; of more, every ten leases (in the order they first appear in) may be a commit of their own, so that a call
   * that rejects may have settled the first ones and may be made again as it is.
   */
  settle(settlements: Settlement[]): Promise<void>;
  /**
   * Gives a lease back, and does nothing when it is lost; `notBeforeMs`: nobody may lease the subscription until then (its
   * key is disabled, say).
   */
  releaseLease(lease: SubscriptionLease, options?: { notBeforeMs?: number }): Promise<void>;
  /**
   * When the next subscription can be leased: it has something due by then and nobody holds it, a lease that nobody gave
   * back being over. Undefined: not before deliveries are added. May be in the past.
   */
  nextDueAtMs(): Promise<number | undefined>;

  /** Notes the attempt of a test event; passes over an id that is there already, and a deleted subscription. */
  recordAttempt(attempt: Attempt): Promise<void>;
  /** Attempts of a subscription, newest first, at most `limit` (≤ 200), older than the attempt `before`. */
  listAttempts(subscriptionId: string, page: { before?: string; limit: number }): Promise<Attempt[]>;
  /** Of one subscription (nothing when there is none), or of all when absent. Its cost does not grow with what is pending. */
  backlog(subscriptionId?: string): Promise<Backlog>;

  /** Adds a replay. Rejects with `exists` while the subscription has one; passes over a deleted subscription. */
  insertReplay(replay: Replay): Promise<void>;
  /** Replays under way, ascending by creation, at most `limit` (≤ 100). */
  listReplays(limit: number): Promise<Replay[]>;
  /**
   * Adds deliveries (at most 200, as `commitFanOut`) and moves the replay to `position`, or removes it when `done`, in one
   * commit. False, and nothing written, when the replay is gone or no longer at `expectedPosition`.
   */
  commitReplay(
    step: { id: string; expectedPosition: string; position: string; done: boolean; deliveries: Delivery[] },
  ): Promise<boolean>;

  /**
   * Forgets decoded events that fan-out has passed, of ledgers closed before this ISO time, at most 100 in one commit;
   * answers how many went. A dead delivery that was created before that time goes with its event. Kept are those that any
   * other delivery or the rest of a replay still needs, and late ones. Goes through them ascending, from where the last
   * call on this handle stopped; 0 when it has come to the end, after which the next call begins anew. The event loop is
   * not held meanwhile.
   */
  pruneEvents(closedBefore: string): Promise<number>;
  /** Position of the last event that `pruneEvents` forgot: some or all up to it are gone. Undefined: none is. */
  prunedUpTo(): Promise<string | undefined>;
  /** Forgets attempts made before this time, at most 200 in one commit; answers how many went. */
  pruneAttempts(beforeMs: number): Promise<number>;

  /** A text sealed with the secrets key, by which a wrong key is told at start; undefined: secrets are kept plain. */
  secretsCheck(): Promise<string | undefined>;
  /**
   * Changes how secrets are kept: rewrites these secrets (at most 100) and answers how many. One whose `secret` is no
   * longer the expected one, because it was rotated, and one whose subscription is gone are passed over. `check` is
   * written with them in one commit, null removes it, undefined leaves it. Raises `subscriptionsVersion` when it rewrites
   * any.
   */
  resealSecrets(step: {
    secrets: (Secrets & { id: string; expectedSecret: string })[];
    check?: string | null;
  }): Promise<number>;
}
