import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { openSqlite } from "../../lib/runtime/sqlite.ts";

/** The schemas that programs before this one wrote. */
export type FormerSchema = 1 | 2 | 3 | 4;

/** Makes a file as a program of this schema left it: written by that program itself (`fixtures/`), plus `changes` as SQL. */
export async function makeFormerFile(path: string, schema: FormerSchema, changes = ""): Promise<void> {
  const dump = readFileSync(fixture(`schema_${schema}.sql`), "utf8");
  const database = await openSqlite(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(dump);
  if (changes !== "") database.exec(changes);
  database.close();
}

/** The same of Deno KV, whose programs wrote two schemas. */
export function makeFormerKvFile(path: string, schema: number): void {
  writeFileSync(path, gunzipSync(readFileSync(fixture(`deno_kv_schema_${schema}.kv.gz`))));
}

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url).href);
