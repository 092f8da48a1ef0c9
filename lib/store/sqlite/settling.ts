import { count, FAILED_COLUMNS, failedRow, type ProgressRow } from "../sql/deliveries.ts";
import { FAILED_KEPT, type FailedDelivery, type Settlement } from "../webhook.ts";
import type { SqliteAttempts } from "./attempts.ts";
import type { SqliteLog } from "./log.ts";
import { rowValues, type SqliteContext } from "./database.ts";

type State = FailedDelivery["state"];

/** Writes one subscription's part of `DeliveryStore.settle`, within a transaction. */
export function sqliteSettling(
  { database }: SqliteContext,
  log: SqliteLog,
  attempts: SqliteAttempts,
): (settlement: Settlement) => void {
  const readProgress = database.prepare<ProgressRow & { subscription: number }>(
    "SELECT progress.* FROM subscription JOIN progress ON subscription = number WHERE id = ?",
  );
  const writeProgress = database.prepare(`
    UPDATE progress SET cursor = ?, failing_since_ms = ?, retrying = ?, rejected = ?, dead = ?, rejected_kept = ?,
      dead_kept = ?, attempts = ? WHERE subscription = ?`);
  const readState = database.prepare<{ state: State }>(
    "SELECT state FROM failed_delivery WHERE subscription = ? AND sequence = ?",
  );
  const write = database.prepare(`
    INSERT OR REPLACE INTO failed_delivery (subscription, ${FAILED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const remove = database.prepare("DELETE FROM failed_delivery WHERE subscription = ? AND sequence = ?");
  const removeOldest = database.prepare(`
    DELETE FROM failed_delivery WHERE subscription = ?1 AND sequence IN (
      SELECT sequence FROM failed_delivery WHERE subscription = ?1 AND state = ?2 ORDER BY sequence LIMIT ?3)`);
  const moveReplay = database.prepare("UPDATE replay SET cursor = max(cursor, ?) WHERE id = ? AND subscription = ?");
  const endReplay = database.prepare("DELETE FROM replay WHERE id = ? AND subscription = ?");

  /** Replaces a failed delivery by its new state, or removes it. */
  function replace(subscription: number, sequence: number, kept: FailedDelivery | undefined, row: ProgressRow): void {
    const isNothingKept = row.retrying + row.rejected_kept + row.dead_kept === 0;
    const former = isNothingKept ? undefined : readState.get(subscription, sequence)?.state;
    if (former !== undefined) count(row, former, -1);
    if (kept === undefined) {
      if (former !== undefined) remove.run(subscription, sequence);
      return;
    }
    count(row, kept.state, 1);
    write.run(subscription, ...rowValues(failedRow(kept)));
  }

  /** Keeps the newest failed deliveries of each kind. */
  function dropOldest(subscription: number, row: ProgressRow): void {
    for (const state of ["rejected", "dead"] as const) {
      const tooMany = row[`${state}_kept`] - FAILED_KEPT;
      if (tooMany > 0) row[`${state}_kept`] -= removeOldest.run(subscription, state, tooMany).changes;
    }
  }

  return function settle({ subscriptionId, cursor, replay, failed = [], delivered = [], failingSinceMs, ...made }) {
    const row = readProgress.get(subscriptionId);
    if (row === undefined) return;
    const { subscription } = row;
    row.cursor = Math.max(row.cursor, cursor ?? 0);
    if (failingSinceMs !== undefined) row.failing_since_ms = failingSinceMs;
    for (const sequence of delivered) replace(subscription, sequence, undefined, row);
    const { last, forgotten } = failed.length === 0 ? { last: 0, forgotten: 0 } : log.bounds();
    for (const one of failed) {
      if (one.sequence > last) throw new RangeError(`there is no event ${one.sequence} yet, the last is ${last}`);
      if (one.sequence > forgotten) replace(subscription, one.sequence, one, row);
    }
    dropOldest(subscription, row);
    for (const attempt of made.attempts) attempts.write(subscription, ++row.attempts, attempt);
    writeProgress.run(
      row.cursor,
      row.failing_since_ms,
      row.retrying,
      row.rejected,
      row.dead,
      row.rejected_kept,
      row.dead_kept,
      row.attempts,
      subscription,
    );
    if (replay?.done) endReplay.run(replay.id, subscription);
    else if (replay !== undefined) moveReplay.run(replay.cursor, replay.id, subscription);
  };
}
