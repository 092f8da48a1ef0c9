import { checkForget } from "../bounds.ts";
import type { NounDriver } from "../checked_store.ts";
import type { EventStore } from "../store.ts";
import { givenRows, type PostgresContext } from "./database.ts";
import type { PostgresLog } from "./log.ts";
import { type KeptProgressRow, lockProgress, writeProgress } from "./progress.ts";

interface FailedRow {
  subscription: number;
  state: "retrying" | "rejected" | "dead";
  failed: number;
}

/** `EventStore.forget`: deletes the oldest events with their failed deliveries. */
export function postgresForget(
  { database, prefix }: PostgresContext,
  log: PostgresLog,
): NounDriver<EventStore>["forget"] {
  const ofConsumers = lockProgress(
    prefix,
    // Of an array the planner expects few members, so it uses the index whatever its statistics say.
    `number = ANY (ARRAY(
      SELECT named.number FROM ${givenRows('"subscriptionId" text')}
        JOIN ${prefix}subscription AS named ON named.id = given."subscriptionId"
      UNION SELECT subscription FROM ${prefix}failed_delivery WHERE sequence <= $2))`,
  );
  const removeFailed = `WITH gone AS (
      DELETE FROM ${prefix}failed_delivery WHERE sequence <= $1 RETURNING subscription, state
    ) SELECT subscription, state, count(*) AS failed FROM gone GROUP BY subscription, state`;
  // The last of them stays, for late events. The search begins at the lowest, where few are left. From the highest, each step
  // would read those of the whole log.
  const forgetStarts = `DELETE FROM ${prefix}height_start
    WHERE height < (SELECT max(height) FROM ${prefix}height_start WHERE height < coalesce(
      (SELECT height FROM ${prefix}height_start WHERE sequence > $1 ORDER BY height LIMIT 1), ${Number.MAX_SAFE_INTEGER}))`;

  return ({ upTo, undelivered, areMore = false }) =>
    database.transaction(async (queries) => {
      // From here on no settlement can store a failed delivery of a deleted event (settling.ts).
      const [, bounds] = await Promise.all([
        queries.read(`SELECT forgotten FROM ${prefix}log_start FOR UPDATE`),
        log.bounds(queries),
      ]);
      checkForget(upTo, bounds);
      const given = undelivered.map(({ subscriptionId }) => ({ subscriptionId }));
      const consumers = new Map<string, KeptProgressRow>();
      for (const { id, ...row } of await queries.read<KeptProgressRow & { id: string }>(ofConsumers, [given, upTo])) {
        consumers.set(id, row);
      }
      const behind = undelivered.filter(({ subscriptionId }) => consumers.has(subscriptionId));
      if (behind.some(({ subscriptionId, cursor }) => consumers.get(subscriptionId)!.cursor !== cursor)) return false;
      for (const { subscriptionId, events } of behind) {
        const row = consumers.get(subscriptionId)!;
        row.cursor = Math.max(row.cursor, upTo);
        row.dead += events;
      }
      const isNew = !areMore && upTo > bounds.forgotten;
      const failed = isNew ? await queries.write<FailedRow>(removeFailed, [upTo]) : [];
      for (const row of consumers.values()) {
        countGone(
          row,
          failed.filter((one) => one.subscription === row.subscription),
        );
      }
      await Promise.all([
        queries.write(writeProgress(prefix), [[...consumers.values()]]),
        ...(isNew
          ? [
            queries.write(`DELETE FROM ${prefix}event WHERE sequence > $1 AND sequence <= $2`, [
              bounds.forgotten,
              upTo,
            ]),
            queries.write(`UPDATE ${prefix}log_start SET forgotten = $1`, [upTo]),
            queries.write(forgetStarts, [upTo]),
          ]
          : []),
      ]);
      return true;
    });
}

/** A delivery in the state `retrying` is dead now. The others stay counted, without their rows. */
function countGone(row: KeptProgressRow, gone: FailedRow[]): void {
  for (const { state, failed } of gone) {
    if (state === "retrying") {
      row.retrying -= failed;
      row.dead += failed;
    } else row[`${state}_kept`] -= failed;
  }
}
