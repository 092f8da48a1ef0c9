import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { SqliteDatabase, SqliteValue } from "../../runtime/sqlite.ts";
import type { CommitTogether, SqliteSql } from "./sql.ts";

/** The context of each noun of this driver. */
export interface SqliteContext {
  database: SqliteDatabase;
  sql: SqliteSql;
  location: string;
  /** The store's clock, Unix milliseconds. */
  now(): number;
  /** Whether this handle holds the store for serving. */
  isHeld(): boolean;
  commitTogether: CommitTogether;
}

/** Lets the writes of one turn of the event loop share one commit, and so one wait for the disk. */
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

/** The values of a row's columns, in their order. */
export function rowValues(row: object): SqliteValue[] {
  return Object.values(row).map((value) => typeof value === "boolean" ? Number(value) : value);
}
