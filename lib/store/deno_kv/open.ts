import { type Kv, openKv } from "../../runtime/kv.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import { copySqlite } from "../file/copy.ts";
import { diskFull } from "../file/errors.ts";
import { createEmpty, holdStoreFile, missingStore, type OpenOptions, removeDatabase } from "../file/store_file.ts";
import { toStoreError as fromSqlite } from "../sqlite/errors.ts";
import { StoreError } from "../store.ts";
import { toStoreError } from "./errors.ts";
import { commit, holdsAtMost } from "./io.ts";
import { newerSchema, schemaChanged } from "../schema_version.ts";
import { type DenoKvStep, newStoreId, SCHEMA, STORE_ID } from "./schema.ts";

/**
 * Makes a store in a file where there is nothing yet. It is a copy of the one that Deno KV made: Deno KV does not say when
 * it has let go of a file.
 *
 * @throws StoreError `unavailable`, `full`
 */
export async function makeKvFile(path: string, location: string, steps: DenoKvStep[]): Promise<void> {
  const scratch = `${path}.kv`;
  try {
    createEmpty(scratch, location);
    (await openClaimed(scratch, location, {}, steps)).close();
    const database = await openSqlite(scratch, { readOnly: true });
    try {
      await copySqlite(database, path);
    } finally {
      database.close();
    }
  } catch (error) {
    throw (error as { code?: unknown }).code === "ENOSPC" ? diskFull(location, error) : fromSqlite(error, location);
  } finally {
    removeDatabase(scratch);
  }
}

/**
 * Deno KV would add its tables to any SQLite file, ours included: such a file is refused while it is untouched.
 * @throws StoreError `unavailable`, `locked`
 */
export async function checkKvFile(file: string, location: string): Promise<void> {
  try {
    const database = await openSqlite(file);
    try {
      database.exec("PRAGMA busy_timeout = 1000");
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      if (tables.length === 0 || tables.some(({ name }) => name === "kv")) return;
    } finally {
      database.close();
    }
  } catch (error) {
    throw fromSqlite(error, location);
  }
  throw new StoreError("unavailable", `${location} is a SQLite database, not one of Deno KV: name another file`);
}

/**
 * Opens a database, the platform's own when no file is named, and makes sure that it is ours and of the newest schema.
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
export async function openClaimed(
  file: string | undefined,
  location: string,
  options: OpenOptions,
  steps: DenoKvStep[],
): Promise<Kv> {
  let kv: Kv | undefined;
  try {
    kv = await openKv(file);
    const [from, to] = [await claim(kv, location, options, steps.length + 1), steps.length + 1];
    if (from < to) {
      // Nothing is changed under a gateway that serves from it.
      const hold = file === undefined ? undefined : await holdStoreFile(file, location);
      try {
        for (const [n, step] of [...steps.entries()].slice(from - 1)) {
          await step(kv);
          await commit(kv.atomic().set(SCHEMA, n + 2));
        }
      } finally {
        hold?.release();
      }
      options.onNotice?.(schemaChanged(location, from, to));
    }
    return kv;
  } catch (error) {
    kv?.close();
    throw toStoreError(error, location);
  }
}

/** Makes an empty database ours, answers its schema; refuses one that is not ours, or that a newer program wrote. */
async function claim(
  kv: Kv,
  location: string,
  { mustExist = false }: OpenOptions,
  newest: number,
): Promise<number> {
  const entry = await kv.get<number>(SCHEMA);
  if (entry.value === null && await holdsAtMost(kv, 0)) {
    if (mustExist) throw missingStore(location);
    await commit(kv.atomic().check(entry).set(SCHEMA, newest).set(STORE_ID, newStoreId()));
  }
  // Read again: ours, or that of a process that was quicker.
  const version = entry.value ?? (await kv.get<number>(SCHEMA)).value;
  if (version === null) {
    throw new StoreError("unavailable", `${location} holds the data of another program: name another database`);
  }
  if (version > newest) throw newerSchema(location, version, newest);
  return version;
}
