import { closeSync, existsSync, openSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openKv } from "../../runtime/kv.ts";
import { runtimeName } from "../../runtime/runtime.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { holdsAtMost } from "../deno_kv/database.ts";
import { SCHEMA_VERSION as KV_SCHEMA_VERSION } from "../deno_kv/schema.ts";
import { toStoreError } from "../sqlite/errors.ts";
import { checkOwnership, SCHEMA_VERSION, schemaVersion } from "../sqlite/schema.ts";
import { StoreError } from "../store_error.ts";
import { linkTarget } from "./copy.ts";
import { refuseLeftoverLog } from "./stale_files.ts";
import { holdStoreFile, lockOf } from "./store_file.ts";

/** The state of a store, read without a change. */
export interface StoreInspection {
  location: string;
  /** `new`: there is none yet, and it can be made. `older`: the next start changes the schema. `unbound`: not a file. */
  state: "new" | "older" | "current" | "unbound";
  /** Size of the file, and the free space on its disk. */
  bytes: number;
  freeBytes: number;
  /** Whether a gateway serves from it at this moment. */
  isServed: boolean;
}

const BUSY_TIMEOUT_MS = 2_000;

/**
 * Inspects the store of a setting: whether it exists, is ours, has a known schema, and can be written. A write that changes
 * nothing shows the last. `openStore` would create the store, and change its schema.
 * @param newest schema of each kind of file
 * @throws {StoreError} `unavailable`, `locked`, `full`, `newer_schema`
 */
export async function inspectStore(
  setting: string,
  newest = { "sqlite": SCHEMA_VERSION, "deno-kv": KV_SCHEMA_VERSION },
): Promise<StoreInspection> {
  const [, scheme, path] = /^(sqlite|deno-kv):(.+)$/s.exec(setting) ?? [];
  if (path === undefined || (scheme === "deno-kv" && runtimeName !== "deno")) {
    const nothing = { bytes: 0, freeBytes: Infinity, isServed: false };
    return { location: setting, state: "unbound", ...nothing };
  }
  const file = resolve(path);
  const location = `${scheme}:${file}`;
  const target = await linkTarget(file);
  const isThere = existsSync(file) && statSync(file).size > 0;
  if (!isThere) {
    checkDirectory(target, location);
    refuseLeftoverLog(file, location);
  }
  const known = newest[scheme as keyof typeof newest];
  // A failed start may leave a file without a schema.
  const schema = isThere ? await schemaOf(file, location, scheme === "sqlite", known) : 0;
  return {
    location,
    state: schema === 0 ? "new" : schema < known ? "older" : "current",
    bytes: isThere ? statSync(file).size : 0,
    freeBytes: freeBytes(dirname(target)),
    isServed: isThere && await isServed(file, location),
  };
}

/** Checks that a file can be made in a directory. It makes one, because modes do not show all. */
function checkDirectory(file: string, location: string): void {
  const directory = dirname(file);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError("unavailable", `${location}: there is no directory ${directory}`);
  }
  const trial = `${file}.${crypto.randomUUID()}.trial`;
  try {
    closeSync(openSync(trial, "wx", 0o600));
    rmSync(trial);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOSPC") throw new StoreError("full", `${location}: the disk is full`, { cause: error });
    throw new StoreError("unavailable", `${location}: no file can be created in ${directory} (${code})`, {
      cause: error,
    });
  }
}

/** 0 for an empty file. */
async function schemaOf(file: string, location: string, isSqlite: boolean, newest: number): Promise<number> {
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqlite(file);
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (isSqlite) checkOwnership(database, location, newest);
    // Writes the number that is there already: this commit changes nothing, and fails where any other would.
    const version = schemaVersion(database);
    database.prepare(`PRAGMA user_version = ${version}`).run();
    if (isSqlite) return version;
    // Deno KV would fill the file.
    if (database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined) return 0;
  } catch (error) {
    throw toStoreError(error, location);
  } finally {
    database?.close();
  }
  return await denoKvSchema(file, newest);
}

/** A foreign file counts as one of the newest schema. Opening it as a store reports the error. */
async function denoKvSchema(file: string, newest: number): Promise<number> {
  const kv = await openKv(file);
  try {
    const { value } = await kv.get<number>(["schema"]);
    return value ?? (await holdsAtMost(kv, 0) ? 0 : newest);
  } finally {
    kv.close();
  }
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

async function isServed(file: string, location: string): Promise<boolean> {
  // A new lock would be this user's, and another user's gateway could not start.
  if (!existsSync(lockOf(file))) return false;
  try {
    (await holdStoreFile(file, location)).release();
    return false;
  } catch (error) {
    if (error instanceof StoreError && error.kind === "locked") return true;
    throw error;
  }
}
