/** A parameter. Text with a NUL character is refused, because node:sqlite would cut it there. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** One row, by column name. Integers are numbers, blobs `Uint8Array`; integers beyond ±(2^53−1) must not be stored. */
export type Row = Record<string, null | number | string | Uint8Array>;

/**
 * A prepared statement with positional parameters. It lives as long as its database, so prepare it once. The caller
 * states the type of its rows, which must fit the statement.
 */
export interface SqliteStatement<R = Row> {
  /** Runs it and returns how many rows it changed. */
  run(...params: SqliteValue[]): { changes: number };
  /** The first row, undefined when there is none. */
  get(...params: SqliteValue[]): R | undefined;
  /** All rows. */
  all(...params: SqliteValue[]): R[];
}

/** The common part of the runtimes' modules, without behaviour of its own. */
export interface RawSqlite {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  copyTo(path: string): Promise<void>;
  close(): void;
}
