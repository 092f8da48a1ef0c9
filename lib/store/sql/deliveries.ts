import type { FailedDelivery, Replay, StoredConsumer } from "../webhook.ts";
import { type SubscriptionRow, toSubscription } from "./subscriptions.ts";

/** The progress of one subscription. */
export interface ProgressRow {
  cursor: number;
  failing_since_ms: number | null;
  retrying: number;
  rejected: number;
  dead: number;
  rejected_kept: number;
  dead_kept: number;
  attempts: number;
}

export interface ConsumerRow extends SubscriptionRow, ProgressRow {
  next_due_at_ms: number | null;
  /** Null without a replay, as are the next columns. */
  replay_id: string | null;
  replay_from_height: number;
  replay_to_height: number;
  replay_cursor: number;
  replay_end_sequence: number | null;
  replay_deliveries: number;
  /** 0 or 1 in SQLite. */
  replay_at_least: boolean | 0 | 1;
  replay_created_at_ms: number;
}

export interface FailedRow {
  sequence: number;
  state: FailedDelivery["state"];
  attempts: number;
  due_at_ms: number | null;
  failed_at_ms: number;
  attempted_at_ms: number;
}

/** In the order of `progressRow`. */
export const PROGRESS_COLUMNS =
  "cursor, failing_since_ms, retrying, rejected, dead, rejected_kept, dead_kept, attempts";
/** In the order of `replayRow`. */
export const REPLAY_COLUMNS = "id, from_height, to_height, cursor, end_sequence, deliveries, at_least, created_at_ms";
/** Of the table `replay`, as a `ConsumerRow` has them. */
export const CONSUMER_REPLAY = REPLAY_COLUMNS.split(", ").map((column) => `replay.${column} AS replay_${column}`)
  .join(", ");

/** Without its subscription. */
export function replayRow(replay: Replay) {
  return {
    id: replay.id,
    from_height: replay.fromHeight,
    to_height: replay.toHeight,
    cursor: replay.cursor,
    end_sequence: replay.endSequence,
    deliveries: replay.deliveries,
    at_least: replay.atLeast,
    created_at_ms: replay.createdAtMs,
  };
}

export function toConsumer(row: ConsumerRow): StoredConsumer {
  return {
    subscription: toSubscription(row),
    progress: {
      cursor: row.cursor,
      failingSinceMs: row.failing_since_ms,
      retrying: row.retrying,
      rejected: row.rejected,
      dead: row.dead,
      nextDueAtMs: row.next_due_at_ms,
    },
    replay: row.replay_id === null ? null : {
      id: row.replay_id,
      subscriptionId: row.id,
      fromHeight: row.replay_from_height,
      toHeight: row.replay_to_height,
      cursor: row.replay_cursor,
      endSequence: row.replay_end_sequence,
      deliveries: row.replay_deliveries,
      atLeast: Boolean(row.replay_at_least),
      createdAtMs: row.replay_created_at_ms,
    },
  };
}

/** In the order of `failedRow`. */
export const FAILED_COLUMNS = "sequence, state, attempts, due_at_ms, failed_at_ms, attempted_at_ms";

export function failedRow(failed: FailedDelivery): FailedRow {
  return {
    sequence: failed.sequence,
    state: failed.state,
    attempts: failed.attempts,
    due_at_ms: failed.dueAtMs,
    failed_at_ms: failed.failedAtMs,
    attempted_at_ms: failed.attemptedAtMs,
  };
}

export function toFailed(row: FailedRow): FailedDelivery {
  return {
    sequence: row.sequence,
    state: row.state,
    attempts: row.attempts,
    dueAtMs: row.due_at_ms,
    failedAtMs: row.failed_at_ms,
    attemptedAtMs: row.attempted_at_ms,
  };
}

/** Counts one delivery more, or one less, in this state. */
export function count(row: ProgressRow, state: FailedDelivery["state"], change: 1 | -1): void {
  row[state] += change;
  if (state !== "retrying") row[`${state}_kept`] += change;
}
