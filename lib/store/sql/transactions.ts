import type { NounDriver } from "../checked_store.ts";
import {
  type SubmittedTransaction,
  TRANSACTION_STATUSES,
  TRANSACTION_SUBJECTS,
  type TransactionPlace,
  type TransactionStore,
} from "../transaction.ts";
import { send, type SqlContext, together, type Work } from "./database.ts";
import { type PlacedTable, readPlaced } from "./placed_list.ts";

interface TransactionRow {
  hash: string;
  key_id: string;
  kind: string;
  source: string;
  reference: string | null;
  idempotency_key: string | null;
  submitted_at_ms: number;
  status: SubmittedTransaction["status"];
  ledger: number | null;
}

/** Later than any time. */
const AFTER_ALL_MS = Number.MAX_SAFE_INTEGER + 1;
const SELECTED = "hash, key_id, kind, source, reference, idempotency_key, submitted_at_ms, status, ledger";
const TYPES = "hash text, key_id text, kind text, source text, reference text, idempotency_key text, " +
  "submitted_at_ms bigint, status text, ledger bigint, place text";

export interface SqlTransactions {
  methods: NounDriver<TransactionStore>;
  /** Adds records after their submissions were written, in the same commit. Also those of these hashes take their outcomes. */
  settle(hashes: string[], added: SubmittedTransaction[]): Work<void>;
}

/** Transactions by the key that submitted them. */
export function sqlTransactions({ sql }: SqlContext): SqlTransactions {
  const table = `${sql.prefix}sent_transaction`;
  const submission = `${sql.prefix}submission`;
  const listed: PlacedTable = {
    ...{ name: "sent_transaction", selected: SELECTED, state: "status", states: TRANSACTION_STATUSES },
    ...{ inIndex: "place", isOwnKey: false },
  };
  const ofKey = `SELECT named.reference FROM ${sql.prefix}reference AS named
    WHERE named.hash = given.hash AND named.key_id = given.key_id`;
  const insert = sql.prepare(
    `INSERT INTO ${table} (${SELECTED}, place)
    SELECT hash, key_id, kind, source, coalesce(reference, (${ofKey})), idempotency_key, submitted_at_ms, status, ledger, place
    FROM ${sql.given(TYPES)} WHERE true ORDER BY hash, key_id ON CONFLICT (hash, key_id) DO NOTHING`,
  );
  // The submission's row is locked, so this sees every record of the hash. An outcome with a ledger is final.
  const status = `coalesce(${sql.field("sent.outcome", "status")}, 'pending')`;
  const ledger = `CAST(${sql.field("sent.outcome", "ledger")} AS bigint)`;
  const takeOutcomes = sql.prepare(
    `UPDATE ${table} AS kept SET status = ${status}, ledger = ${ledger} FROM ${submission} AS sent
    WHERE kept.hash ${sql.oneOf(`SELECT hash FROM ${sql.given("hash text")}`)} AND sent.hash = kept.hash
      AND (kept.ledger IS NULL OR ${ledger} IS NOT NULL)
      AND NOT (kept.status = ${status} AND kept.ledger IS NOT DISTINCT FROM ${ledger})`,
  );
  const lock = sql.prepare(`SELECT 1 FROM ${submission} WHERE hash = $1 ${sql.lock("UPDATE")}`);
  const find = sql.prepare<TransactionRow>(
    `SELECT ${SELECTED} FROM ${table} WHERE hash ${sql.oneOf(`SELECT hash FROM ${sql.given("hash text")}`)}`,
  );
  const all = sql.prepare<TransactionRow>(
    `SELECT ${SELECTED} FROM ${table} WHERE (submitted_at_ms, hash, key_id) > ($1, $2, $3) AND submitted_at_ms < $4
    ORDER BY submitted_at_ms, hash, key_id LIMIT $5`,
  );
  const prune = sql.prepare(
    `DELETE FROM ${table} WHERE hash ${
      sql.oneOf(`SELECT hash FROM ${table} WHERE submitted_at_ms < $1 ORDER BY submitted_at_ms LIMIT 500`)
    } AND submitted_at_ms < $1`,
  );

  function* settle(hashes: string[], added: SubmittedTransaction[]): Work<void> {
    yield* send(
      ...(added.length === 0 ? [] : [insert(added.map(rowOf))]),
      takeOutcomes(hashes.map((hash) => ({ hash }))),
    );
  }

  return {
    settle,
    methods: {
      async add(transaction) {
        const { hash } = transaction;
        await sql.transactionTogether(function* () {
          yield* together(send(lock(hash)), settle([hash], [transaction]));
        });
      },
      find: async (hashes) => (await sql.read(find(hashes.map((hash) => ({ hash }))))).map(toTransaction),
      async list({ keyId, filter, order, after, limit }) {
        const { status, fromMs, toMs } = filter;
        const subjects = TRANSACTION_SUBJECTS.flatMap((subject) => {
          const value = filter[subject];
          return value === undefined ? [] : [[subject, value] as const];
        });
        const [from, to] = [fromMs, toMs].map((ms) => ms === undefined ? undefined : placeOfTime(ms));
        const place = after && placeOf(after);
        const query = {
          owner: ["key_id", keyId] as const,
          subjects,
          state: status,
          from,
          to,
          after: place,
          order,
          limit,
        };
        return (await readPlaced<TransactionRow>(sql, listed, query)).map(toTransaction);
      },
      async all({ fromMs = 0, toMs = AFTER_ALL_MS, after, limit }) {
        const { submittedAtMs, hash, keyId } = after ?? { submittedAtMs: fromMs, hash: "", keyId: "" };
        return (await sql.read(all(submittedAtMs, hash, keyId, toMs, limit))).map(toTransaction);
      },
      prune: async (submittedBeforeMs) => (await sql.write(prune(submittedBeforeMs))).count,
    },
  };
}

function rowOf(transaction: SubmittedTransaction): TransactionRow & { place: string } {
  const { hash, keyId, kind, source, reference, idempotencyKey, submittedAtMs, status, ledger } = transaction;
  return {
    ...{ hash, key_id: keyId, kind, source, reference: reference ?? null, idempotency_key: idempotencyKey ?? null },
    ...{ submitted_at_ms: submittedAtMs, status, ledger: ledger ?? null, place: placeOf(transaction) },
  };
}

function toTransaction(row: TransactionRow): SubmittedTransaction {
  const { hash, key_id, kind, source, reference, idempotency_key, submitted_at_ms, status, ledger } = row;
  return {
    ...{ keyId: key_id, hash, kind, source, submittedAtMs: submitted_at_ms, status },
    ...(reference === null ? {} : { reference }),
    ...(idempotency_key === null ? {} : { idempotencyKey: idempotency_key }),
    ...(ledger === null ? {} : { ledger }),
  };
}

/** The time, and as much of the hash as makes two of one key differ. */
function placeOf({ submittedAtMs, hash }: TransactionPlace): string {
  return `${placeOfTime(submittedAtMs)}-${hash.slice(0, 24)}`;
}

/** Before every transaction of this time. */
function placeOfTime(ms: number): string {
  return Math.max(0, Math.ceil(ms)).toString(16).padStart(14, "0");
}
