import { LONGEST_DELAY_MS } from "../../retry_schedule.ts";
import type { NounDriver } from "../checked_store.ts";
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from "../sql/attempts.ts";
import { CONSUMER_REPLAY, sqlDeliveries } from "../sql/deliveries.ts";
import type { SqlIntents } from "../sql/intents.ts";
import type { SqlLeases } from "../sql/leases.ts";
import { sqlSettling } from "../sql/settling.ts";
import type { DeliveryStore } from "../store.ts";
import { ATTEMPTS_KEPT, CLOCK_STEP_MS, type FailedDelivery } from "../webhook.ts";
import { attemptWriter } from "./attempts.ts";
import type { PostgresContext } from "./database.ts";
import { postgresEventQueries } from "./event_query.ts";
import { EVENT_COLUMNS, type EventRows } from "./event_rows.ts";
import type { PostgresLog } from "./log.ts";

/** Failed deliveries, attempts, and the progress of each subscription. */
export function postgresDeliveries(
  context: PostgresContext,
  log: PostgresLog,
  rows: EventRows,
  leases: SqlLeases,
  intents: SqlIntents,
): NounDriver<DeliveryStore> {
  const { database, sql, prefix } = context;

  const consumers = (where: string) =>
    `SELECT subscription.*, progress.*,
      (SELECT due_at_ms FROM ${prefix}failed_delivery AS failed
        WHERE failed.subscription = subscription.number AND due_at_ms IS NOT NULL
        ORDER BY due_at_ms, sequence LIMIT 1) AS next_due_at_ms,
      ${CONSUMER_REPLAY}
    FROM (SELECT * FROM ${prefix}subscription WHERE ${where}) AS subscription
      JOIN ${sql.progress()}
      LEFT JOIN ${prefix}replay AS replay ON replay.subscription = subscription.number
    ORDER BY subscription.id`;

  const failed = (where: string) =>
    `SELECT event.*, failed.state, failed.attempts, failed.due_at_ms, failed.failed_at_ms, failed.attempted_at_ms
    FROM (SELECT * FROM ${prefix}failed_delivery WHERE subscription =
      (SELECT number FROM ${prefix}subscription WHERE id = $1) AND ${where}) AS failed
      CROSS JOIN LATERAL (
        SELECT ${EVENT_COLUMNS} FROM ${prefix}event AS kept WHERE kept.sequence = failed.sequence
      ) AS event`;

  /** The ordinal of a subscription's newest attempt, stored or not. Reads leave out attempts that are too far below it. */
  const newestOrdinal =
    `SELECT progress.attempts FROM (SELECT number FROM ${prefix}subscription WHERE id = $1) AS subscription
    JOIN ${sql.progress()}`;

  function failedIn(state: FailedDelivery["state"]): string {
    const [beyond, order] = state === "retrying" ? [">", "ASC"] : ["<", "DESC"];
    const where = `state = '${state}' AND sequence ${beyond} $2 ORDER BY sequence ${order} LIMIT $3`;
    return `${failed(where)} ORDER BY event.sequence ${order}`;
  }

  // Each part has its own index: due, attempted before the clock was set back, and due too late.
  const due = [
    "due_at_ms <= $2 ORDER BY due_at_ms, sequence LIMIT $3",
    `attempted_at_ms > $2 + ${CLOCK_STEP_MS} AND due_at_ms > $2 AND due_at_ms <= $2 + ${LONGEST_DELAY_MS}
      ORDER BY attempted_at_ms LIMIT $3`,
    `due_at_ms > $2 + ${LONGEST_DELAY_MS} ORDER BY due_at_ms, sequence LIMIT $3`,
  ].map((where) => `(${failed(where)})`).join(" UNION ALL ");

  return {
    ...sqlDeliveries(context, {
      consumers,
      due: `SELECT * FROM (${due}) AS due ORDER BY due_at_ms, sequence LIMIT $3`,
      failed: failedIn,
      intents,
      reader: rows,
      queries: postgresEventQueries(context, rows.types, log),
    }),
    ...sqlSettling(context, { leases, writeAttempts: attemptWriter(sql) }),
    async attempts(subscriptionId, { before = Number.MAX_SAFE_INTEGER, limit }) {
      const found = await database.read<AttemptRow>(
        `SELECT ${ATTEMPT_COLUMNS} FROM ${prefix}attempt
        WHERE subscription = (SELECT number FROM ${prefix}subscription WHERE id = $1) AND ordinal < $2
          AND ordinal > (${newestOrdinal}) - ${ATTEMPTS_KEPT}
        ORDER BY ordinal DESC LIMIT $3`,
        [subscriptionId, before, limit],
      );
      return found.map(toAttempt);
    },
    async pruneAttempts(subscriptionId, beforeMs) {
      // Reads already leave out the attempts that wait for the removal of their lot.
      const [found] = await database.write<{ count: number }>(
        `WITH gone AS (
          DELETE FROM ${prefix}attempt
          WHERE subscription = (SELECT number FROM ${prefix}subscription WHERE id = $1) AND at_ms < $2 RETURNING ordinal
        )
        SELECT count(*) AS count FROM gone WHERE ordinal > (${newestOrdinal}) - ${ATTEMPTS_KEPT}`,
        [subscriptionId, beforeMs],
      );
      return found!.count;
    },
  };
}
