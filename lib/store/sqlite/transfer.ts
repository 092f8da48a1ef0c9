import type { SqliteStatement } from "../../runtime/sqlite.ts";
import type { NounDriver } from "../checked_store.ts";
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
  type TransferStep,
  type TransferStore,
} from "../transfer.ts";
import { sqliteAttempts } from "./attempts.ts";
import type { EventRows } from "./event_rows.ts";
import type { SqliteLog } from "./log.ts";
import { rowValues, type SqliteContext } from "./database.ts";
import { INSERT_SUBSCRIPTION } from "./subscriptions.ts";

type Readers = { [Kind in HiddenKind]: (after: TransferKey, limit: number) => HiddenRecords[Kind][] };
type Writers = { [Kind in keyof TransferRecords]: (records: TransferRecords[Kind][]) => void };

/** Everything that the file holds, out of it and into it. */
export function sqliteTransfer(context: SqliteContext, log: SqliteLog, rows: EventRows): NounDriver<TransferStore> {
  const { database, location } = context;
  const attempts = sqliteAttempts(database);
  const prepared = new Map<string, SqliteStatement<unknown>>();

  /** Most processes never come to these statements: each is prepared when it is needed. */
  function statement<Row>(sql: string): SqliteStatement<Row> {
    if (!prepared.has(sql)) prepared.set(sql, database.prepare(sql));
    return prepared.get(sql) as SqliteStatement<Row>;
  }

  function insert(table: string, row: object): void {
    const columns = Object.keys(row);
    const values = columns.map(() => "?").join(", ");
    statement(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values})`).run(...rowValues(row));
  }

  const numberOf = (id: string) =>
    statement<{ number: number }>("SELECT number FROM subscription WHERE id = ?").get(id)!.number;

  function logStart(): LogStart {
    const { forgotten } = log.bounds();
    const highest = statement<{ height: number; sequence: number }>(
      "SELECT height, sequence FROM height_start WHERE sequence <= ? ORDER BY height DESC LIMIT 1",
    ).get(forgotten);
    return { forgotten, highest: highest ?? null };
  }

  function head(): StoreHead {
    const one = (column: string, table: string) =>
      statement<{ value: string }>(`SELECT ${column} AS value FROM ${table}`).get()?.value ?? null;
    const state = one("state", "watcher");
    return {
      id: one("id", "store")!,
      network: one("passphrase", "network"),
      secretsCheck: one("text", "secrets_check"),
      watcher: state === null ? null : JSON.parse(state),
    };
  }

  const readers: Readers = {
    log: (after) => after.length > 0 ? [] : [logStart()],
    store: (after) => after.length > 0 ? [] : [head()],
    submissions: ([hash = ""], limit) =>
      statement<SubmissionRow>("SELECT * FROM submission WHERE hash > ? ORDER BY hash LIMIT ?").all(hash, limit)
        .map(toSubmission),
    intents: ([keyId = "", kind = "", key = ""], limit) =>
      statement<KeptIntent>(`
        SELECT key_id AS keyId, kind, key, id, term, request, completed_at_ms AS completedAtMs, result FROM intent
        WHERE (key_id, kind, key) > (?, ?, ?) ORDER BY key_id, kind, key LIMIT ?`).all(keyId, kind, key, limit),
    transactionIntents: ([keyId = "", key = ""], limit) =>
      statement<TransactionIntentRow & TransactionIntentName>(`
        SELECT key_id AS keyId, key, ${TRANSACTION_INTENT_COLUMNS} FROM transaction_intent
        WHERE (key_id, key) > (?, ?) ORDER BY key_id, key LIMIT ?`).all(keyId, key, limit)
        .map((row) => transactionIntentRecord(row, toTransactionIntent(row))),
    nonces: ([deviceHash = "", agent = ""], limit) =>
      statement<KeptNonce>(`
        SELECT device_hash AS deviceHash, agent, nonce, until_ms AS untilMs FROM nonce_out
        WHERE (device_hash, agent) > (?, ?) ORDER BY device_hash, agent LIMIT ?`).all(deviceHash, agent, limit),
    registers: ([name = ""], limit) =>
      statement<{ name: string; value: string; untilMs: number }>(`
        SELECT name, value, until_ms AS untilMs FROM register
        WHERE name > ? ORDER BY name LIMIT ?`).all(name, limit)
        .map((row) => ({ ...row, value: JSON.parse(row.value) })),
    // What deleted subscriptions have left is not kept of anything.
    failedDeliveries: ([sequence = 0, id = ""], limit) =>
      statement<HiddenRecords["failedDeliveries"]>(`
        SELECT id AS subscriptionId, sequence, state, attempts, due_at_ms AS dueAtMs, failed_at_ms AS failedAtMs,
          attempted_at_ms AS attemptedAtMs
        FROM failed_delivery INDEXED BY failed_delivery_by_sequence CROSS JOIN subscription ON number = subscription
        WHERE sequence >= ?1 AND (sequence > ?1 OR id > ?2) ORDER BY sequence, id LIMIT ?3`).all(sequence, id, limit),
    counters: ([id = ""], limit) =>
      statement<HiddenRecords["counters"]>(`
        SELECT id AS subscriptionId, rejected_kept AS rejectedKept, dead_kept AS deadKept, attempts
        FROM subscription CROSS JOIN progress ON subscription = number WHERE id > ? ORDER BY id LIMIT ?`).all(
        id,
        limit,
      ),
  };

  const writers: Writers = {
    log([start]) {
      statement("UPDATE log SET forgotten = ?").run(start!.forgotten);
      if (start!.highest !== null) insert("height_start", { ...start!.highest });
    },
    keys: each((key) => insert("api_key", keyRow(key))),
    buckets: each(({ keyId, tokens, updatedAtMs }) =>
      insert("bucket", { key_id: keyId, tokens, updated_at_ms: updatedAtMs })
    ),
    submissions: each((submission) => insert("submission", submissionRow(submission))),
    intents: each(({ keyId, completedAtMs, ...intent }) =>
      insert("intent", {
        ...{ ...intent, key_id: keyId, completed_at_ms: completedAtMs },
        ...{ claimed_by: null, claimed_until_ms: 0, claim_duration_ms: 0 },
      })
    ),
    transactionIntents: each((record) => {
      const { name: { keyId, key }, kept } = keptTransactionIntent(record);
      const { version, usedAtMs } = kept;
      const row = transactionIntentRow(kept, kept.envelope);
      insert("transaction_intent", { key_id: keyId, key, version, ...row, used_at_ms: usedAtMs });
    }),
    nonces: each(({ deviceHash, agent, nonce, untilMs }) =>
      insert("nonce_out", { device_hash: deviceHash, agent, nonce, until_ms: untilMs })
    ),
    registers: each(({ name, value, untilMs }) =>
      insert("register", { name, value: JSON.stringify(value), until_ms: untilMs })
    ),
    events(events) {
      const next = log.append();
      for (const event of events) {
        const id = requireId(event.id);
        rows.insert(event, id, next(id.height));
      }
    },
    undecoded: each((event) => rows.insertUndecoded(event, requireId(event.id))),
    subscriptions: each(({ subscription, progress, counters, replay }) => {
      const { number } = statement<{ number: number }>(INSERT_SUBSCRIPTION)
        .get(...rowValues(subscriptionRow(subscription)))!;
      insert("progress", { subscription: number, ...progressRow(progress, counters) });
      if (replay !== null) insert("replay", { subscription: number, ...replayRow(replay) });
    }),
    failedDeliveries: each(({ subscriptionId, ...failed }) =>
      insert("failed_delivery", { subscription: numberOf(subscriptionId), ...failedRow(failed) })
    ),
    attempts: each(({ subscriptionId, ordinal, ...attempt }) =>
      attempts.write(numberOf(subscriptionId), ordinal, attempt)
    ),
    store([head]) {
      const { id, network, secretsCheck, watcher } = head!;
      statement("UPDATE store SET id = ?").run(id);
      if (network !== null) insert("network", { passphrase: network });
      if (secretsCheck !== null) insert("secrets_check", { only_row: 1, text: secretsCheck });
      if (watcher !== null) insert("watcher", { only_row: 1, state: JSON.stringify(watcher) });
    },
  };

  return {
    read: ({ kind, after, limit }) => readers[kind](after, limit),
    write: (step: TransferStep) =>
      database.transaction(() => {
        const row = statement<{ value: string }>("SELECT value FROM register WHERE name = ?").get(COPY_REGISTER);
        const mark = markBehind(location, row && JSON.parse(row.value), step);
        (writers[step.kind] as (records: unknown[]) => void)(step.records);
        statement("UPDATE register SET value = ? WHERE name = ?").run(JSON.stringify(mark), COPY_REGISTER);
      }),
  };
}

function each<Item>(write: (record: Item) => void): (records: Item[]) => void {
  return (records) => records.forEach(write);
}
