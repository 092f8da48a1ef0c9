import { setImmediate } from "node:timers";
import type { SqliteContext } from "./store.ts";
import type { Store, Submission } from "../store.ts";

type SubmissionMethods = Pick<Store, "recordSubmission" | "getSubmission" | "pruneSubmissions">;

/** Envelopes that were sent. Those noted in one turn of the event loop share one commit, and so one wait for the disk. */
export function sqliteSubmissions(
  { database, run }: SqliteContext,
): { methods: SubmissionMethods; flush(): Promise<void> } {
  const insert = database.prepare(`
    INSERT INTO submission (hash, valid_until, submitted_at_ms) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING`);
  const select = database.prepare("SELECT hash, valid_until, submitted_at_ms FROM submission WHERE hash = ?");
  const prune = database.prepare(`
    DELETE FROM submission WHERE hash IN
      (SELECT hash FROM submission WHERE submitted_at_ms < ? ORDER BY submitted_at_ms LIMIT 500)`);
  let waiting: Submission[] = [];
  let commit: Promise<void> | undefined;

  function commitWaiting(): Promise<void> {
    const batch = waiting;
    waiting = [];
    commit = undefined;
    return run(() =>
      database.transaction(() => {
        for (const { hash, validUntil, submittedAtMs } of batch) insert.run(hash, validUntil, submittedAtMs);
      })
    );
  }

  return {
    methods: {
      recordSubmission(submission) {
        waiting.push(submission);
        commit ??= new Promise((resolve) => setImmediate(() => resolve(commitWaiting())));
        return commit;
      },
      getSubmission: (hash) =>
        run(() => {
          const row = select.get(hash);
          return row && {
            hash,
            validUntil: row.valid_until as number,
            submittedAtMs: row.submitted_at_ms as number,
          };
        }),
      pruneSubmissions: (submittedBeforeMs) => run(() => prune.run(submittedBeforeMs).changes),
    },
    /** Waits for the commit that is due. */
    flush: async () => await commit?.catch(() => {}),
  };
}
