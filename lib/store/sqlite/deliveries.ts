import type { NounDriver } from "../checked_store.ts";
import { nextDeliveries, type NextProgress, type NextSource } from "../next_deliveries.ts";
import {
  CONSUMER_REPLAY,
  type ConsumerRow,
  type FailedRow,
  REPLAY_COLUMNS,
  replayRow,
  toConsumer,
  toFailed,
} from "../sql/deliveries.ts";
import { type DeliveryStore, StoreError } from "../store.ts";
import { LONGEST_DELAY_MS } from "../../retry_schedule.ts";
import { CLOCK_STEP_MS, type DueDelivery } from "../webhook.ts";
import { sqliteAttempts } from "./attempts.ts";
import { sqliteEventQueries } from "./event_query.ts";
import type { EventRow, EventRows } from "./event_rows.ts";
import { intentFence } from "../sql/intents.ts";
import type { SqlLeases } from "../sql/leases.ts";
import type { SqliteLog } from "./log.ts";
import { rowValues, type SqliteContext } from "./database.ts";
import { sqliteSettling } from "./settling.ts";

type FailedEventRow = EventRow & FailedRow;

const CONSUMERS = `
  SELECT subscription.*, progress.*,
    (SELECT min(due_at_ms) FROM failed_delivery
      WHERE failed_delivery.subscription = subscription.number AND due_at_ms IS NOT NULL) AS next_due_at_ms,
    ${CONSUMER_REPLAY}
  FROM subscription JOIN progress ON progress.subscription = subscription.number
    LEFT JOIN replay ON replay.subscription = subscription.number`;

/** Failed deliveries, attempts, and the progress of each subscription. */
export function sqliteDeliveries(
  context: SqliteContext,
  log: SqliteLog,
  rows: EventRows,
  leases: SqlLeases,
): NounDriver<DeliveryStore> {
  const { database, sql, location } = context;
  const attempts = sqliteAttempts(database);
  const events = sqliteEventQueries(sql, rows.types, log);
  const settle = sqliteSettling(context, log, attempts);
  const fence = intentFence(context);
  const numberOf = database.prepare<{ number: number }>("SELECT number FROM subscription WHERE id = ?");
  const listConsumers = database.prepare<ConsumerRow>(
    `${CONSUMERS} WHERE subscription.id > ? ORDER BY subscription.id LIMIT ?`,
  );
  const consumer = database.prepare<ConsumerRow>(`${CONSUMERS} WHERE subscription.id = ?`);

  const failed = (where: string) => `
    SELECT event.*, failed.sequence AS by_sequence, state, attempts, due_at_ms, failed_at_ms, attempted_at_ms
    FROM failed_delivery AS failed CROSS JOIN event ON event.sequence = failed.sequence
    WHERE failed.subscription = ?1 AND ${where}`;
  // Each part has its own index: due, attempted before the clock was set back, and due too late.
  const due = database.prepare<FailedEventRow>(`
    ${failed("due_at_ms <= ?2")} UNION ALL
    ${failed(`attempted_at_ms > ?2 + ${CLOCK_STEP_MS} AND due_at_ms > ?2 AND due_at_ms <= ?2 + ${LONGEST_DELAY_MS}`)}
    UNION ALL ${failed(`due_at_ms > ?2 + ${LONGEST_DELAY_MS}`)} ORDER BY due_at_ms, by_sequence LIMIT ?3`);
  const firstDueAfter = database.prepare<{ due_at_ms: number | null }>(
    "SELECT min(due_at_ms) AS due_at_ms FROM failed_delivery WHERE subscription = ? AND due_at_ms > ?",
  );
  const keptBetween = database.prepare<{ sequence: number }>(
    "SELECT sequence FROM failed_delivery WHERE subscription = ? AND sequence > ? AND sequence <= ?",
  );
  const readProgress = database.prepare<NextProgress & { subscription: number }>(`
    SELECT subscription, cursor, retrying, retrying + rejected_kept + dead_kept AS kept
    FROM subscription JOIN progress ON subscription = number WHERE id = ?`);
  const oldest = database.prepare<FailedEventRow>(
    `${failed("failed.state = 'retrying' AND failed.sequence > ?2")} ORDER BY failed.sequence LIMIT ?3`,
  );
  const newest = database.prepare<FailedEventRow>(
    `${failed("failed.state = ?4 AND failed.sequence < ?2")} ORDER BY failed.sequence DESC LIMIT ?3`,
  );

  const insertReplay = database.prepare(`
    INSERT INTO replay (subscription, ${REPLAY_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const newestAttempt = database.prepare<{ attempts: number }>("SELECT attempts FROM progress WHERE subscription = ?");
  const noteAttempt = database.prepare<{ attempts: number }>(
    "UPDATE progress SET attempts = attempts + 1 WHERE subscription = ? RETURNING attempts",
  );

  async function toDue(found: FailedEventRow[]): Promise<DueDelivery[]> {
    const events = await rows.toEvents(found);
    return found.map((row, n) => ({ delivery: toFailed(row), event: events[n]! }));
  }

  /** A subscription that is gone answers as one that has nothing. */
  function ofSubscription<T>(id: string, nothing: T, work: (subscription: number) => T): T {
    const found = numberOf.get(id);
    return found === undefined ? nothing : work(found.number);
  }

  const sourceOf = (subscription: number): NextSource => ({
    due: (nowMs, limit) => toDue(due.all(subscription, nowMs, limit)),
    firstDueAfter: (nowMs) => firstDueAfter.get(subscription, nowMs)!.due_at_ms,
    firstRetrying: async () => (await toDue(oldest.all(subscription, 0, 1)))[0],
    keptBetween: (after, upTo) => keptBetween.all(subscription, after, upTo).map(({ sequence }) => sequence),
    read: async (query) => await rows.toEvents(await events.select(query)),
  });

  return {
    consumers: ({ after = "", limit }) => listConsumers.all(after, limit).map(toConsumer),
    consumer(subscriptionId) {
      const row = consumer.get(subscriptionId);
      return row && toConsumer(row);
    },
    async next(subscription, query) {
      const progress = readProgress.get(subscription.id);
      if (progress === undefined) return undefined;
      return await nextDeliveries(sourceOf(progress.subscription), progress, subscription, query);
    },
    failed: ({ subscriptionId, state, beyond, limit }) =>
      ofSubscription<DueDelivery[] | Promise<DueDelivery[]>>(subscriptionId, [], (subscription) => {
        const found = state === "retrying"
          ? oldest.all(subscription, beyond ?? 0, limit)
          : newest.all(subscription, beyond ?? Number.MAX_SAFE_INTEGER, limit, state);
        return toDue(found);
      }),
    settle: (step) =>
      database.transaction(() => {
        sql.run(leases.fence(step.leases));
        for (const settlement of step.settlements) settle(settlement);
      }),

    insertReplay: (replay, claim) =>
      database.transaction(() => {
        sql.run(fence(claim));
        return ofSubscription(replay.subscriptionId, false, (subscription) => {
          const { changes } = insertReplay.run(subscription, ...rowValues(replayRow(replay)));
          if (changes > 0) return true;
          throw new StoreError(
            "exists",
            `${location} holds a replay of the subscription "${replay.subscriptionId}" already`,
          );
        });
      }),

    recordAttempt: (subscriptionId, attempt) =>
      database.transaction(() =>
        ofSubscription(subscriptionId, undefined, (subscription) => {
          const ordinal = noteAttempt.get(subscription)!.attempts;
          attempts.write(subscription, ordinal, attempt);
          return { ...attempt, ordinal };
        })
      ),
    attempts: (subscriptionId, { before = Number.MAX_SAFE_INTEGER, limit }) =>
      ofSubscription(subscriptionId, [], (subscription) => {
        const newest = newestAttempt.get(subscription)!.attempts;
        return attempts.list(subscription, Math.min(newest, before - 1), limit);
      }),
    pruneAttempts: (subscriptionId, beforeMs) =>
      ofSubscription(subscriptionId, 0, (subscription) => attempts.prune(subscription, beforeMs)),
  };
}
