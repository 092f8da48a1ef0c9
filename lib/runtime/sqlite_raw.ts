/** What can be bound. Text with a NUL character is refused: node:sqlite would cut it there. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** One row, by column name. Integers are numbers, blobs `Uint8Array`; integers beyond ±(2^53−1) must not be stored. */
export type Row = Record<string, null | number | string | Uint8Array>;

/**
 * A prepared statement with positional parameters. It lives as long as its database: prepare once and keep it. What its
 * rows hold is the caller's word: that of the statement's text, and of the types of its columns.
 */
export interface SqliteStatement<R = Row> {
  /** Runs it and answers how many rows it changed. */
  run(...params: SqliteValue[]): { changes: number };
  /** The first row, undefined when there is none. */
  get(...params: SqliteValue[]): R | undefined;
  /** All rows. */
  all(...params: SqliteValue[]): R[];
}

/** What the two runtimes' own modules are brought down to: no shared behaviour in there. */
export interface RawSqlite {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}
