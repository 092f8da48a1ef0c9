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

/** What is kept of a subscription's deliveries of some events, by sequence. Null: nothing any more. */
type Kept = Map<number, FailedDelivery | null>;

/** How far a subscription's replay has come. */
type Moved = { subscription: number } & NonNullable<Settlement["replay"]>;

/** Failed deliveries beyond those that are kept: so many of the oldest go. */
interface Surplus {
  subscription: number;
  state: State;
  rows: number;
}

/** One subscription's part, as it is to be written. */
interface Part {
  row: KeptProgressRow;
  /** What is missing is not kept. */
  states: Map<number, State>;
  kept: Kept;
}

/** Of so many subscriptions it is remembered which version of their progress was written last. */
const REMEMBERED = 50_000;

/** `DeliveryStore.settle`: one look at all that is named, and one lot of writes, each in one go. */
export function postgresSettling(
  { database, prefix }: PostgresContext,
  log: PostgresLog,
  leases: SqlLeases,
): (step: Parameters<DeliveryStore["settle"]>[0]) => Promise<void> {
  /** The versions that were written here: a standby that was promoted without the last commits has older ones. */
  const written = createRecentMap<number>(REMEMBERED);
  const isOlder = ({ row: { subscription, version } }: Part) => version < (written.get(`${subscription}`) ?? 0);
  const ofConsumers = lockProgress(prefix, `id IN (SELECT id FROM ${givenRows("id text")})`);
  // Each by its key: as a join, planned while little had failed, it would go through all of a subscription's for each.
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
      // Held until the commit: nothing that fails now is forgotten meanwhile (retention.ts).
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
      // What failed may be lost, and no cursor may pass it: who delivers begins where the last commit stands.
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

/** What a settlement does to its subscription's progress and failed deliveries. */
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

/** Keeps a failed delivery in place of what was kept of it, or keeps it no more. */
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

/** Of each kind the newest are kept. */
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
