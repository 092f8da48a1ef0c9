import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { SqliteDatabase, SqliteValue } from "../../runtime/sqlite.ts";
import type { CommitTogether, SqliteSql } from "./sql.ts";

/** What each noun of this driver is given. */
export interface SqliteContext {
  database: SqliteDatabase;
  sql: SqliteSql;
  location: string;
  /** Tells this handle from every other on the same file. */
  handle: string;
  /** The store's clock, Unix milliseconds. */
  now(): number;
  /** Whether this handle holds the store for serving. */
  isHeld(): boolean;
  commitTogether: CommitTogether;
}

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

/** What is bound for the columns of a row, in their order. */
export function rowValues(row: object): SqliteValue[] {
  return Object.values(row).map((value) => typeof value === "boolean" ? Number(value) : value);
}
