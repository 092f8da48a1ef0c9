import type { DenoKvContext } from "./store.ts";
import { commit } from "./io.ts";
import type { Store, Submission } from "../store.ts";

type SubmissionMethods = Pick<Store, "recordSubmission" | "getSubmission" | "pruneSubmissions">;

/** Two deletes each: well below the 1 000 writes of one commit. */
const PRUNED_PER_COMMIT = 250;

const submissionKey = (hash: string) => ["submission", hash];

/** Envelopes that were sent. */
export function denoKvSubmissions({ kv, run }: DenoKvContext): SubmissionMethods {
  return {
    recordSubmission: ({ hash, validUntil, submittedAtMs }) =>
      run(async () => {
        // A check that fails means that the hash is noted already.
        await commit(
          kv.atomic().check({ key: submissionKey(hash), versionstamp: null })
            .set(submissionKey(hash), { hash, validUntil, submittedAtMs })
            .set(["submission_by_time", submittedAtMs, hash], true),
        );
      }),
    getSubmission: (hash) => run(async () => (await kv.get<Submission>(submissionKey(hash))).value ?? undefined),
    pruneSubmissions: (submittedBeforeMs) =>
      run(async () => {
        let atomic = kv.atomic();
        let count = 0;
        const old = { prefix: ["submission_by_time"], end: ["submission_by_time", submittedBeforeMs] };
        for await (const { key } of kv.list(old, { limit: 500 })) {
          atomic.delete(key).delete(submissionKey(key[2] as string));
          count += 1;
          if (count % PRUNED_PER_COMMIT > 0) continue;
          await commit(atomic);
          atomic = kv.atomic();
        }
        await commit(atomic);
        return count;
      }),
  };
}
