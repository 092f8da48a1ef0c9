import type { Kv, KvAtomic, KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { GivenReference } from "../reference.ts";
import type { Submission, SubmissionOutcome } from "../submission.ts";
import {
  matchesTransaction,
  type SubmittedTransaction,
  TRANSACTION_STATUSES,
  TRANSACTION_SUBJECTS,
  type TransactionStore,
  type TransactionSubject,
} from "../transaction.ts";
import { chunks, collect, commit, type DenoKvContext, getAll, present } from "./database.ts";
import { rarest, readPlaced } from "./placed_list.ts";
import {
  referenceKey,
  submissionKey,
  TRANSACTION,
  TRANSACTION_BY_TIME,
  transactionIndex,
  transactionKey,
  transactionSubjectIndex,
  transactionTimeKey,
} from "./schema.ts";

const PRUNED_AT_A_CALL = 500;
/** Ten writes each: below the 1 000 writes and the 80 KiB of keys of one commit. */
const ROWS_PER_COMMIT = 40;

/** Transactions by the key that submitted them. Each change of one also writes its submission, so a check of that covers them all. */
export function denoKvTransactions({ kv, retry }: DenoKvContext): NounDriver<TransactionStore> {
  const ofHash = (hash: string) => transactionsOf(kv, hash);

  return {
    add: (transaction) =>
      retry(async () => {
        const entry = await kv.get<Submission>(submissionKey(transaction.hash));
        const row = await newRow(kv, transaction);
        if (row === undefined) return { done: undefined };
        const atomic = kv.atomic().check(entry);
        if (entry.value !== null) atomic.set(entry.key, entry.value);
        setRow(atomic, entry.value === null ? row : withOutcome(row, entry.value.outcome));
        return await commit(atomic) ? { done: undefined } : undefined;
      }),
    find: async (hashes) => (await Promise.all(hashes.map(ofHash))).flat(),
    async list({ keyId, filter, order, after, limit }) {
      const named = TRANSACTION_SUBJECTS.filter((subject) => filter[subject] !== undefined);
      const indexOf = (subject: TransactionSubject) => transactionSubjectIndex(keyId, subject, filter[subject]!);
      const subject = await rarest(kv, named, indexOf);
      const indexes = (filter.status === undefined ? TRANSACTION_STATUSES : [filter.status])
        .map((status) => subject === undefined ? transactionIndex(keyId, status) : [...indexOf(subject), status]);
      const place = after && [after.submittedAtMs, after.hash];
      const query = { indexes, from: filter.fromMs, to: filter.toMs, after: place, order, limit };
      return await readPlaced<SubmittedTransaction>(
        kv,
        query,
        ([, hash]) => transactionKey({ hash: hash as string, keyId }),
        (row) => matchesTransaction(filter, row),
      );
    },
    all: async ({ fromMs, toMs, after, limit }) =>
      await readPlaced<SubmittedTransaction>(
        kv,
        {
          ...{ indexes: [TRANSACTION_BY_TIME], from: fromMs, to: toMs, order: "asc", limit },
          after: after && [after.submittedAtMs, after.hash, after.keyId],
        },
        ([, hash, keyId]) => transactionKey({ hash: hash as string, keyId: keyId as string }),
        () => true,
      ),
    async prune(submittedBeforeMs) {
      const range = { prefix: TRANSACTION_BY_TIME, end: [...TRANSACTION_BY_TIME, submittedBeforeMs] };
      const old = await collect(kv.list(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
      for (const some of chunks(old, ROWS_PER_COMMIT)) {
        const keys = some.map(({ key: [, , hash, keyId] }) => [...TRANSACTION, hash!, keyId!]);
        const atomic = kv.atomic();
        for (const { key } of some) atomic.delete(key);
        for (const { key, value } of await getAll<SubmittedTransaction>(kv, keys)) {
          atomic.delete(key);
          if (value !== null) { for (const index of indexKeys(value)) atomic.delete(index); }
        }
        await commit(atomic);
      }
      return old.length;
    },
  };
}

async function transactionsOf(kv: Kv, hash: string): Promise<SubmittedTransaction[]> {
  return (await collect(kv.list<SubmittedTransaction>({ prefix: [...TRANSACTION, hash] }))).map(({ value }) => value);
}

/** The row of a new record, with the key's reference. Undefined when the key has one of this hash. */
export async function newRow(
  kv: Kv,
  transaction: SubmittedTransaction,
): Promise<SubmittedTransaction | undefined> {
  const [kept, given] = await kv.getMany<[SubmittedTransaction, GivenReference]>([
    transactionKey(transaction),
    referenceKey(transaction),
  ]);
  if (kept.value !== null) return undefined;
  return present({ ...transaction, reference: transaction.reference ?? given.value?.reference });
}

/** Writes a row and its index entries. */
export function setRow(atomic: KvAtomic, row: SubmittedTransaction): void {
  atomic.set(transactionKey(row), row).set(transactionTimeKey(row), true);
  for (const key of indexKeys(row)) atomic.set(key, true);
}

/**
 * Gives all rows of a submission an outcome. The commit of the caller takes the last of them, earlier commits the others. False
 * when the submission has changed.
 */
export async function setOutcomes(
  kv: Kv,
  atomic: KvAtomic,
  entry: KvEntryMaybe<Submission>,
  outcome: SubmissionOutcome | undefined,
): Promise<boolean> {
  const rows = await transactionsOf(kv, entry.key[1] as string);
  const isMoved = (row: SubmittedTransaction) => {
    const { status, ledger } = withOutcome(row, outcome);
    return status !== row.status || ledger !== row.ledger;
  };
  const moved = chunks(rows.filter(isMoved), ROWS_PER_COMMIT);
  for (const [at, some] of moved.entries()) {
    const isLast = at === moved.length - 1;
    const one = isLast ? atomic : kv.atomic().check(entry);
    for (const row of some) {
      for (const key of indexKeys(row)) one.delete(key);
      setRow(one, withOutcome(row, outcome));
    }
    if (!isLast && !await commit(one)) return false;
  }
  return true;
}

/** The row with the outcome of its submission. An outcome with a ledger is final. */
export function withOutcome(row: SubmittedTransaction, outcome: SubmissionOutcome | undefined): SubmittedTransaction {
  if (row.ledger !== undefined && outcome?.ledger === undefined) return row;
  return present({ ...row, status: outcome?.status ?? "pending", ledger: outcome?.ledger });
}

/** The index entries of a row in its status: at most four keys. */
function indexKeys(row: SubmittedTransaction): KvKey[] {
  const { keyId, status, submittedAtMs, hash } = row;
  const bySubject = TRANSACTION_SUBJECTS.flatMap((subject) => {
    const value = row[subject];
    return value === undefined ? [] : [[...transactionSubjectIndex(keyId, subject, value), status]];
  });
  return [transactionIndex(keyId, status), ...bySubject].map((prefix) => [...prefix, submittedAtMs, hash]);
}
