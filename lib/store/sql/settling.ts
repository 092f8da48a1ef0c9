import { createRecentMap } from "../../bounded_map.ts";
import type { NounDriver } from "../checked_store.ts";
import type { DeliveryStore, LogBounds } from "../store.ts";
import { FAILED_KEPT, type FailedDelivery, type NewAttempt, type Settlement } from "../webhook.ts";
import { send, type SqlContext, type Statement, together, type Work } from "./database.ts";
import { FAILED_COLUMNS, failedRow } from "./deliveries.ts";
import type { SqlLeases } from "./leases.ts";
import { count, type KeptProgressRow, sqlProgress } from "./progress.ts";

type State = FailedDelivery["state"];

/** The changes of one subscription. */
interface Part {
  row: KeptProgressRow;
  /** The stored states by sequence. A missing one has no row. */
  states: Map<number, State>;
  /** New states of failed deliveries, by sequence. Null: removed. */
  kept: Map<number, FailedDelivery | null>;
}

/** New attempts of one subscription. */
export interface MadeAttempts {
  subscription: number;
  /** The newest ordinal before them. */
  newest: number;
  attempts: NewAttempt[];
}

interface SettlingParts {
  leases: SqlLeases;
  /** Writes attempts, and removes those beyond `ATTEMPTS_KEPT`, in a transaction that has locked the progress. */
  writeAttempts(made: MadeAttempts[]): Statement<never>[];
}

/** The number of subscriptions whose last written version of progress stays in memory. */
const REMEMBERED = 50_000;

/** The outcomes of deliveries: one batch of reads and one batch of writes. */
export function sqlSettling(
  { sql }: SqlContext,
  { leases, writeAttempts }: SettlingParts,
): Pick<NounDriver<DeliveryStore>, "settle" | "recordAttempt"> {
  const { prefix, prepare } = sql;
  /** The versions written here. A standby that was promoted without the last commits has older ones. */
  const written = createRecentMap<number>(REMEMBERED);
  const isOlder = ({ row: { subscription, version } }: Part) => version < (written.get(`${subscription}`) ?? 0);
  const progress = sqlProgress(sql);
  const ofConsumers = prepare<KeptProgressRow>(progress.lock(`id IN (SELECT given.id FROM ${sql.given("id text")})`));
  const ofConsumer = prepare<KeptProgressRow>(progress.lock("id = $1"));
  // Locked until the commit, so that the retention job deletes none of these events meanwhile (retention.ts).
  const lockStart = prepare(`SELECT forgotten FROM ${prefix}log_start ${sql.lock("SHARE")}`);
  const readBounds = prepare<LogBounds>(sql.logBounds);
  // One lookup by key for each. A join, planned while few deliveries had failed, would read all of a subscription's each time.
  const readStates = prepare<{ id: string; sequence: number; state: State | null }>(
    `SELECT given.id, given.sequence, (
      SELECT failed.state FROM ${prefix}failed_delivery AS failed
      WHERE failed.subscription = (SELECT number FROM ${prefix}subscription WHERE id = given.id)
        AND failed.sequence = given.sequence
    ) AS state FROM ${sql.given("id text, sequence bigint")}`,
  );
  const removeFailed = prepare(sql.deleteGiven("failed_delivery", "subscription bigint, sequence bigint"));
  const writeFailed = prepare(
    `INSERT INTO ${prefix}failed_delivery (subscription, ${FAILED_COLUMNS}) SELECT subscription, ${FAILED_COLUMNS}
    FROM ${
      sql.given(
        "subscription bigint, sequence bigint, state text, attempts bigint, due_at_ms bigint, failed_at_ms bigint, " +
          "attempted_at_ms bigint",
      )
    } WHERE true
    ON CONFLICT (subscription, sequence) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
      due_at_ms = excluded.due_at_ms, failed_at_ms = excluded.failed_at_ms, attempted_at_ms = excluded.attempted_at_ms`,
  );
  const removeOldest = prepare(
    `DELETE FROM ${prefix}failed_delivery WHERE subscription = $1 AND sequence IN (
      SELECT sequence FROM ${prefix}failed_delivery WHERE subscription = $1 AND state = $2 ORDER BY sequence LIMIT $3)`,
  );
  const endReplay = prepare(`DELETE FROM ${prefix}replay WHERE id = $1 AND subscription = $2`);
  const moveReplay = prepare(
    `UPDATE ${prefix}replay SET cursor = ${sql.greatest}(cursor, $3) WHERE id = $1 AND subscription = $2`,
  );

  function* boundsFor(settlements: Settlement[]): Work<LogBounds> {
    if (settlements.every(({ failed = [] }) => failed.length === 0)) return { last: 0, forgotten: 0 };
    const [, [bounds]] = yield* send(lockStart(), readBounds());
    return bounds!;
  }

  function* partsOf(settlements: Settlement[]): Work<Map<string, Part>> {
    const ids = [...new Set(settlements.map(({ subscriptionId }) => subscriptionId))].map((id) => ({ id }));
    const named = settlements.flatMap(({ subscriptionId: id, failed = [], delivered = [] }) =>
      [...failed.map(({ sequence }) => sequence), ...delivered].map((sequence) => ({ id, sequence }))
    );
    const [rows, ...[states = []]] = yield* send(ofConsumers(ids), ...(named.length === 0 ? [] : [readStates(named)]));
    const parts = new Map<string, Part>();
    for (const row of rows) parts.set(row.id, { row: { ...row }, states: new Map(), kept: new Map() });
    for (const { id, sequence, state } of states) if (state !== null) parts.get(id)?.states.set(sequence, state);
    return parts;
  }

  /** The oldest go beyond the bound of each kind. */
  function removeSurplus(row: KeptProgressRow): Statement<never>[] {
    return (["rejected", "dead"] as const).flatMap((state) => {
      const surplus = row[`${state}_kept`] - FAILED_KEPT;
      if (surplus <= 0) return [];
      row[`${state}_kept`] -= surplus;
      return [removeOldest(row.subscription, state, surplus)];
    });
  }

  function writesOf(parts: Part[]): Statement<never>[] {
    const changes = parts.flatMap(({ row: { subscription }, kept }) =>
      [...kept].map(([sequence, failed]) => ({ subscription, sequence, failed }))
    );
    const removed = changes.filter(({ failed }) => failed === null)
      .map(({ subscription, sequence }) => ({ subscription, sequence }));
    const failed = changes.flatMap(({ subscription, failed }) =>
      failed === null ? [] : [{ subscription, ...failedRow(failed) }]
    );
    return [
      ...(removed.length === 0 ? [] : [removeFailed(removed)]),
      ...(failed.length === 0 ? [] : [writeFailed(failed)]),
      ...parts.flatMap(({ row }) => removeSurplus(row)),
      progress.write(parts.map(({ row }) => row)),
    ];
  }

  return {
    async settle({ leases: held, settlements }) {
      const rows = await sql.transaction(function* () {
        const [, bounds, parts] = yield* together(leases.fence(held), boundsFor(settlements), partsOf(settlements));
        const older = [...parts.values()].filter(isOlder);
        for (const { row: { subscription, version } } of older) written.set(`${subscription}`, version);
        // Failed deliveries may be lost, and no cursor may pass them. The delivery worker restarts from the last commit.
        if (older.length > 0) throw leases.lose(held);
        const attempts: MadeAttempts[] = [];
        const replays: Statement<never>[] = [];
        for (const settlement of settlements) {
          const part = parts.get(settlement.subscriptionId);
          if (part === undefined) continue;
          const { subscription } = part.row;
          attempts.push({ subscription, newest: part.row.attempts, attempts: settlement.attempts });
          apply(settlement, part, bounds);
          const { replay } = settlement;
          if (replay?.done) replays.push(endReplay(replay.id, subscription));
          else if (replay !== undefined) replays.push(moveReplay(replay.id, subscription, replay.cursor));
        }
        yield* send(...writesOf([...parts.values()]), ...writeAttempts(attempts), ...replays);
        return [...parts.values()].map(({ row }) => row);
      });
      for (const { subscription, version } of rows) written.set(`${subscription}`, version + 1);
    },
    recordAttempt: (subscriptionId, attempt) =>
      sql.transaction(function* () {
        const [[row]] = yield* send(ofConsumer(subscriptionId));
        if (row === undefined) return undefined;
        const { subscription, attempts: newest } = row;
        yield* send(
          progress.write([{ ...row, attempts: newest + 1 }]),
          ...writeAttempts([{ subscription, newest, attempts: [attempt] }]),
        );
        return { ...attempt, ordinal: newest + 1 };
      }),
  };
}

/** Applies a settlement to its subscription's progress and failed deliveries. */
function apply(settlement: Settlement, part: Part, { last, forgotten }: LogBounds): void {
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
