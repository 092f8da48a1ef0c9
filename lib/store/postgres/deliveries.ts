import type { NounDriver } from "../checked_store.ts";
import { nextDeliveries, type NextProgress, type NextSource } from "../next_deliveries.ts";
import { intentFence } from "../sql/intents.ts";
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from "../sql/attempts.ts";
import {
  CONSUMER_REPLAY,
  type ConsumerRow,
  type FailedRow,
  REPLAY_COLUMNS,
  replayRow,
  toConsumer,
  toFailed,
} from "../sql/deliveries.ts";
import { type DeliveryStore, type FailedQuery, StoreError } from "../store.ts";
import { LONGEST_DELAY_MS } from "../../retry_schedule.ts";
import {
  type Attempt,
  ATTEMPTS_KEPT,
  CLOCK_STEP_MS,
  type DueDelivery,
  type NewAttempt,
  type Replay,
} from "../webhook.ts";
import { writeAttempts } from "./attempts.ts";
import type { PostgresContext, Queries } from "./database.ts";
import { postgresEventQueries } from "./event_query.ts";
import { EVENT_COLUMNS, type EventRow, type EventRows } from "./event_rows.ts";
import type { SqlLeases } from "../sql/leases.ts";
import type { PostgresLog } from "./log.ts";
import { type KeptProgressRow, lockProgress, newestProgress, writeProgress } from "./progress.ts";
import { postgresSettling } from "./settling.ts";
import { runWork } from "./sql.ts";
import { raiseVersion } from "./version.ts";

type FailedEventRow = EventRow & FailedRow;

/** Failed deliveries, attempts, and the progress of each subscription. */
export function postgresDeliveries(
  context: PostgresContext,
  log: PostgresLog,
  rows: EventRows,
  leases: SqlLeases,
): NounDriver<DeliveryStore> {
  const { database, location, prefix } = context;
  const fence = intentFence(context);

  const consumers = (where: string) =>
    `SELECT subscription.*, progress.*,
      (SELECT due_at_ms FROM ${prefix}failed_delivery AS failed
        WHERE failed.subscription = subscription.number AND due_at_ms IS NOT NULL
        ORDER BY due_at_ms, sequence LIMIT 1) AS next_due_at_ms,
      ${CONSUMER_REPLAY}
    FROM (SELECT * FROM ${prefix}subscription WHERE ${where}) AS subscription
      CROSS JOIN ${newestProgress(prefix)}
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
    CROSS JOIN ${newestProgress(prefix)}`;

  async function dueOf(found: FailedEventRow[]): Promise<DueDelivery[]> {
    const events = await rows.toEvents(found);
    return found.map((row, n) => ({ delivery: toFailed(row), event: events[n]! }));
  }

  async function failedOf({ subscriptionId, state, beyond, limit }: FailedQuery): Promise<DueDelivery[]> {
    const isRetrying = state === "retrying";
    const order = isRetrying ? "ASC" : "DESC";
    const where = `state = '${state}' AND sequence ${isRetrying ? ">" : "<"} $2 ORDER BY sequence ${order} LIMIT $3`;
    return await dueOf(
      await database.read<FailedEventRow>(
        `${failed(where)} ORDER BY event.sequence ${order}`,
        [subscriptionId, beyond ?? (isRetrying ? 0 : Number.MAX_SAFE_INTEGER), limit],
      ),
    );
  }

  const events = postgresEventQueries(context, rows.types, log);
  const nextProgress = `SELECT cursor, retrying, retrying + rejected_kept + dead_kept AS kept
    FROM (SELECT number FROM ${prefix}subscription WHERE id = $1) AS subscription CROSS JOIN ${newestProgress(prefix)}`;
  const ofSubscription = `${prefix}failed_delivery
    WHERE subscription = (SELECT number FROM ${prefix}subscription WHERE id = $1)`;
  // Each part has its own index: due, attempted before the clock was set back, and due too late.
  const due = [
    "due_at_ms <= $2 ORDER BY due_at_ms, sequence LIMIT $3",
    `attempted_at_ms > $2 + ${CLOCK_STEP_MS} AND due_at_ms > $2 AND due_at_ms <= $2 + ${LONGEST_DELAY_MS}
      ORDER BY attempted_at_ms LIMIT $3`,
    `due_at_ms > $2 + ${LONGEST_DELAY_MS} ORDER BY due_at_ms, sequence LIMIT $3`,
  ].map((where) => `(${failed(where)})`).join(" UNION ALL ");

  const sourceOf = (subscriptionId: string): NextSource => ({
    due: async (nowMs, limit) =>
      await dueOf(
        await database.read<FailedEventRow>(
          `SELECT * FROM (${due}) AS due ORDER BY due_at_ms, sequence LIMIT $3`,
          [subscriptionId, nowMs, limit],
        ),
      ),
    async firstDueAfter(nowMs) {
      const [row] = await database.read<{ due_at_ms: number }>(
        `SELECT due_at_ms FROM ${ofSubscription} AND due_at_ms > $2 ORDER BY due_at_ms, sequence LIMIT 1`,
        [subscriptionId, nowMs],
      );
      return row?.due_at_ms ?? null;
    },
    firstRetrying: async () => (await failedOf({ subscriptionId, state: "retrying", limit: 1 }))[0],
    async keptBetween(after, upTo) {
      const found = await database.read<{ sequence: number }>(
        `SELECT sequence FROM ${ofSubscription} AND sequence > $2 AND sequence <= $3`,
        [subscriptionId, after, upTo],
      );
      return found.map(({ sequence }) => sequence);
    },
    read: async (query) => await rows.toEvents(await events.select(query)),
  });

  async function record(subscriptionId: string, attempt: NewAttempt): Promise<Attempt | undefined> {
    return await database.transaction(async (queries) => {
      const [row] = await queries.read<KeptProgressRow>(lockProgress(prefix, "id = $1"), [subscriptionId]);
      if (row === undefined) return undefined;
      const { subscription, attempts: newest } = row;
      await Promise.all([
        queries.write(writeProgress(prefix), [[{ ...row, attempts: newest + 1 }]]),
        writeAttempts(queries, prefix, [{ subscription, newest, attempts: [attempt] }]),
      ]);
      return { ...attempt, ordinal: newest + 1 };
    });
  }

  async function insertReplay(queries: Queries, replay: Replay): Promise<boolean> {
    const { subscriptionId } = replay;
    const [found] = await queries.write<{ there: number; inserted: number }>(
      `WITH subscription AS (SELECT number FROM ${prefix}subscription WHERE id = $1 FOR SHARE), inserted AS (
        INSERT INTO ${prefix}replay (subscription, ${REPLAY_COLUMNS})
        SELECT number, $2, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::boolean, $9::bigint
        FROM subscription ON CONFLICT DO NOTHING RETURNING id
      ), raised AS (${raiseVersion(prefix, "inserted")})
      SELECT (SELECT count(*) FROM subscription) AS there, (SELECT count(*) FROM inserted) AS inserted`,
      [subscriptionId, ...Object.values(replayRow(replay))],
    );
    if (found!.there === found!.inserted) return found!.there > 0;
    throw new StoreError("exists", `${location} holds a replay of the subscription "${subscriptionId}" already`);
  }

  return {
    async consumers({ after = "", limit }) {
      const found = await database.read<ConsumerRow>(consumers("id > $1 ORDER BY id LIMIT $2"), [after, limit]);
      return found.map(toConsumer);
    },
    async consumer(subscriptionId) {
      const [row] = await database.read<ConsumerRow>(consumers("id = $1"), [subscriptionId]);
      return row && toConsumer(row);
    },
    async next(subscription, query) {
      const [progress] = await database.read<NextProgress>(nextProgress, [subscription.id]);
      return progress && await nextDeliveries(sourceOf(subscription.id), { ...progress }, subscription, query);
    },
    failed: failedOf,
    settle: postgresSettling(context, log, leases),
    insertReplay: (replay, claim) =>
      claim === undefined ? insertReplay(database, replay) : database.transaction(async (queries) => {
        await runWork(queries, fence(claim));
        return await insertReplay(queries, replay);
      }),
    recordAttempt: record,
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
