import { LONGEST_DELAY_MS } from "../retry_schedule.ts";
import type { EventFilter, LoggedEvent } from "./event.ts";

/** What is kept of webhooks: who wants to hear what, how far each has come, what failed, and the attempts made. */

/** A secret that was rotated away and signs too until then; kept like the one that took its place. */
export interface FormerSecret {
  secret: string;
  untilMs: number;
}

/** All secrets of a subscription, as they are kept: plain (`whsec_…`) or sealed. */
export interface Secrets {
  secret: string;
  /** The secret before the last rotation. */
  previousSecret: FormerSecret | null;
  /** The oldest secret that still signed at the last rotation. Absent: none but the previous one did. */
  olderSecret?: FormerSecret;
}

/** Who wants to hear which events where. */
export interface Subscription extends Secrets {
  /** `wh_…`. */
  id: string;
  /** The API key it belongs to. */
  keyId: string;
  url: string;
  /** Only these event types. Null: all. */
  types: string[] | null;
  /** Only events with this device hash. Null: all. */
  deviceHash: string | null;
  /** Only events with this merchant. Null: all. */
  merchant: string | null;
  /** Strictly one delivery at a time, waiting at one that failed. */
  ordered: boolean;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** It hears events of this height (`heightOf`) and above: the ledgers after the committed tip at its creation. */
  startHeight: number;
}

/** What a subscription hears, as the log is asked for it. */
export function filterOf({ types, deviceHash, merchant, startHeight }: Subscription): EventFilter {
  return {
    ...(types === null ? {} : { types }),
    ...(deviceHash === null ? {} : { deviceHash }),
    ...(merchant === null ? {} : { merchant }),
    fromHeight: startHeight,
  };
}

/** Subscriptions are spread over so many partitions; who holds the lease of one delivers to those in it. */
export const PARTITIONS = 8;

/** The partition of a subscription, 0 to 7: FNV-1a of its id. */
export function partitionOf(subscriptionId: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < subscriptionId.length; at++) {
    hash = Math.imul(hash ^ subscriptionId.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % PARTITIONS;
}

/** The name of a partition's lease. */
export function partitionLease(partition: number): string {
  return `partition/${partition}`;
}

/** Past events sent again to one subscription: one more cursor, with an end. */
export interface Replay {
  /** `rp_…`. */
  id: string;
  subscriptionId: string;
  /** Ledgers it is about, as heights, both inclusive. */
  fromHeight: number;
  toHeight: number;
  /** All matching events up to this sequence have been sent or are kept because they failed. */
  cursor: number;
  /** It ends with this sequence. Null: with the log, once the watcher has scanned `toHeight`. */
  endSequence: number | null;
  /** How many deliveries it was said to make; a lower bound where `atLeast`. */
  deliveries: number;
  atLeast: boolean;
  createdAtMs: number;
}

/** How far one subscription has come. */
export interface Progress {
  /** Every matching event up to this sequence was delivered, or is kept by itself because its delivery failed. */
  cursor: number;
  /** Since when its endpoint has been failing without a delivery in between, Unix ms. Null: it is well. */
  failingSinceMs: number | null;
  /** Failed deliveries that are to be tried again. */
  retrying: number;
  /** Deliveries that an answer ended (4xx and the like), kept or not; not those that were delivered later (by a replay). */
  rejected: number;
  /** Deliveries given up, kept or not, and events that were forgotten undelivered; not those that were delivered later. */
  dead: number;
  /** When the first of those that retry is due, Unix ms. Null: none retries. */
  nextDueAtMs: number | null;
}

/** A subscription with its progress and the replay under way. */
export interface StoredConsumer {
  subscription: Subscription;
  progress: Progress;
  replay: Replay | null;
}

/** What a delivery that failed is kept as: an answer ended it, it was given up, or it is due again. */
export const FAILED_STATES = ["rejected", "dead", "retrying"] as const;

/** A delivery that failed and is kept by itself: one for each subscription and event. */
export interface FailedDelivery {
  /** Of the event. */
  sequence: number;
  state: (typeof FAILED_STATES)[number];
  /** Attempts made so far. */
  attempts: number;
  /** Unix ms; null unless `retrying`. */
  dueAtMs: number | null;
  /** When it first failed, Unix ms. */
  failedAtMs: number;
  /** When the last attempt failed, Unix ms, by the clock that due times go by. */
  attemptedAtMs: number;
}

/** A clock that is set back by less makes no retry late by more than that. */
export const CLOCK_STEP_MS = 60_000;

/**
 * Whether a failed delivery is due: the clock has reached its due time, or shows a time before the attempt that failed (it
 * was set back since), or the due time is further ahead than any delay.
 */
export function isDue({ dueAtMs, attemptedAtMs }: FailedDelivery, nowMs: number): boolean {
  if (dueAtMs === null) return false;
  return dueAtMs <= nowMs || attemptedAtMs > nowMs + CLOCK_STEP_MS || dueAtMs > nowMs + LONGEST_DELAY_MS;
}

/** A delivery that is to be posted: of a new event, or one that failed and is due. */
export interface NextDelivery {
  event: LoggedEvent;
  /** Null: the event is new. */
  failed: FailedDelivery | null;
}

/** What a subscription posts next. */
export interface NextDeliveries {
  /** The cursor as it is stored. */
  cursor: number;
  deliveries: NextDelivery[];
  /** New events up to this sequence are in `deliveries`, in flight, kept as failed, or do not match. */
  scannedTo: number;
  /** When the first of the other failed deliveries is due, Unix ms. Null: none is. */
  nextDueAtMs: number | null;
}

/** A failed delivery with its event. */
export interface DueDelivery {
  delivery: FailedDelivery;
  event: LoggedEvent;
}

/** `delivered`: 2xx. `retry`: due again. `rejected`: an answer that ends the retries. `dead`: given up. */
export type AttemptOutcome = "delivered" | "retry" | "rejected" | "dead";

/** One POST that was made, or could not be made. */
export interface NewAttempt {
  /** The replay it was made for. Null: none, or a test event. */
  replayId: string | null;
  eventId: string;
  eventType: string;
  /** 1 for the first attempt of a delivery, and for a test; 0 for a probe of an endpoint that fails: it uses none up. */
  number: number;
  atMs: number;
  durationMs: number;
  outcome: AttemptOutcome;
  /** HTTP status, null when there was no answer. */
  statusCode: number | null;
  /** Why it failed, null when it did not. */
  error: string | null;
  /** The beginning of the answer's body, at most 1 KiB; null when it was delivered, but for a test. */
  responseBody: string | null;
  nextAttemptAtMs: number | null;
}

/** An attempt as it is kept. */
export interface Attempt extends NewAttempt {
  /** 1, 2, 3 … within its subscription, in the order they were written down. */
  ordinal: number;
}

/** So many attempts are kept of a subscription, the newest. */
export const ATTEMPTS_KEPT = 1_000;
/** So many rejected and dead deliveries are kept of a subscription, the newest of each; older ones are only counted. */
export const FAILED_KEPT = 10_000;

/** What became of some deliveries of one subscription. */
export interface Settlement {
  subscriptionId: string;
  /** The new cursor. Absent: as it is. It never goes back. */
  cursor?: number;
  /** How far its replay has come, and whether it is done. Passed over when the replay is gone. */
  replay?: { id: string; cursor: number; done: boolean };
  /**
   * Deliveries that failed: new, or in place of what was kept of the same sequence. Those of forgotten events are passed
   * over: they were counted as dead as these were forgotten.
   */
  failed?: FailedDelivery[];
  /** Sequences of which a failed delivery may be kept that was delivered now. */
  delivered?: number[];
  /** Absent: as it is. */
  failingSinceMs?: number | null;
  attempts: NewAttempt[];
}

/** What `settle` takes in one call, counted as `settledWrites` counts. */
export const MAX_SETTLED_WRITES = 900;

/** How many writes each takes at most: an attempt, what failed, and what was delivered after all. */
export const WRITES = { attempt: 1, failed: 4, delivered: 3 };

/** How much there is to write of this at most, the cursor apart: a store's commit has bounds. */
export function settledWrites(
  { failed = [], delivered = [], attempts }: Pick<Settlement, "failed" | "delivered" | "attempts">,
): number {
  return WRITES.failed * failed.length + WRITES.delivered * delivered.length + WRITES.attempt * attempts.length;
}
