import { backup, DatabaseSync } from "node:sqlite";
import type { RawSqlite, Row } from "./sqlite_raw.ts";

/** More than a file has: a copy in one step is of one moment. */
const ALL_PAGES = 2 ** 31 - 1;

/** Loaded on Deno only, by `sqlite.ts`. */
export function openRaw(path: string, readOnly: boolean): RawSqlite {
  const database = new DatabaseSync(path, { readOnly });

  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        run: (...params) => ({ changes: Number(statement.run(...params).changes) }),
        // node:sqlite's rows have no prototype; Bun's are plain objects.
        get: (...params) => {
          const row = statement.get(...params);
          return row === undefined ? undefined : { ...row } as Row;
        },
        all: (...params) => statement.all(...params).map((row) => ({ ...row }) as Row),
      };
    },
    async copyTo(path) {
      // Deno forbids `VACUUM INTO` where it may write to named folders only.
      await backup(database, path, { rate: ALL_PAGES });
      const copy = new DatabaseSync(path);
      try {
        // The copy of a database with a write-ahead log would be two files.
        copy.exec("PRAGMA journal_mode = DELETE");
      } finally {
        copy.close();
      }
    },
    close: () => database.close(),
  };
}
