import { LONGEST_DELAY_MS } from "../../retry_schedule.ts";
import type { NounDriver } from "../checked_store.ts";
import { CONSUMER_REPLAY, sqlDeliveries } from "../sql/deliveries.ts";
import type { SqlIntents } from "../sql/intents.ts";
import type { SqlLeases } from "../sql/leases.ts";
import { sqlSettling } from "../sql/settling.ts";
import type { DeliveryStore } from "../store.ts";
import { CLOCK_STEP_MS, type FailedDelivery } from "../webhook.ts";
import { sqliteAttempts } from "./attempts.ts";
import type { SqliteContext } from "./database.ts";
import { sqliteEventQueries } from "./event_query.ts";
import type { EventRows } from "./event_rows.ts";
import type { SqliteLog } from "./log.ts";

const consumers = (where: string) => `
  SELECT subscription.*, progress.*,
    (SELECT min(due_at_ms) FROM failed_delivery
      WHERE failed_delivery.subscription = subscription.number AND due_at_ms IS NOT NULL) AS next_due_at_ms,
    ${CONSUMER_REPLAY}
  FROM subscription JOIN progress ON progress.subscription = subscription.number
    LEFT JOIN replay ON replay.subscription = subscription.number
  WHERE ${where}`;

const withEvents = (where: string) => `
  SELECT event.*, failed.sequence AS by_sequence, state, attempts, due_at_ms, failed_at_ms, attempted_at_ms
  FROM failed_delivery AS failed CROSS JOIN event ON event.sequence = failed.sequence
  WHERE failed.subscription = (SELECT number FROM subscription WHERE id = $1) AND ${where}`;

// Each part has its own index: due, attempted before the clock was set back, and due too late.
const DUE = `
  ${withEvents("due_at_ms <= $2")} UNION ALL
  ${withEvents(`attempted_at_ms > $2 + ${CLOCK_STEP_MS} AND due_at_ms > $2 AND due_at_ms <= $2 + ${LONGEST_DELAY_MS}`)}
  UNION ALL ${withEvents(`due_at_ms > $2 + ${LONGEST_DELAY_MS}`)} ORDER BY due_at_ms, by_sequence LIMIT $3`;

function failed(state: FailedDelivery["state"]): string {
  const [beyond, order] = state === "retrying" ? [">", ""] : ["<", "DESC"];
  return withEvents(
    `failed.state = '${state}' AND failed.sequence ${beyond} $2 ORDER BY failed.sequence ${order} LIMIT $3`,
  );
}

/** Failed deliveries, attempts, and the progress of each subscription. */
export function sqliteDeliveries(
  context: SqliteContext,
  log: SqliteLog,
  rows: EventRows,
  leases: SqlLeases,
  intents: SqlIntents,
): NounDriver<DeliveryStore> {
  const { database, sql } = context;
  const attempts = sqliteAttempts(context);
  const newestAttempt = database.prepare<{ subscription: number; attempts: number }>(
    "SELECT subscription, attempts FROM subscription JOIN progress ON subscription = number WHERE id = ?",
  );

  return {
    ...sqlDeliveries(context, {
      consumers,
      due: DUE,
      failed,
      intents,
      reader: rows,
      queries: sqliteEventQueries(sql, rows.types, log),
    }),
    ...sqlSettling(context, { leases, writeAttempts: attempts.write }),
    attempts(subscriptionId, { before = Number.MAX_SAFE_INTEGER, limit }) {
      const found = newestAttempt.get(subscriptionId);
      return found === undefined ? [] : attempts.list(found.subscription, Math.min(found.attempts, before - 1), limit);
    },
    pruneAttempts(subscriptionId, beforeMs) {
      const found = newestAttempt.get(subscriptionId);
      return found === undefined ? 0 : attempts.prune(found.subscription, beforeMs);
    },
  };
}
