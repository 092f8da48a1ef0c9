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

/** The options of opening a store. */
export interface OpenOptions {
  /** Gets each notice for the operator. */
  onNotice?(message: string): void;
  /** Rejects a missing store with `missing`, instead of making it. */
  mustExist?: boolean;
  /** Also opens an unfinished copy. Only the copy itself may do that. */
  isCopyTarget?: boolean;
  /** The store's clock, Unix milliseconds. A shared store has its own. Default: the machine's. */
  now?: () => number;
  /** For tests: several gateways share the store, as they share PostgreSQL. For `memory:` and `deno-kv:PATH`. */
  isShared?: boolean;
}

/** The error for a store that should exist. */
export function missingStore(location: string): StoreError {
  return new StoreError(
    "missing",
    `${location}: there is no store yet. Make it with gateway keygen or gateway serve, or name another with --store`,
  );
}

/**
 * Makes sure that the file of a store exists, and that its directory does. A new file is made under another name beside it,
 * and linked when it is complete. So a full disk or a crash leaves no half store. Of several processes that do so at once,
 * the first one wins. This never opens an existing file, which would drop SQLite's locks on it.
 *
 * @param path absolute
 * @param make makes a store at this path, where there is no file, and closes it
 * @throws StoreError `unavailable`, `full`, `missing`, and the errors of `make`
 */
export async function ensureStoreFile(
  path: string,
  location: string,
  { mustExist = false }: OpenOptions,
  make: (path: string) => Promise<void>,
): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    throw new StoreError("unavailable", `${location}: this is a directory. Name a file in it`);
  }
  // A file system without links leaves an empty file when the disk is full.
  if (mustExist && (found?.size ?? 0) === 0) throw missingStore(location);
  // The store is made at the target of a link, even if the target does not exist yet.
  const target = await linkTarget(path);
  const directory = dirname(target);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError(
      "unavailable",
      `${location}: there is no directory ${directory}. Create it, or name another path`,
    );
  }
  if (found === undefined) await makeWhole(target, location, make);
  else refuseLeftoverLog(path, location);
}

/** Longer than it takes to make a store. */
const MAKING_MS = 60_000;

async function makeWhole(path: string, location: string, make: (path: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.${randomBytes(6).toString("hex")}.new`;
  removeStaleFiles(path, "new", MAKING_MS);
  refuseLeftoverLog(path, location);
  try {
    await make(unfinished);
    // Unlike a renaming this never replaces a file.
    linkSync(unfinished, path);
    rmSync(unfinished);
    syncToDisk(dirname(path));
  } catch (error) {
    const { code, syscall } = error as { code?: unknown; syscall?: unknown };
    if (syscall !== "link") throw error;
    // A file system without links: opening the empty file makes the store.
    if (code !== "EEXIST") createEmpty(path, location);
  } finally {
    removeDatabase(unfinished);
  }
}

/** Removes the file of an unused database, and SQLite's files beside it. */
export function removeDatabase(path: string): void {
  // A read-only disk also rejects the removal of a missing file.
  const found = ["", "-wal", "-shm", "-journal"].map((rest) => path + rest).filter((file) => existsSync(file));
  for (const file of found) rmSync(file, { force: true });
}

/**
 * Creates an empty file, mode 0600, because it will hold the hashes of keys. SQLite would let everybody read it. An existing
 * file stays as it is.
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
      `${location}: the file cannot be created in ${dirname(path)} (${code}). Check its owner and mode`,
      { cause: error },
    );
  }
}

/**
 * Locks the store of this file for one `serve`, until the release or the death of the process. The lock is a separate file, so
 * `keygen` and other commands can use the store at the same time.
 *
 * @throws StoreError `locked` when another process, or another handle of this one, has the lock
 */
export async function holdStoreFile(path: string, location: string): Promise<FileLock> {
  const lockPath = lockOf(path);
  const lock = await lockFile(lockPath).catch((error) => {
    const why = typeof error.code === "string" ? ` (${error.code})` : "";
    throw new StoreError(
      "unavailable",
      `${location}: the lock file ${lockPath} cannot be used${why}. Check its owner and mode`,
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
 * Locks a store and then ends the leases in it: their holders are dead.
 * @throws StoreError as `hold` and `endLeases` do; the store is not locked then
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

/** The path of the lock of a store's file. The file must exist, the lock need not. */
export function lockOf(path: string): string {
  return `${followLinks(path)}-lock`;
}

/** The path behind symbolic links, so that one store has one lock. Opens no file (see `ensureStoreFile`). */
function followLinks(path: string): string {
  const real = join(realpathSync(dirname(path)), basename(path));
  if (!lstatSync(real).isSymbolicLink()) return real;
  return followLinks(resolve(dirname(real), readlinkSync(real)));
}
