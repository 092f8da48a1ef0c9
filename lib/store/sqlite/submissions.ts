import { setImmediate as othersTurn } from "node:timers/promises";
import type { NounDriver } from "../checked_store.ts";
import type { Submission, SubmissionStore } from "../store.ts";
import type { SqliteContext } from "./store.ts";

/** Envelopes that were sent. Those noted in one turn of the event loop share one commit, and so one wait for the disk. */
export function sqliteSubmissions({ database }: SqliteContext): NounDriver<SubmissionStore> {
  const insert = database.prepare(`
    INSERT INTO submission (hash, valid_until, submitted_at_ms) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING`);
  const select = database.prepare<Submission>(`
    SELECT hash, valid_until AS validUntil, submitted_at_ms AS submittedAtMs FROM submission WHERE hash = ?`);
  const prune = database.prepare(`
    DELETE FROM submission WHERE hash IN
      (SELECT hash FROM submission WHERE submitted_at_ms < ? ORDER BY submitted_at_ms LIMIT 500)`);
  let waiting: Submission[] = [];
  let commit: Promise<void> | undefined;

  async function commitWaiting(): Promise<void> {
    await othersTurn();
    const batch = waiting;
    waiting = [];
    commit = undefined;
    database.transaction(() => {
      for (const { hash, validUntil, submittedAtMs } of batch) insert.run(hash, validUntil, submittedAtMs);
    });
  }

  return {
    record(submission) {
      waiting.push(submission);
      return commit ??= commitWaiting();
    },
    get: (hash) => select.get(hash),
    prune: (submittedBeforeMs) => prune.run(submittedBeforeMs).changes,
  };
}
