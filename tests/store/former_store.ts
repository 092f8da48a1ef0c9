import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openSqlite } from "../../lib/runtime/sqlite.ts";

/** The schemas that programs before this one wrote. */
export type FormerSchema = 1 | 2 | 3 | 4;

/** Makes a file as a program of this schema left it: written by that program itself (`fixtures/`), plus `changes` as SQL. */
export async function makeFormerFile(path: string, schema: FormerSchema, changes = ""): Promise<void> {
  const dump = readFileSync(fileURLToPath(new URL(`fixtures/schema_${schema}.sql`, import.meta.url).href), "utf8");
  const database = await openSqlite(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(dump);
  if (changes !== "") database.exec(changes);
  database.close();
}
