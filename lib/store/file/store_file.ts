import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type FileLock, lockFile } from "../../runtime/file_lock.ts";
import { linkTarget, syncToDisk } from "./copy.ts";
import { diskFull } from "./errors.ts";
import { refuseLeftoverLog, removeStaleFiles } from "./stale_files.ts";
import { StoreError } from "../store_error.ts";

/** How a store is opened. */
export interface OpenOptions {
  /** Told what an operator should know. */
  onNotice?(message: string): void;
  /** Refuses a store that is not there, with `missing`, instead of making it. */
  mustExist?: boolean;
  /** Takes also a copy that is not whole yet, which nothing but what makes it may use. */
  isCopyTarget?: boolean;
  /** The store's clock, Unix milliseconds; a store that others share has its own. Default the machine's. */
  now?: () => number;
  /** Tests: several gateways share it, as they do the platform's database and PostgreSQL; for `memory:` and `deno-kv:PATH`. */
  isShared?: boolean;
}

/** The refusal of a store that should be there. */
export function missingStore(location: string): StoreError {
  return new StoreError(
    "missing",
    `${location}: there is no store yet: gateway keygen or gateway serve makes it; or name another with --store`,
  );
}

/**
 * Makes sure that the file of a store can be opened: its directory is there, and so is the file. A new one is made under
 * another name beside it, and takes its own when it is whole: what a full disk or a crash interrupts is no store. Of
 * several processes that do so at once one is quicker. An existing file is not opened, which would drop SQLite's locks
 * on it.
 *
 * @param path absolute
 * @param make makes a store at this path, where there is nothing yet, and leaves nothing of it open
 * @throws StoreError `unavailable`, `full`, `missing`, and what `make` throws
 */
export async function ensureStoreFile(
  path: string,
  location: string,
  { mustExist = false }: OpenOptions,
  make: (path: string) => Promise<void>,
): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    throw new StoreError("unavailable", `${location}: this is a directory: name a file in it`);
  }
  // An empty one is what is left where a file system without links had no room for it.
  if (mustExist && (found?.size ?? 0) === 0) throw missingStore(location);
  // Where a link leads to: there it is made, though nothing may be there yet.
  const target = await linkTarget(path);
  const directory = dirname(target);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError(
      "unavailable",
      `${location}: there is no directory ${directory}: create it, or name another path`,
    );
  }
  if (found === undefined) await makeWhole(target, location, make);
  else refuseLeftoverLog(path, location);
}

/** Longer than making a store takes. */
const MAKING_MS = 60_000;

async function makeWhole(path: string, location: string, make: (path: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.${randomBytes(6).toString("hex")}.new`;
  removeStaleFiles(path, "new", MAKING_MS);
  refuseLeftoverLog(path, location);
  try {
    await make(unfinished);
    // Unlike a renaming this takes nothing's place.
    linkSync(unfinished, path);
    rmSync(unfinished);
    syncToDisk(dirname(path));
  } catch (error) {
    const { code, syscall } = error as { code?: unknown; syscall?: unknown };
    if (syscall !== "link") throw error;
    // A file system without links: it is made in its place, by opening it.
    if (code !== "EEXIST") createEmpty(path, location);
  } finally {
    removeDatabase(unfinished);
  }
}

/** Removes the file of a database that nobody uses, and what SQLite puts beside it. */
export function removeDatabase(path: string): void {
  // A read-only disk refuses also to remove what is not there.
  const found = ["", "-wal", "-shm", "-submissionLog"].map((rest) => path + rest).filter((file) => existsSync(file));
  for (const file of found) rmSync(file, { force: true });
}

/**
 * Creates an empty file, mode 0600: it will hold the hashes of keys, and SQLite would make it readable by everybody. One
 * that is there stays as it is.
 *
 * @throws StoreError `unavailable`, `full`
 */
export function createEmpty(path: string, location: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "EEXIST") return;
    if (code === "ENOSPC") throw diskFull(location, error);
    throw new StoreError(
      "unavailable",
      `${location}: the file cannot be created in ${dirname(path)} (${code}): check its owner and mode`,
      { cause: error },
    );
  }
}

/**
 * Holds the store of this file for one `serve`, until released or until the process dies.
 * The lock is a file of its own next to it, so that `keygen` and the like can go on beside.
 *
 * @throws StoreError `locked` when another process, or another handle in this one, holds it
 */
export async function holdStoreFile(path: string, location: string): Promise<FileLock> {
  const lockPath = lockOf(path);
  const lock = await lockFile(lockPath).catch((error) => {
    const why = typeof error.code === "string" ? ` (${error.code})` : "";
    throw new StoreError(
      "unavailable",
      `${location}: the lock file ${lockPath} cannot be used${why}: check its owner and mode`,
      { cause: error },
    );
  });
  if (lock) return lock;
  throw new StoreError(
    "locked",
    `${location} is served by another gateway: stop that one, or give this one a store of its own`,
  );
}

/**
 * Holds a store and then ends the leases that are left in it: whoever had them is dead.
 * @throws StoreError as `hold` and `endLeases` do; nothing is held then
 */
export async function holdAlone(
  hold: () => Promise<FileLock>,
  endLeases: () => void | Promise<void>,
): Promise<FileLock> {
  const lock = await hold();
  try {
    await endLeases();
    return lock;
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The lock of a store's file, whether it is there or not. The file has to be. */
export function lockOf(path: string): string {
  return `${followLinks(path)}-lock`;
}

/** The path behind symbolic links, so that one store has one lock. Opens nothing (see `ensureStoreFile`). */
function followLinks(path: string): string {
  const real = join(realpathSync(dirname(path)), basename(path));
  if (!lstatSync(real).isSymbolicLink()) return real;
  return followLinks(resolve(dirname(real), readlinkSync(real)));
}
