import type { NounDriver } from "../checked_store.ts";
import type { Submission, SubmissionStore } from "../store.ts";
import { chunks, collect, commit, type DenoKvContext } from "./io.ts";

const PRUNED_AT_A_CALL = 500;
/** Two deletes each: well below the 1 000 writes of one commit. */
const PRUNED_PER_COMMIT = 250;

const submissionKey = (hash: string) => ["submission", hash];
const timeKey = (submittedAtMs: number, hash: string) => ["submission_by_time", submittedAtMs, hash];

/** Envelopes that were sent. */
export function denoKvSubmissions({ kv }: DenoKvContext): NounDriver<SubmissionStore> {
  return {
    async record({ hash, validUntil, submittedAtMs }) {
      // A check that fails means that the hash is noted already.
      await commit(
        kv.atomic().check({ key: submissionKey(hash), versionstamp: null })
          .set(submissionKey(hash), { hash, validUntil, submittedAtMs })
          .set(timeKey(submittedAtMs, hash), true),
      );
    },
    get: async (hash) => (await kv.get<Submission>(submissionKey(hash))).value ?? undefined,
    async prune(submittedBeforeMs) {
      const range = { prefix: ["submission_by_time"], end: ["submission_by_time", submittedBeforeMs] };
      const old = await collect(kv.list(range, { limit: PRUNED_AT_A_CALL, batchSize: PRUNED_AT_A_CALL }));
      for (const some of chunks(old, PRUNED_PER_COMMIT)) {
        const atomic = kv.atomic();
        for (const { key } of some) atomic.delete(key).delete(submissionKey(key[2] as string));
        await commit(atomic);
      }
      return old.length;
    },
  };
}
