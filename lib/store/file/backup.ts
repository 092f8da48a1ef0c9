import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openSqlite, SQLITE, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { copySqlite, linkTarget } from "./copy.ts";
import { refuseLeftoverLog, removeStaleFiles } from "./stale_files.ts";
import { toStoreError } from "../sqlite/errors.ts";
import { isOurs } from "../sqlite/schema.ts";
import { StoreError } from "../store_error.ts";

export interface Backup {
  /** The store that was copied, as `Store.location` names it. */
  location: string;
  /** Absolute path of the copy, behind the links that were named. */
  path: string;
  bytes: number;
}

/** How long the copy waits for a moment to read; only a change of its schema, or a program that is not ours, locks readers out. */
const BUSY_TIMEOUT_MS = 10_000;

/** A copy that has not changed for so long was left by a process that was killed: checking one takes minutes. */
const LEFT_MS = 3_600_000;

/** Why a store cannot be copied into a file, and how it is kept safe instead. */
const ELSEWHERE: Record<string, string> = {
  "memory:": "the store memory: lives in another process and ends with it: there is nothing to back up",
  "deno-kv:": "the store deno-kv: without a path is the platform's own database: it is backed up there",
};

/**
 * Copies a store of one file (`sqlite:PATH`, or `deno-kv:PATH`, which is an SQLite file too) to a new file, consistent
 * as of one moment, while a gateway serves from it. To restore, start on the copy.
 *
 * @throws {StoreError} `unavailable` when there is no such store, it is another program's, it is not kept in a file, or
 * the new file exists or cannot be written; `full`, `locked`
 */
export async function backUpStore(setting: string, target: string): Promise<Backup> {
  if (ELSEWHERE[setting] !== undefined) throw new StoreError("unavailable", ELSEWHERE[setting]);
  if (/^postgres(ql)?:/.test(setting)) {
    throw new StoreError(
      "unavailable",
      "a store in PostgreSQL is backed up with its own pg_dump, and not into a file here",
    );
  }
  const [, scheme, sourcePath] = /^(sqlite|deno-kv):(.+)$/s.exec(setting) ?? [];
  if (scheme === undefined) {
    throw new StoreError("unavailable", "only a store in a file can be backed up: sqlite:PATH or deno-kv:PATH");
  }
  const source = resolve(sourcePath!);
  const location = `${scheme}:${source}`;
  const path = await linkTarget(resolve(target));
  const found = statSync(source, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError("unavailable", `${location}: there is no such file`);
  if (found.isDirectory()) throw new StoreError("unavailable", `${location}: this is a directory: name a file in it`);
  checkTarget(path);
  removeLeft(path);
  let database: SqliteDatabase | undefined;
  try {
    // Not read-only, although nothing is written: that would leave a -wal and a -shm file of this user behind.
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

function checkTarget(path: string): void {
  if (existsSync(path)) throw alreadyThere(path);
  const directory = dirname(path);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError("unavailable", `there is no directory ${directory}: create it, or name another path`);
  }
  refuseLeftoverLog(path, path);
}

/** What was left of a backup to the same name goes, where it can: its disk may be full of it. */
function removeLeft(path: string): void {
  try {
    removeStaleFiles(path, "part", LEFT_MS);
  } catch {
    // A folder that may be written and not read, or another user's file: it stays.
  }
}

function isDenoKv(database: SqliteDatabase): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kv'").get() !== undefined;
}

/** A fault of reading is the store's, one of writing (the file system names a code, or the disk is full) the copy's. */
function failure(error: unknown, location: string, path: string): unknown {
  const { code } = error as { code?: unknown };
  if (code === "ENOSPC" || code === SQLITE.full) {
    return new StoreError("full", `${path}: the disk is full: make room on it`, { cause: error });
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
