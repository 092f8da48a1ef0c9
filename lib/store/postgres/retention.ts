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

/** `EventStore.forget`: the oldest events go, and what is kept of their deliveries. */
export function postgresForget(
  { database, prefix }: PostgresContext,
  log: PostgresLog,
): NounDriver<EventStore>["forget"] {
  const ofConsumers = lockProgress(
    prefix,
    // An array, of which a planner takes few members for granted: whatever its statistics say, it uses the index.
    `number = ANY (ARRAY(
      SELECT named.number FROM ${givenRows('"subscriptionId" text')}
        JOIN ${prefix}subscription AS named ON named.id = given."subscriptionId"
      UNION SELECT subscription FROM ${prefix}failed_delivery WHERE sequence <= $2))`,
  );
  const removeFailed = `WITH gone AS (
      DELETE FROM ${prefix}failed_delivery WHERE sequence <= $1 RETURNING subscription, state
    ) SELECT subscription, state, count(*) AS failed FROM gone GROUP BY subscription, state`;
  // The last of them stays: it says how high the events that are held may be without being the first. It is looked for from
  // below, where few are left: from above, all of the log's would be gone through at each step.
  const forgetStarts = `DELETE FROM ${prefix}height_start
    WHERE height < (SELECT max(height) FROM ${prefix}height_start WHERE height < coalesce(
      (SELECT height FROM ${prefix}height_start WHERE sequence > $1 ORDER BY height LIMIT 1), ${Number.MAX_SAFE_INTEGER}))`;

  return ({ upTo, undelivered, areMore = false }) =>
    database.transaction(async (queries) => {
      // From here on nobody keeps a failed delivery of what is forgotten (settling.ts).
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

/** What retried is dead now; what had ended stays counted, and is kept no more. */
function countGone(row: KeptProgressRow, gone: FailedRow[]): void {
  for (const { state, failed } of gone) {
    if (state === "retrying") {
      row.retrying -= failed;
      row.dead += failed;
    } else row[`${state}_kept`] -= failed;
  }
}
