import { type Kv, openKv } from "../../runtime/kv.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import { toStoreError } from "./errors.ts";
import { commit } from "./io.ts";
import { migrateWithCopy } from "../file/migration_copy.ts";
import { copySqlite } from "../file/copy.ts";
import { toStoreError as fromSqlite } from "../sqlite/errors.ts";
import { StoreError } from "../store.ts";
import { createEmpty, diskFull, missingStore, type OpenOptions, removeDatabase } from "../file/store_file.ts";

/** 1: without webhooks, which only added keys. An older program would not delete a key's subscriptions with it. */
export const SCHEMA_VERSION = 2;
const SCHEMA = ["schema"];

/**
 * Makes a store in a file where there is nothing yet. It is a copy of the one that Deno KV made: Deno KV does not say when
 * it has let go of a file.
 *
 * @throws StoreError `unavailable`, `full`
 */
export async function makeKvFile(path: string, location: string): Promise<void> {
  const scratch = `${path}.kv`;
  try {
    createEmpty(scratch, location);
    (await openClaimed(scratch, location, {})).close();
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
export async function openClaimed(file: string | undefined, location: string, options: OpenOptions): Promise<Kv> {
  let kv: Kv | undefined;
  try {
    kv = await openKv(file);
    await claim(kv, file, location, options);
    return kv;
  } catch (error) {
    kv?.close();
    throw toStoreError(error, location);
  }
}

/** Writes the schema version into an empty database; refuses one that is not ours or that a newer program wrote. */
async function claim(kv: Kv, file: string | undefined, location: string, options: OpenOptions): Promise<void> {
  const entry = await kv.get<number>(SCHEMA);
  if (entry.value === null && await holdsAtMost(kv, 0)) {
    if (options.mustExist) throw missingStore(location);
    await commit(kv.atomic().check(entry).set(SCHEMA, SCHEMA_VERSION));
  }
  // Read again: ours, or that of a process that was quicker.
  const version = entry.value ?? (await kv.get<number>(SCHEMA)).value;
  if (version === null) {
    throw new StoreError("unavailable", `${location} holds the data of another program: name another database`);
  }
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      "newer_schema",
      `${location} was written by a newer version of this program (schema ${version}, this one knows up to ` +
        `${SCHEMA_VERSION}): run that version, or restore a backup made before`,
    );
  }
  if (entry.value === null || entry.value === SCHEMA_VERSION) return;
  // Of several who do this at once one succeeds, and nothing else is to be done.
  const change = async () => void await commit(kv.atomic().check(entry).set(SCHEMA, SCHEMA_VERSION));
  if (file === undefined || await holdsAtMost(kv, 1)) return await change();
  await migrateKvFile(file, location, { from: entry.value, onNotice: options.onNotice }, change);
}

/** The file is one of SQLite, and is copied as one. */
async function migrateKvFile(
  file: string,
  location: string,
  { from, onNotice }: { from: number } & Pick<OpenOptions, "onNotice">,
  change: () => Promise<void>,
): Promise<void> {
  const database = await openSqlite(file, { readOnly: true });
  try {
    await migrateWithCopy({ database, file, location, from, to: SCHEMA_VERSION, onNotice }, change);
  } finally {
    database.close();
  }
}

/** Whether there are no more entries than that in a database. */
export async function holdsAtMost(kv: Kv, entries: number): Promise<boolean> {
  let found = 0;
  for await (const _ of kv.list({ prefix: [] }, { limit: entries + 1 })) found++;
  return found <= entries;
}
