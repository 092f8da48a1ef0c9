import { LONGEST_DELAY_MS } from "../retry_schedule.ts";
import type { EventFilter, LoggedEvent } from "./event.ts";

/** A rotated secret. It also signs until `untilMs`, and is stored in the same form as the new secret. */
export interface FormerSecret {
  secret: string;
  untilMs: number;
}

/** All secrets of a subscription, as the store has them: plain (`whsec_…`) or sealed. */
export interface Secrets {
  secret: string;
  /** The secret before the last rotation. */
  previousSecret: FormerSecret | null;
  /** The oldest secret that still signed at the last rotation. Absent: only the previous one did. */
  olderSecret?: FormerSecret;
}

/** A webhook: a URL of a receiver, and the events that it gets. */
export interface Subscription extends Secrets {
  /** `wh_…`. */
  id: string;
  /** The API key that owns it. */
  keyId: string;
  url: string;
  /** Only these event types. Null: all. */
  types: string[] | null;
  /** Only events with this device hash. Null: all. */
  deviceHash: string | null;
  /** Only events with this merchant. Null: all. */
  merchant: string | null;
  /** One delivery at a time, in the order of the log. A failed delivery blocks the next ones. */
  ordered: boolean;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** It gets events of this height (`heightOf`) and above: the ledgers after the committed tip at its creation. */
  startHeight: number;
}

/** The events of a subscription, as a filter of the log. */
export function filterOf({ types, deviceHash, merchant, startHeight }: Subscription): EventFilter {
  return {
    ...(types === null ? {} : { types }),
    ...(deviceHash === null ? {} : { deviceHash }),
    ...(merchant === null ? {} : { merchant }),
    fromHeight: startHeight,
  };
}

/** The number of partitions of subscriptions. The holder of a partition's lease delivers to its subscriptions. */
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

/** A resend of past events to one subscription: a second cursor, with an end. */
export interface Replay {
  /** `rp_…`. */
  id: string;
  subscriptionId: string;
  /** The range of ledgers as heights, both inclusive. */
  fromHeight: number;
  toHeight: number;
  /** All matching events up to this sequence were delivered, or have a failed delivery. */
  cursor: number;
  /** The last sequence. Null: the end of the log, once the watcher has scanned `toHeight`. */
  endSequence: number | null;
  /** The number of deliveries that the gateway announced. A lower bound with `atLeast`. */
  deliveries: number;
  atLeast: boolean;
  createdAtMs: number;
}

/** The progress of one subscription. */
export interface Progress {
  /** Every matching event up to this sequence was delivered, or has a failed delivery. */
  cursor: number;
  /** The first failure since the last successful delivery, Unix ms. Null: the endpoint works. */
  failingSinceMs: number | null;
  /** The number of failed deliveries that wait for a retry. */
  retrying: number;
  /**
   * The number of deliveries that a response ended (4xx and the like), also when their row is deleted. Without those that a
   * replay delivered later.
   */
  rejected: number;
  /**
   * The number of deliveries that the gateway gave up, also when their row is deleted, and of events that the retention job
   * deleted undelivered. Without those that a replay delivered later.
   */
  dead: number;
  /** The first due time of a retry, Unix ms. Null: there is none. */
  nextDueAtMs: number | null;
}

/** A subscription with its progress and its replay, if one is under way. */
export interface StoredConsumer {
  subscription: Subscription;
  progress: Progress;
  replay: Replay | null;
}

/** A response ended the delivery, the gateway gave it up, or a retry is due. */
export const FAILED_STATES = ["rejected", "dead", "retrying"] as const;

/** A failed delivery: one row for each subscription and event. */
export interface FailedDelivery {
  /** The sequence of the event. */
  sequence: number;
  state: (typeof FAILED_STATES)[number];
  /** The number of attempts so far. */
  attempts: number;
  /** Unix ms; null unless `retrying`. */
  dueAtMs: number | null;
  /** The first failure, Unix ms. */
  failedAtMs: number;
  /** The last failure, Unix ms, by the clock of the due times. */
  attemptedAtMs: number;
}

/** A clock that is set back by less delays a retry by no more than this. */
export const CLOCK_STEP_MS = 60_000;

/**
 * Whether a failed delivery is due: the clock has reached the due time, or the clock was set back. It was if it shows a time
 * before the failed attempt, or if the due time is further ahead than any delay.
 */
export function isDue({ dueAtMs, attemptedAtMs }: FailedDelivery, nowMs: number): boolean {
  if (dueAtMs === null) return false;
  return dueAtMs <= nowMs || attemptedAtMs > nowMs + CLOCK_STEP_MS || dueAtMs > nowMs + LONGEST_DELAY_MS;
}

/** A delivery to post: of a new event, or one that failed and is due. */
export interface NextDelivery {
  event: LoggedEvent;
  /** Null: the event is new. */
  failed: FailedDelivery | null;
}

/** The next deliveries of a subscription. */
export interface NextDeliveries {
  /** The stored cursor. */
  cursor: number;
  deliveries: NextDelivery[];
  /** New events up to this sequence are in `deliveries`, in flight, stored as failed, or do not match. */
  scannedTo: number;
  /** The first due time of the other failed deliveries, Unix ms. Null: there is none. */
  nextDueAtMs: number | null;
}

/** A failed delivery with its event. */
export interface DueDelivery {
  delivery: FailedDelivery;
  event: LoggedEvent;
}

/** `delivered`: 2xx. `retry`: a retry is due. `rejected`: a response ended the retries. `dead`: given up. */
export type AttemptOutcome = "delivered" | "retry" | "rejected" | "dead";

/** One POST, made or not possible. */
export interface NewAttempt {
  /** The replay of the delivery. Null for none, and for a test event. */
  replayId: string | null;
  eventId: string;
  eventType: string;
  /** 1 for the first attempt of a delivery, and for a test. 0 for a probe of a failing endpoint, which uses up no attempt. */
  number: number;
  atMs: number;
  durationMs: number;
  outcome: AttemptOutcome;
  /** HTTP status. Null: there was no response. */
  statusCode: number | null;
  /** Why the attempt failed. Null: it succeeded. */
  error: string | null;
  /** The beginning of the response's body, at most 1 KiB. Null for a delivered event, unless it was a test. */
  responseBody: string | null;
  nextAttemptAtMs: number | null;
}

/** An attempt as the store has it. */
export interface Attempt extends NewAttempt {
  /** 1, 2, 3 … within its subscription, in the order of the records. */
  ordinal: number;
}

/** The store keeps this many attempts of a subscription, the newest. */
export const ATTEMPTS_KEPT = 1_000;
/** The store keeps this many rejected and as many dead deliveries of a subscription, the newest. It only counts older ones. */
export const FAILED_KEPT = 10_000;

/** The outcome of some deliveries of one subscription. */
export interface Settlement {
  subscriptionId: string;
  /** The new cursor. Absent: no change. The cursor never goes back. */
  cursor?: number;
  /** The cursor of its replay, and whether the replay is done. Ignored when the replay is gone. */
  replay?: { id: string; cursor: number; done: boolean };
  /** New failed deliveries, and new states of stored ones. The store ignores those of deleted events: they already count as dead. */
  failed?: FailedDelivery[];
  /** Delivered events that may have a stored failed delivery, by sequence. */
  delivered?: number[];
  /** Absent: no change. */
  failingSinceMs?: number | null;
  attempts: NewAttempt[];
}

/** The bound of one call of `settle`, in writes as `settledWrites` counts them. So it fits one commit of every store. */
export const MAX_SETTLED_WRITES = 900;

/** The most writes for a subscription's cursor, an attempt, a failed delivery, and a delivered event that had failed. */
export const WRITES = { cursor: 1, attempt: 5, failed: 4, delivered: 3 };

/** The writes for an attempt. One with a text counts more, because a commit also has a bound in bytes. */
export function attemptWrites({ responseBody, error }: Pick<NewAttempt, "responseBody" | "error">): number {
  return responseBody === null && error === null ? 1 : WRITES.attempt;
}

/** The most writes for this. */
export function settledWrites({ failed = [], delivered = [], attempts }: Settlement): number {
  return WRITES.cursor + WRITES.failed * failed.length + WRITES.delivered * delivered.length +
    attempts.reduce((sum, attempt) => sum + attemptWrites(attempt), 0);
}
