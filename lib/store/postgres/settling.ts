import { createRecentMap } from "../../bounded_map.ts";
import { count, FAILED_COLUMNS, failedRow } from "../sql/deliveries.ts";
import type { DeliveryStore } from "../store.ts";
import { FAILED_KEPT, type FailedDelivery, type Settlement } from "../webhook.ts";
import { type MadeAttempts, writeAttempts } from "./attempts.ts";
import { givenRows, type PostgresContext, type Queries } from "./database.ts";
import type { SqlLeases } from "../sql/leases.ts";
import type { PostgresLog } from "./log.ts";
import { runWork } from "./sql.ts";
import { type KeptProgressRow, lockProgress, writeProgress } from "./progress.ts";

type State = FailedDelivery["state"];

/** New states of a subscription's failed deliveries, by sequence. Null: removed. */
type Kept = Map<number, FailedDelivery | null>;

/** The progress of a subscription's replay. */
type Moved = { subscription: number } & NonNullable<Settlement["replay"]>;

/** Failed deliveries beyond the bound. The oldest of these go. */
interface Surplus {
  subscription: number;
  state: State;
  rows: number;
}

/** The changes of one subscription. */
interface Part {
  row: KeptProgressRow;
  /** The stored states by sequence. A missing one has no row. */
  states: Map<number, State>;
  kept: Kept;
}

/** The number of subscriptions whose last written version of progress stays in memory. */
const REMEMBERED = 50_000;

/** `DeliveryStore.settle`: one batch of reads and one batch of writes. */
export function postgresSettling(
  { database, prefix }: PostgresContext,
  log: PostgresLog,
  leases: SqlLeases,
): (step: Parameters<DeliveryStore["settle"]>[0]) => Promise<void> {
  /** The versions written here. A standby that was promoted without the last commits has older ones. */
  const written = createRecentMap<number>(REMEMBERED);
  const isOlder = ({ row: { subscription, version } }: Part) => version < (written.get(`${subscription}`) ?? 0);
  const ofConsumers = lockProgress(prefix, `id IN (SELECT id FROM ${givenRows("id text")})`);
  // One lookup by key for each. A join, planned while few deliveries had failed, would read all of a subscription's each time.
  const readStates = `SELECT given.id, given.sequence, (
      SELECT failed.state FROM ${prefix}failed_delivery AS failed
      WHERE failed.subscription = (SELECT number FROM ${prefix}subscription WHERE id = given.id)
        AND failed.sequence = given.sequence
    ) AS state FROM ${givenRows("id text, sequence bigint")}`;

  async function look(queries: Queries, settlements: Settlement[]) {
    const ids = [...new Set(settlements.map(({ subscriptionId }) => subscriptionId))].map((id) => ({ id }));
    const named = settlements.flatMap(({ subscriptionId: id, failed = [], delivered = [] }) =>
      [...failed.map(({ sequence }) => sequence), ...delivered].map((sequence) => ({ id, sequence }))
    );
    const fails = settlements.some(({ failed = [] }) => failed.length > 0);
    const [, bounds, rows, states] = await Promise.all([
      // Locked until the commit, so that the retention job deletes none of these events meanwhile (retention.ts).
      fails ? queries.read(`SELECT forgotten FROM ${prefix}log_start FOR SHARE`) : undefined,
      fails ? log.bounds(queries) : { last: 0, forgotten: 0 },
      queries.read<KeptProgressRow & { id: string }>(ofConsumers, [ids]),
      named.length === 0
        ? []
        : queries.read<{ id: string; sequence: number; state: State | null }>(readStates, [named]),
    ]);
    const parts = new Map<string, Part>();
    for (const { id, ...row } of rows) {
      parts.set(id, { row, states: new Map(), kept: new Map() });
    }
    for (const { id, sequence, state } of states) if (state !== null) parts.get(id)?.states.set(sequence, state);
    return { bounds, parts };
  }

  return async ({ leases: held, settlements }) => {
    const rows = await database.transaction(async (queries) => {
      const [, { bounds, parts }] = await Promise.all([
        runWork(queries, leases.fence(held)),
        look(queries, settlements),
      ]);
      const older = [...parts.values()].filter(isOlder);
      for (const { row: { subscription, version } } of older) written.set(`${subscription}`, version);
      // Failed deliveries may be lost, and no cursor may pass them. The delivery worker restarts from the last commit.
      if (older.length > 0) throw leases.lose(held);
      const attempts: MadeAttempts[] = [];
      const replays: Moved[] = [];
      for (const settlement of settlements) {
        const part = parts.get(settlement.subscriptionId);
        if (part === undefined) continue;
        const { subscription } = part.row;
        attempts.push({ subscription, newest: part.row.attempts, attempts: settlement.attempts });
        apply(settlement, part, bounds);
        if (settlement.replay !== undefined) replays.push({ subscription, ...settlement.replay });
      }
      const changed = [...parts.values()];
      const settled = changed.map(({ row }) => row);
      const surplus = settled.flatMap(takeSurplus);
      await Promise.all([
        writeFailed(queries, prefix, changed),
        dropOldest(queries, prefix, surplus),
        queries.write(writeProgress(prefix), [settled]),
        writeAttempts(queries, prefix, attempts),
        writeReplays(queries, prefix, replays),
      ]);
      return settled;
    });
    for (const { subscription, version } of rows) written.set(`${subscription}`, version + 1);
  };
}

/** Applies a settlement to its subscription's progress and failed deliveries. */
function apply(settlement: Settlement, part: Part, { last, forgotten }: { last: number; forgotten: number }): void {
  const { row } = part;
  row.cursor = Math.max(row.cursor, settlement.cursor ?? 0);
  if (settlement.failingSinceMs !== undefined) row.failing_since_ms = settlement.failingSinceMs;
  for (const sequence of settlement.delivered ?? []) replace(part, sequence, null);
  for (const one of settlement.failed ?? []) {
    if (one.sequence > last) throw new RangeError(`there is no event ${one.sequence} yet, the last is ${last}`);
    if (one.sequence > forgotten) replace(part, one.sequence, one);
  }
  row.attempts += settlement.attempts.length;
}

/** Replaces a failed delivery by its new state, or removes it. */
function replace({ row, states, kept }: Part, sequence: number, failed: FailedDelivery | null): void {
  const former = states.get(sequence);
  if (former !== undefined) count(row, former, -1);
  if (failed === null) states.delete(sequence);
  else {
    states.set(sequence, failed.state);
    count(row, failed.state, 1);
  }
  kept.set(sequence, failed);
}

/** Keeps the newest failed deliveries of each kind. */
function takeSurplus(row: KeptProgressRow): Surplus[] {
  return (["rejected", "dead"] as const).flatMap((state) => {
    const rows = row[`${state}_kept`] - FAILED_KEPT;
    if (rows <= 0) return [];
    row[`${state}_kept`] -= rows;
    return [{ subscription: row.subscription, state, rows }];
  });
}

async function dropOldest(queries: Queries, prefix: string, surplus: Surplus[]): Promise<void> {
  const sql = `DELETE FROM ${prefix}failed_delivery WHERE subscription = $1 AND sequence IN (
    SELECT sequence FROM ${prefix}failed_delivery WHERE subscription = $1 AND state = $2 ORDER BY sequence LIMIT $3)`;
  await Promise.all(surplus.map(({ subscription, state, rows }) => queries.write(sql, [subscription, state, rows])));
}

async function writeFailed(queries: Queries, prefix: string, parts: Part[]): Promise<void> {
  const changes = parts.flatMap(({ row: { subscription }, kept }) =>
    [...kept].map(([sequence, failed]) => ({ subscription, sequence, failed }))
  );
  const removed = changes.filter(({ failed }) => failed === null)
    .map(({ subscription, sequence }) => ({ subscription, sequence }));
  const written = changes.flatMap(({ subscription, failed }) =>
    failed === null ? [] : [{ subscription, ...failedRow(failed) }]
  );
  await Promise.all([
    removed.length > 0 && queries.write(
      `DELETE FROM ${prefix}failed_delivery AS kept
      USING ${givenRows("subscription bigint, sequence bigint")}
      WHERE kept.subscription = given.subscription AND kept.sequence = given.sequence`,
      [removed],
    ),
    written.length > 0 && queries.write(
      `INSERT INTO ${prefix}failed_delivery (subscription, ${FAILED_COLUMNS})
      SELECT subscription, ${FAILED_COLUMNS}
      FROM json_to_recordset($1::text::json) AS given (subscription bigint, sequence bigint, state text, attempts bigint,
        due_at_ms bigint, failed_at_ms bigint, attempted_at_ms bigint)
      ON CONFLICT (subscription, sequence) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
        due_at_ms = excluded.due_at_ms, failed_at_ms = excluded.failed_at_ms,
        attempted_at_ms = excluded.attempted_at_ms`,
      [written],
    ),
  ]);
}

async function writeReplays(queries: Queries, prefix: string, moved: Moved[]): Promise<void> {
  await Promise.all(
    moved.map(({ subscription, id, cursor, done }) =>
      done
        ? queries.write(`DELETE FROM ${prefix}replay WHERE id = $1 AND subscription = $2`, [id, subscription])
        : queries.write(
          `UPDATE ${prefix}replay SET cursor = greatest(cursor, $3) WHERE id = $1 AND subscription = $2`,
          [id, subscription, cursor],
        )
    ),
  );
}
