import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";

/** Does this in the commit that ends this turn of the event loop; must not throw but for a fault of the database. */
export type CommitTogether = <T>(work: () => T) => Promise<T>;

/** Writes made in one turn of the event loop share one commit, and so one wait for the disk. */
export function createCommitTogether(database: SqliteDatabase): CommitTogether {
  let waiting: (() => unknown)[] = [];
  let commit: Promise<unknown[]> | undefined;

  async function commitWaiting(): Promise<unknown[]> {
    await yieldToOthers();
    const batch = waiting;
    waiting = [];
    commit = undefined;
    return database.transaction(() => batch.map((work) => work()));
  }

  return async function commitTogether<T>(work: () => T): Promise<T> {
    const place = waiting.push(work) - 1;
    commit ??= commitWaiting();
    return (await commit)[place] as T;
  };
}
