import type { NounDriver } from "../checked_store.ts";
import { nextDeliveries, type NextProgress, type NextSource } from "../next_deliveries.ts";
import { type DeliveryStore, type FailedQuery, StoreError } from "../store.ts";
import { type DueDelivery, FAILED_STATES, type FailedDelivery, type Replay, type StoredConsumer } from "../webhook.ts";
import { type Parameter, send, type SqlContext } from "./database.ts";
import type { EventQueries } from "./event_query.ts";
import type { EventReader, EventRow } from "./event_rows.ts";
import type { SqlIntents } from "./intents.ts";
import type { ProgressRow } from "./progress.ts";
import { type SubscriptionRow, toSubscription } from "./subscriptions.ts";

interface ConsumerRow extends SubscriptionRow, ProgressRow {
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

/** In the order of `replayRow`. */
const REPLAY_COLUMNS = "id, from_height, to_height, cursor, end_sequence, deliveries, at_least, created_at_ms";
/** Of the table `replay`, as a `ConsumerRow` has them. */
export const CONSUMER_REPLAY = REPLAY_COLUMNS.split(", ").map((column) => `replay.${column} AS replay_${column}`)
  .join(", ");

/** Without its subscription. */
function replayRow(replay: Replay) {
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

function toConsumer(row: ConsumerRow): StoredConsumer {
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

function toFailed(row: FailedRow): FailedDelivery {
  return {
    sequence: row.sequence,
    state: row.state,
    attempts: row.attempts,
    dueAtMs: row.due_at_ms,
    failedAtMs: row.failed_at_ms,
    attemptedAtMs: row.attempted_at_ms,
  };
}

/** The SQL of a driver. `$1` is the subscription's id. */
export interface DeliveryParts<Row, Packed> {
  /** Selects `ConsumerRow`s. */
  consumers(where: string): string;
  /** Selects failed deliveries that are due at `$2` with their events, at most `$3`, by due time. */
  due: string;
  /** Selects failed deliveries in this state with their events, at most `$3`, beyond the sequence `$2`. */
  failed(state: FailedDelivery["state"]): string;
  intents: SqlIntents;
  reader: EventReader<Row, Packed>;
  queries: EventQueries<Row>;
}

/** The reads of deliveries, and new replays. */
export function sqlDeliveries<Row extends EventRow<Packed>, Packed>(
  { sql, location }: SqlContext,
  { intents, reader, queries, ...texts }: DeliveryParts<Row, Packed>,
): Pick<NounDriver<DeliveryStore>, "consumers" | "consumer" | "next" | "failed" | "insertReplay"> {
  const { prefix, prepare } = sql;
  const numberOf = `(SELECT number FROM ${prefix}subscription WHERE id = $1)`;
  const list = prepare<ConsumerRow>(texts.consumers("subscription.id > $1 ORDER BY subscription.id LIMIT $2"));
  const one = prepare<ConsumerRow>(texts.consumers("subscription.id = $1"));
  const progress = prepare<NextProgress>(
    `SELECT cursor, retrying, retrying + rejected_kept + dead_kept AS kept
    FROM (SELECT number FROM ${prefix}subscription WHERE id = $1) AS subscription JOIN ${sql.progress()}`,
  );
  const due = prepare<Row & FailedRow>(texts.due);
  const failedIn = Object.fromEntries(
    FAILED_STATES.map((state) => [state, prepare<Row & FailedRow>(texts.failed(state))]),
  );
  const firstDueAfter = prepare<{ due_at_ms: number }>(
    `SELECT due_at_ms FROM ${prefix}failed_delivery WHERE subscription = ${numberOf} AND due_at_ms > $2
    ORDER BY due_at_ms, sequence LIMIT 1`,
  );
  const failedBetween = prepare<{ sequence: number }>(
    `SELECT sequence FROM ${prefix}failed_delivery WHERE subscription = ${numberOf} AND sequence > $2 AND sequence <= $3`,
  );
  const subscription = prepare<{ number: number }>(
    `SELECT number FROM ${prefix}subscription WHERE id = $1 ${sql.lock("SHARE")}`,
  );
  const insertReplay = prepare<{ id: string }>(sql.versions.raising(
    "subscriptions",
    `INSERT INTO ${prefix}replay (subscription, ${REPLAY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT DO NOTHING RETURNING id`,
  ));

  async function withEvents(rows: (Row & FailedRow)[]): Promise<DueDelivery[]> {
    const events = await reader.toEvents(rows);
    return rows.map((row, n) => ({ delivery: toFailed(row), event: events[n]! }));
  }

  async function failed({ subscriptionId, state, beyond, limit }: FailedQuery): Promise<DueDelivery[]> {
    const from = beyond ?? (state === "retrying" ? 0 : Number.MAX_SAFE_INTEGER);
    return await withEvents(await sql.read(failedIn[state]!(subscriptionId, from, limit)));
  }

  const sourceOf = (id: string): NextSource => ({
    due: async (nowMs, limit) => await withEvents(await sql.read(due(id, nowMs, limit))),
    firstDueAfter: async (nowMs) => (await sql.read(firstDueAfter(id, nowMs)))[0]?.due_at_ms ?? null,
    firstRetrying: async () => (await failed({ subscriptionId: id, state: "retrying", limit: 1 }))[0],
    failedBetween: async (after, upTo) =>
      (await sql.read(failedBetween(id, after, upTo))).map(({ sequence }) => sequence),
    read: async (query) => await reader.toEvents(await queries.select(query)),
  });

  return {
    consumers: async ({ after = "", limit }) => (await sql.read(list(after, limit))).map(toConsumer),
    async consumer(subscriptionId) {
      const [row] = await sql.read(one(subscriptionId));
      return row && toConsumer(row);
    },
    async next(subscription, query) {
      const [found] = await sql.read(progress(subscription.id));
      return found && await nextDeliveries(sourceOf(subscription.id), { ...found }, subscription, query);
    },
    failed,
    insertReplay: ({ subscriptionId, ...replay }, intent) =>
      sql.transaction(function* () {
        const [[found]] = yield* send(subscription(subscriptionId));
        if (found === undefined) return "missing";
        const verdict = yield* intents.add(intent);
        if (verdict !== "written") return verdict;
        const values = Object.values<Parameter>(replayRow({ subscriptionId, ...replay }));
        const [{ count }] = yield* send(insertReplay(found.number, ...values));
        if (count > 0) return verdict;
        throw new StoreError("exists", `${location} holds a replay of the subscription "${subscriptionId}" already`);
      }),
  };
}
