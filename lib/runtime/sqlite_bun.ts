import { Database, type Statement } from "bun:sqlite";
import type { RawSqlite, Row, SqliteValue } from "./sqlite_raw.ts";

/** Loaded on Bun only, by `sqlite.ts`. */
export function openRaw(path: string, readOnly: boolean): RawSqlite {
  const database = new Database(path, readOnly ? { readonly: true } : { readwrite: true, create: true });
  // Bun keeps a closed database and its file locks until the last statement is finalized.
  const statements: Statement<Row, SqliteValue[]>[] = [];

  return {
    exec: (sql) => void database.run(sql),
    prepare(sql) {
      const statement = database.prepare<Row, SqliteValue[]>(sql);
      statements.push(statement);
      return {
        run: (...params) => ({ changes: statement.run(...params).changes }),
        get: (...params) => statement.get(...params) ?? undefined,
        all: (...params) => statement.all(...params),
      };
    },
    copyTo: (path) => new Promise((resolve) => resolve(void database.run("VACUUM INTO ?", [path]))),
    close() {
      for (const statement of statements) statement.finalize();
      database.close(true);
    },
  };
}
