import { DatabaseSync } from "node:sqlite";
import type { RawSqlite, Row } from "./sqlite_raw.ts";

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
    close: () => database.close(),
  };
}
