import type { KvAtomic } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { Submission, SubmissionStore } from "../submission.ts";
import { chunks, collect, commit, type DenoKvContext, getAll, next, pageAfter, present } from "./database.ts";
import { submissionKey, submissionTimeKey, WITHOUT_OUTCOME, withoutOutcomeOf } from "./schema.ts";
import { newRow, setOutcomes, setRow, withOutcome } from "./transactions.ts";

const PRUNED_AT_A_CALL = 500;
/** Four deletes each: far below the 1 000 writes of one commit. */
const PRUNED_PER_COMMIT = 200;

/** Sent envelopes. */
export function denoKvSubmissions({ kv, retry }: DenoKvContext): NounDriver<SubmissionStore> {
  function unlist(atomic: KvAtomic, { hash, source }: Submission): KvAtomic {
    if (source === undefined) return atomic;
    return atomic.delete([...WITHOUT_OUTCOME, hash]).delete([...withoutOutcomeOf(source), hash]);
  }

  return {
    record: (submission, transaction) =>
      retry(async () => {
        const entry = await kv.get<Submission>(submissionKey(submission.hash));
        const { outcome, ...before } = entry.value ?? {};
        const stays = entry.value !== null && (outcome === undefined || outcome.ledger !== undefined);
        const row = transaction && await newRow(kv, { ...transaction, status: "pending" });
        if (stays && row === undefined) return { done: undefined };
        const note: Submission = stays
          ? entry.value!
          : entry.value === null
          ? present(submission)
          : before as Submission;
        const atomic = kv.atomic().check(entry).set(entry.key, note);
        if (!stays) {
          atomic.set(submissionTimeKey(note.submittedAtMs, note.hash), true);
          listWithoutOutcome(atomic, note);
          if (!await setOutcomes(kv, atomic, entry, undefined)) return undefined;
        }
        if (row !== undefined) setRow(atomic, withOutcome(row, note.outcome));
        return await commit(atomic) ? { done: undefined } : undefined;
      }),
    recordOutcome: (hash, outcome) =>
      retry(async () => {
        const entry = await kv.get<Submission>(submissionKey(hash));
        const before = entry.value;
        if (before === null) return { done: undefined };
        if (before.outcome?.ledger !== undefined && outcome.ledger === undefined) return { done: undefined };
        const atomic = kv.atomic().check(entry).set(entry.key, { ...before, outcome: present(outcome) });
        if (!await setOutcomes(kv, atomic, entry, outcome)) return undefined;
        return await commit(unlist(atomic, before)) ? { done: undefined } : undefined;
      }),
    get: async (hash) => (await kv.get<Submission>(submissionKey(hash))).value ?? undefined,
    withoutOutcome: ({ source, after, limit }) =>
      retry(async () => {
        const prefix = source === undefined ? WITHOUT_OUTCOME : withoutOutcomeOf(source);
        const range = after === undefined ? { prefix } : { prefix, start: [...prefix, next(after)] };
        const listed = await collect(kv.list(range, { limit, batchSize: Math.min(limit, 500) }));
        const entries = await getAll<Submission>(kv, listed.map(({ key }) => submissionKey(key.at(-1) as string)));
        const found = entries.flatMap(({ value }) => value === null || value.outcome !== undefined ? [] : [value]);
        // A submission that ended just now is missing, and the page would look like the last one. So the read repeats.
        return found.length === listed.length ? { done: found } : undefined;
      }),
    list: async ({ after, limit }) =>
      (await pageAfter<Submission>(kv, ["submission"], after === undefined ? [] : [after], limit))
        .map(({ value }) => value),
    async prune(submittedBeforeMs) {
      const range = { prefix: ["submission_by_time"], end: ["submission_by_time", submittedBeforeMs] };
      const old = await collect(kv.list(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
      for (const some of chunks(old, PRUNED_PER_COMMIT)) {
        const notes = await getAll<Submission>(kv, some.map(({ key }) => submissionKey(key[2] as string)));
        const atomic = kv.atomic();
        some.forEach(({ key }, index) => {
          const note = notes[index]!;
          atomic.delete(key).delete(note.key);
          if (note.value !== null) unlist(atomic, note.value);
        });
        await commit(atomic);
      }
      return old.length;
    },
  };
}

/** A submission without a source is in no list. */
function listWithoutOutcome(atomic: KvAtomic, { hash, source }: Submission): void {
  if (source === undefined) return;
  atomic.set([...WITHOUT_OUTCOME, hash], true).set([...withoutOutcomeOf(source), hash], true);
}
