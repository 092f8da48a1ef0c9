import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openSqlite, SQLITE, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { copySqlite, linkTarget } from "./copy.ts";
import { refuseLeftoverLog, removeStaleFiles } from "./stale_files.ts";
import { toStoreError } from "../sqlite/errors.ts";
import { isOurs } from "../sqlite/schema.ts";
import { StoreError } from "../store_error.ts";

export interface Backup {
  /** The copied store, as in `Store.location`. */
  location: string;
  /** Absolute path of the copy, behind symbolic links. */
  path: string;
  bytes: number;
}

/** How long the copy waits for a moment to read. Only a change of the schema, or a foreign program, locks readers out. */
const BUSY_TIMEOUT_MS = 10_000;

/** A killed process left a copy that has not changed for this long. Its check takes minutes. */
const LEFT_MS = 3_600_000;

/** Why these stores cannot be copied into a file, and how to back them up. */
const ELSEWHERE: Record<string, string> = {
  "memory:": "the store memory: ends with its process, so there is nothing to back up",
  "deno-kv:": "the store deno-kv: without a path is the platform's own database. Back it up there",
};

/**
 * Copies a store of one file (`sqlite:PATH` or `deno-kv:PATH`, which is an SQLite file too) to a new file. The copy is
 * consistent as of one moment, while a gateway serves from the store. To restore, start the gateway on the copy.
 *
 * @throws {StoreError} `unavailable` without such a store, for another program's file or a store without one, and when the
 * new file exists or cannot be written. `full`, `locked`
 */
export async function backUpStore(setting: string, target: string): Promise<Backup> {
  if (ELSEWHERE[setting] !== undefined) throw new StoreError("unavailable", ELSEWHERE[setting]);
  if (/^postgres(ql)?:/.test(setting)) {
    throw new StoreError(
      "unavailable",
      "a store in PostgreSQL has its own backup: use pg_dump",
    );
  }
  const [, scheme, sourcePath] = /^(sqlite|deno-kv):(.+)$/s.exec(setting) ?? [];
  if (scheme === undefined) {
    throw new StoreError("unavailable", "the store must be in a file: sqlite:PATH or deno-kv:PATH");
  }
  const source = resolve(sourcePath!);
  const location = `${scheme}:${source}`;
  // Behind a link like /dev/stdout may be a pipe, whose name is no path.
  refuseDevice(resolve(target));
  const path = await linkTarget(resolve(target));
  const found = statSync(source, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError("unavailable", `${location}: there is no such file`);
  if (found.isDirectory()) throw new StoreError("unavailable", `${location}: this is a directory. Name a file in it`);
  checkTarget(path);
  removeLeft(path);
  let database: SqliteDatabase | undefined;
  try {
    // Not read-only, although this writes nothing: a read-only handle would leave a -wal and a -shm file of this user.
    database = await openSqlite(source);
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (!(scheme === "sqlite" ? isOurs(database) : isDenoKv(database))) {
      throw new StoreError("unavailable", `${location} is not a store of this program: name another`);
    }
    return { location, path, bytes: await copySqlite(database, path) };
  } catch (error) {
    throw failure(error, location, path);
  } finally {
    database?.close();
  }
}

function refuseDevice(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new StoreError("unavailable", `${path} is a device or a pipe: name a new file, and read it afterwards`);
}

function checkTarget(path: string): void {
  if (existsSync(path)) throw alreadyThere(path);
  const directory = dirname(path);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError("unavailable", `there is no directory ${directory}: create it, or name another path`);
  }
  refuseLeftoverLog(path, path);
}

/** Removes the remains of a former backup to the same name, where possible. They may fill the disk. */
function removeLeft(path: string): void {
  try {
    removeStaleFiles(path, "part", LEFT_MS);
  } catch {
    // The folder may not be readable, or the file may be another user's. It stays.
  }
}

function isDenoKv(database: SqliteDatabase): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kv'").get() !== undefined;
}

/**
 * An error of reading is the store's. An error of writing is the copy's: it has a code of the file system, or the disk is
 * full.
 */
function failure(error: unknown, location: string, path: string): unknown {
  const { code } = error as { code?: unknown };
  if (code === "ENOSPC" || code === SQLITE.full) {
    return new StoreError("full", `${path}: the disk is full. Make room on it`, { cause: error });
  }
  if (typeof code !== "string") return toStoreError(error, location);
  if (code === "EEXIST") return alreadyThere(path);
  return new StoreError("unavailable", `${path} cannot be written (${code}): check owner and mode of its directory`, {
    cause: error,
  });
}

function alreadyThere(path: string): StoreError {
  return new StoreError("unavailable", `${path} exists already: name a file that does not`);
}
