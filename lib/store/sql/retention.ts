import { checkForget } from "../bounds.ts";
import type { NounDriver } from "../checked_store.ts";
import type { EventStore, LogBounds } from "../store.ts";
import type { FailedDelivery } from "../webhook.ts";
import { send, type SqlContext } from "./database.ts";
import { count, type KeptProgressRow, sqlProgress } from "./progress.ts";

/** `EventStore.forget`: deletes the oldest events with their failed deliveries. */
export function sqlForget({ sql }: SqlContext): NounDriver<EventStore>["forget"] {
  const { prefix, prepare } = sql;
  const progress = sqlProgress(sql);
  // From here on no settlement can store a failed delivery of a deleted event (settling.ts).
  const lockStart = prepare(`SELECT forgotten FROM ${prefix}log_start ${sql.lock("UPDATE")}`);
  const readBounds = prepare<LogBounds>(sql.logBounds);
  const lockProgress = prepare<KeptProgressRow>(progress.lock(`number ${
    sql.oneOf(
      `SELECT named.number FROM ${sql.given("id text")} JOIN ${prefix}subscription AS named ON named.id = given.id
      UNION ALL SELECT subscription FROM ${prefix}failed_delivery WHERE sequence <= $2`,
    )
  }`));
  const readFailed = prepare<{ subscription: number; state: FailedDelivery["state"] }>(
    `SELECT subscription, state FROM ${prefix}failed_delivery WHERE sequence <= $1`,
  );
  const removals = [
    prepare(`DELETE FROM ${prefix}failed_delivery WHERE sequence <= $1`),
    prepare(`UPDATE ${prefix}log_start SET forgotten = $1`),
    // The last of them stays, for late events. The search begins at the lowest, where few are left. From the highest, each
    // step would read those of the whole log.
    prepare(
      `DELETE FROM ${prefix}height_start
      WHERE height < (SELECT max(height) FROM ${prefix}height_start WHERE height < coalesce(
        (SELECT height FROM ${prefix}height_start WHERE sequence > $1 ORDER BY height LIMIT 1), ${Number.MAX_SAFE_INTEGER}))`,
    ),
  ];
  const removeEvents = prepare(`DELETE FROM ${prefix}event WHERE sequence > $1 AND sequence <= $2`);

  return ({ upTo, undelivered, areMore = false }) =>
    sql.transaction(function* () {
      const [, [bounds]] = yield* send(lockStart(), readBounds());
      checkForget(upTo, bounds!);
      const [rows] = yield* send(lockProgress(undelivered.map(({ subscriptionId: id }) => ({ id })), upTo));
      const byId = new Map(rows.map((row) => [row.id, { ...row }]));
      const behind = undelivered.filter(({ subscriptionId }) => byId.has(subscriptionId));
      if (behind.some(({ subscriptionId, cursor }) => byId.get(subscriptionId)!.cursor !== cursor)) return false;
      for (const { subscriptionId, events } of behind) {
        const row = byId.get(subscriptionId)!;
        row.cursor = Math.max(row.cursor, upTo);
        row.dead += events;
      }
      const changed = [...byId.values()];
      if (areMore || upTo <= bounds!.forgotten) {
        yield* send(progress.write(changed));
        return true;
      }
      const [failed] = yield* send(readFailed(upTo));
      const byNumber = new Map(changed.map((row) => [row.subscription, row]));
      for (const { subscription, state } of failed) {
        const row = byNumber.get(subscription);
        if (row !== undefined) countGone(row, state);
      }
      yield* send(
        progress.write(changed),
        ...removals.map((remove) => remove(upTo)),
        removeEvents(bounds!.forgotten, upTo),
      );
      return true;
    });
}

/** A delivery in the state `retrying` is dead now. The others stay counted, without their rows. */
function countGone(row: KeptProgressRow, state: FailedDelivery["state"]): void {
  if (state !== "retrying") row[`${state}_kept`] -= 1;
  else {
    count(row, "retrying", -1);
    row.dead += 1;
  }
}
