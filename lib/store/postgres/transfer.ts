import { Buffer } from "node:buffer";
import type { NounDriver } from "../checked_store.ts";
import { attemptRow } from "../sql/attempts.ts";
import { failedRow, progressRow, replayRow } from "../sql/deliveries.ts";
import { requireId } from "../sql/event_rows.ts";
import { keyRow } from "../sql/keys.ts";
import { type SubmissionRow, submissionRow, toSubmission } from "../sql/submissions.ts";
import { subscriptionRow } from "../sql/subscriptions.ts";
import {
  toTransactionIntent,
  TRANSACTION_INTENT_COLUMNS,
  type TransactionIntentRow,
  transactionIntentRow,
} from "../sql/transaction_intents.ts";
import type { TransactionIntentName } from "../transaction_intent.ts";
import {
  COPY_REGISTER,
  type HiddenKind,
  type HiddenRecords,
  type KeptIntent,
  type KeptNonce,
  keptTransactionIntent,
  type LogStart,
  markBehind,
  type StoreHead,
  transactionIntentRecord,
  type TransferKey,
  type TransferRecords,
  type TransferStore,
} from "../transfer.ts";
import type { PostgresContext, Queries } from "./database.ts";
import type { EventRows } from "./event_rows.ts";
import { newestRow, type PostgresLog } from "./log.ts";
import { newestProgress } from "./progress.ts";

type Readers = { [Kind in HiddenKind]: (after: TransferKey, limit: number) => Promise<HiddenRecords[Kind][]> };
type Writers = {
  [Kind in keyof TransferRecords]: (queries: Queries, records: TransferRecords[Kind][]) => Promise<unknown>;
};

/** Everything that the schema holds, out of it and into it. */
export function postgresTransfer(
  context: PostgresContext,
  log: PostgresLog,
  rows: EventRows,
): NounDriver<TransferStore> {
  const { database, location, prefix } = context;

  /** Each column as its table has it. */
  async function insert(queries: Queries, table: string, inserted: object[]): Promise<void> {
    if (inserted.length === 0) return;
    const columns = Object.keys(inserted[0]!).join(", ");
    await queries.write(
      `INSERT INTO ${prefix}${table} (${columns}) SELECT ${columns}
      FROM json_populate_recordset(NULL::${prefix}${table}, $1::text::json)`,
      [inserted],
    );
  }

  /** The rows, with the number of their subscription instead of its id. */
  async function numbered<Row extends object>(
    queries: Queries,
    records: { subscriptionId: string }[],
    rowsOf: Row[],
  ): Promise<(Row & { subscription: number })[]> {
    const found = await queries.read<{ id: string; number: number }>(
      `SELECT id, number FROM ${prefix}subscription WHERE id IN (
        SELECT id FROM json_to_recordset($1::text::json) AS given (id text))`,
      [[...new Set(records.map(({ subscriptionId }) => subscriptionId))].map((id) => ({ id }))],
    );
    const numberOf = new Map(found.map(({ id, number }) => [id, number]));
    return rowsOf.map((row, n) => ({ ...row, subscription: numberOf.get(records[n]!.subscriptionId)! }));
  }

  const countIntents = (queries: Queries, intents: { keyId: string }[]) =>
    queries.write(
      `INSERT INTO ${prefix}intent_count AS kept (key_id, shard, intents)
      SELECT key_id, 0, count(*) FROM json_to_recordset($1::text::json) AS given (key_id text) GROUP BY key_id
      ON CONFLICT (key_id, shard) DO UPDATE SET intents = kept.intents + excluded.intents`,
      [intents.flatMap(({ keyId }) => [{ key_id: keyId }, { key_id: "" }])],
    );

  async function logStart(): Promise<LogStart> {
    const { forgotten } = await log.bounds();
    const [highest] = await database.read<{ height: number; sequence: number }>(
      `SELECT height, sequence FROM ${prefix}height_start WHERE sequence <= $1 ORDER BY height DESC LIMIT 1`,
      [forgotten],
    );
    return { forgotten, highest: highest ? { ...highest } : null };
  }

  async function head(): Promise<StoreHead> {
    const one = (column: string, table: string) => `(SELECT ${column} FROM ${prefix}${table})`;
    const [row] = await database.read<StoreHead & { state: string | null }>(
      `SELECT ${one("id", "store")} AS id, ${one("passphrase", "network")} AS network,
        ${one("text", "secrets_check")} AS "secretsCheck", (SELECT state FROM ${
        newestRow(prefix, "watcher")
      }) AS state`,
    );
    const { state, ...rest } = row!;
    return { ...rest, watcher: state === null ? null : JSON.parse(state) };
  }

  const readers: Readers = {
    log: async (after) => after.length > 0 ? [] : [await logStart()],
    store: async (after) => after.length > 0 ? [] : [await head()],
    async submissions([hash = ""], limit) {
      const found = await database.read<SubmissionRow>(
        `SELECT * FROM ${prefix}submission WHERE hash > $1 ORDER BY hash LIMIT $2`,
        [hash, limit],
      );
      return found.map(toSubmission);
    },
    intents: ([keyId = "", kind = "", key = ""], limit) =>
      database.read<KeptIntent>(
        `SELECT key_id AS "keyId", kind, key, id, term, request, completed_at_ms AS "completedAtMs", result
        FROM ${prefix}intent WHERE (key_id, kind, key) > ($1, $2, $3) ORDER BY key_id, kind, key LIMIT $4`,
        [keyId, kind, key, limit],
      ),
    async transactionIntents([keyId = "", key = ""], limit) {
      const found = await database.read<TransactionIntentRow & TransactionIntentName>(
        `SELECT key_id AS "keyId", key, ${TRANSACTION_INTENT_COLUMNS} FROM ${prefix}transaction_intent
        WHERE (key_id, key) > ($1, $2) ORDER BY key_id, key LIMIT $3`,
        [keyId, key, limit],
      );
      return found.map((row) => transactionIntentRecord(row, toTransactionIntent(row)));
    },
    nonces: ([deviceHash = "", agent = ""], limit) =>
      database.read<KeptNonce>(
        `SELECT device_hash AS "deviceHash", agent, nonce::text AS nonce, until_ms AS "untilMs" FROM ${prefix}nonce_out
        WHERE (device_hash, agent) > ($1, $2) ORDER BY device_hash, agent LIMIT $3`,
        [deviceHash, agent, limit],
      ),
    async registers([name = ""], limit) {
      const found = await database.read<{ name: string; value: string; untilMs: number }>(
        `SELECT name, value, until_ms AS "untilMs" FROM ${prefix}register
        WHERE name > $1 ORDER BY name LIMIT $2`,
        [name, limit],
      );
      return found.map((row) => ({ ...row, value: JSON.parse(row.value) }));
    },
    // What deleted subscriptions have left is not kept of anything.
    failedDeliveries: ([sequence = 0, id = ""], limit) =>
      database.read<HiddenRecords["failedDeliveries"]>(
        `SELECT subscription.id AS "subscriptionId", failed.sequence, failed.state, failed.attempts,
          failed.due_at_ms AS "dueAtMs", failed.failed_at_ms AS "failedAtMs",
          failed.attempted_at_ms AS "attemptedAtMs"
        FROM ${prefix}failed_delivery AS failed JOIN ${prefix}subscription AS subscription
          ON subscription.number = failed.subscription
        WHERE failed.sequence >= $1 AND (failed.sequence > $1 OR subscription.id > $2)
        ORDER BY failed.sequence, subscription.id LIMIT $3`,
        [sequence, id, limit],
      ),
    counters: ([id = ""], limit) =>
      database.read<HiddenRecords["counters"]>(
        `SELECT subscription.id AS "subscriptionId", progress.rejected_kept AS "rejectedKept",
          progress.dead_kept AS "deadKept", progress.attempts
        FROM (SELECT number, id FROM ${prefix}subscription WHERE id > $1 ORDER BY id LIMIT $2) AS subscription
          CROSS JOIN ${newestProgress(prefix)} ORDER BY subscription.id`,
        [id, limit],
      ),
  };

  const writers: Writers = {
    log: (queries, [start]) =>
      Promise.all([
        queries.write(`UPDATE ${prefix}log_start SET forgotten = $1`, [start!.forgotten]),
        queries.write(
          `UPDATE ${prefix}log_end SET last = $1, height = $2`,
          [start!.forgotten, start!.highest?.height ?? -1],
        ),
        start!.highest !== null && insert(queries, "height_start", [start!.highest]),
      ]),
    keys: (queries, keys) => insert(queries, "api_key", keys.map(keyRow)),
    buckets: (queries, buckets) =>
      insert(
        queries,
        "bucket",
        buckets.map(({ keyId, tokens, updatedAtMs }) => ({ key_id: keyId, tokens, updated_at_ms: updatedAtMs })),
      ),
    submissions: (queries, submissions) =>
      insert(
        queries,
        "submission",
        submissions.map((submission) => ({
          ...submissionRow(submission),
          outcome_ledger: submission.outcome?.ledger ?? null,
        })),
      ),
    intents: (queries, intents) =>
      Promise.all([
        insert(
          queries,
          "intent",
          intents.map(({ keyId, completedAtMs, ...intent }) => ({
            ...{ ...intent, key_id: keyId, completed_at_ms: completedAtMs },
            ...{ claimed_until_ms: null, claim_duration_ms: 0 },
          })),
        ),
        countIntents(queries, intents),
      ]),
    transactionIntents: (queries, records) =>
      Promise.all([
        insert(
          queries,
          "transaction_intent",
          records.map((record) => {
            const { name: { keyId, key }, kept } = keptTransactionIntent(record);
            const row = transactionIntentRow(kept, `\\x${Buffer.from(kept.envelope).toString("hex")}`);
            return { key_id: keyId, key, version: kept.version, ...row, used_at_ms: kept.usedAtMs };
          }),
        ),
        countIntents(queries, records),
      ]),
    nonces: (queries, nonces) =>
      insert(
        queries,
        "nonce_out",
        nonces.map(({ deviceHash, agent, nonce, untilMs }) => ({
          device_hash: deviceHash,
          agent,
          nonce,
          until_ms: untilMs,
        })),
      ),
    registers: (queries, registers) =>
      insert(
        queries,
        "register",
        registers.map(({ name, value, untilMs }) => ({ name, value: JSON.stringify(value), until_ms: untilMs })),
      ),
    async events(queries, events) {
      const appending = await log.append(queries);
      const placed = events.map((event) => {
        const id = requireId(event.id);
        return { event, id, ...appending.next(id.height) };
      });
      await rows.insert(queries, placed);
      await appending.end();
    },
    undecoded: (queries, events) =>
      rows.insertUndecoded(queries, events.map((event) => ({ event, id: requireId(event.id) }))),
    async subscriptions(queries, readers) {
      await insert(queries, "subscription", readers.map(({ subscription }) => subscriptionRow(subscription)));
      const records = readers.map(({ subscription }) => ({ subscriptionId: subscription.id }));
      const progress = readers.map(({ progress, counters }) => ({ version: 0, ...progressRow(progress, counters) }));
      await insert(queries, "progress", await numbered(queries, records, progress));
      const replays = readers.flatMap(({ replay }) => replay === null ? [] : [replay]);
      await insert(queries, "replay", await numbered(queries, replays, replays.map(replayRow)));
    },
    async failedDeliveries(queries, failed) {
      await insert(queries, "failed_delivery", await numbered(queries, failed, failed.map(failedRow)));
    },
    async attempts(queries, attempts) {
      const attemptRows = attempts.map(({ ordinal, ...attempt }) => attemptRow(attempt, ordinal));
      await insert(queries, "attempt", await numbered(queries, attempts, attemptRows));
    },
    store: (queries, [head]) => {
      const { id, network, secretsCheck, watcher } = head!;
      return Promise.all([
        queries.write(`UPDATE ${prefix}store SET id = $1`, [id]),
        network !== null && insert(queries, "network", [{ only_row: 1, passphrase: network }]),
        secretsCheck !== null && insert(queries, "secrets_check", [{ only_row: 1, text: secretsCheck }]),
        watcher !== null && queries.write(`UPDATE ${prefix}watcher SET state = $1`, [JSON.stringify(watcher)]),
      ]);
    },
  };

  return {
    read: async ({ kind, after, limit }) => [...await readers[kind](after, limit)],
    write: (step) =>
      database.transaction(async (queries) => {
        const [row] = await queries.read<{ value: string }>(
          `SELECT value FROM ${prefix}register WHERE name = $1 FOR UPDATE`,
          [COPY_REGISTER],
        );
        const mark = markBehind(location, row && JSON.parse(row.value), step);
        await (writers[step.kind] as (queries: Queries, records: unknown[]) => Promise<unknown>)(queries, step.records);
        await queries.write(`UPDATE ${prefix}register SET value = $2 WHERE name = $1`, [
          COPY_REGISTER,
          JSON.stringify(mark),
        ]);
      }),
  };
}
