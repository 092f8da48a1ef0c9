import { resolve } from "node:path";
import type { RawSqlite, Row, SqliteStatement, SqliteValue } from "./sqlite_raw.ts";

export type { SqliteStatement, SqliteValue } from "./sqlite_raw.ts";

/** A SQLite database with the same behaviour on both runtimes. Synchronous; its errors are `SqliteError`s. */
export interface SqliteDatabase {
  /** Runs one or several statements without parameters. */
  exec(sql: string): void;
  prepare<R = Row>(sql: string): SqliteStatement<R>;
  /**
   * Runs `fn` in a write transaction (BEGIN IMMEDIATE). Commits when it returns, rolls back and rethrows when it
   * throws. Refuses to nest, and refuses a function that returns a promise, which would commit before its work is done.
   */
  transaction<T>(fn: () => T): T;
  /** Copies the database to an empty file, as of one moment, while other processes write to it. */
  copyTo(path: string): Promise<void>;
  /**
   * Finalizes the statements and closes, so that file locks are released when it returns. A second call does nothing.
   */
  close(): void;
}

export interface SqliteOptions {
  /** Default false. If true, the file must exist. */
  readOnly?: boolean;
}

/** An error that SQLite reported. */
export class SqliteError extends Error {
  /** @param code SQLite's primary result code (https://sqlite.org/rescode.html); undefined when the runtime hid it. */
  constructor(message: string, readonly code: number | undefined, cause: unknown) {
    super(message, { cause });
    this.name = "SqliteError";
  }
}

/** Primary result codes that callers use. */
export const SQLITE = {
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  notADatabase: 26,
} as const;

/** node:sqlite has no code for errors of opening and of `exec`, but SQLite's texts are fixed. */
const CODE_OF_MESSAGE: [RegExp, number][] = [
  [/database (table |schema )?is locked/, SQLITE.busy],
  [/readonly database/, SQLITE.readOnly],
  [/disk I\/O error/, SQLITE.ioError],
  [/malformed/, SQLITE.corrupt],
  [/disk is full/, SQLITE.full],
  [/unable to open/, SQLITE.cannotOpen],
  [/not a database/, SQLITE.notADatabase],
];

/**
 * Opens a database file, creating it when it is missing, or `:memory:`.
 * @param path relative to the working directory, or absolute; never read as a URI
 */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<SqliteDatabase> {
  const driver = typeof Bun !== "undefined" ? await import("./sqlite_bun.ts") : await import("./sqlite_deno.ts");
  const file = path === ":memory:" ? path : resolve(path);
  return databaseOf(attempt(() => driver.openRaw(file, options.readOnly ?? false)));
}

function databaseOf(raw: RawSqlite): SqliteDatabase {
  const prepare = <R>(sql: string): SqliteStatement<R> => {
    const statement = attempt(() => raw.prepare(sql)) as SqliteStatement<R>;
    return {
      run: (...params) => attempt(() => statement.run(...checked(params))),
      get: (...params) => attempt(() => statement.get(...checked(params))),
      all: (...params) => attempt(() => statement.all(...checked(params))),
    };
  };
  // Prepared, because node:sqlite hides the result code of what `exec` runs.
  const begin = prepare("BEGIN IMMEDIATE");
  const commit = prepare("COMMIT");
  const rollback = prepare("ROLLBACK");
  let inTransaction = false;
  let closed = false;

  return {
    exec: (sql) => attempt(() => raw.exec(sql)),
    prepare,
    transaction(fn) {
      if (inTransaction) throw new Error("a transaction is open already; transactions do not nest");
      begin.run();
      inTransaction = true;
      try {
        const result = fn();
        if (result instanceof Promise) throw new TypeError("a transaction's function must be synchronous");
        commit.run();
        return result;
      } catch (error) {
        rollBackAfter(error, () => rollback.run());
        throw error;
      } finally {
        inTransaction = false;
      }
    },
    copyTo: (path) =>
      raw.copyTo(path).catch((error) =>
        attempt(() => {
          throw error;
        })
      ),
    close() {
      if (closed) return;
      closed = true;
      attempt(() => raw.close());
    },
  };
}

/** After some errors (disk full, I/O) SQLite has rolled back itself, and there is no transaction. */
function rollBackAfter(error: unknown, rollback: () => void): void {
  try {
    rollback();
  } catch (rollbackError) {
    if (!/no transaction is active/.test(String(rollbackError))) {
      throw new AggregateError([error, rollbackError], "rolling back failed, the database cannot be used further");
    }
  }
}

function checked(params: SqliteValue[]): SqliteValue[] {
  for (const param of params) {
    if (typeof param === "string" && param.includes("\0")) throw new TypeError("cannot bind text with a NUL character");
  }
  return params;
}

/** Runs one call of the runtime's module and converts SQLite's errors to `SqliteError`. */
function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error;
    throw new SqliteError(error.message, primaryCode(error), error);
  }
}

function primaryCode(error: Error & { errno?: unknown; errcode?: unknown }): number | undefined {
  const extended = error.errno ?? error.errcode;
  if (typeof extended === "number") return extended & 0xff;
  return CODE_OF_MESSAGE.find(([text]) => text.test(error.message))?.[1];
}
