import { closeSync, lstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type FileLock, lockFile } from "../runtime/file_lock.ts";
import { StoreError } from "./store.ts";

/**
 * Makes sure that the file of a store can be opened: its directory is there, and a missing file is created empty with
 * mode 0600 (it will hold the hashes of keys). An existing file is not opened, which would drop SQLite's locks on it.
 *
 * @param path absolute
 * @throws StoreError `unavailable`
 */
export function prepareStoreFile(path: string, location: string): void {
  const directory = dirname(path);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError(
      "unavailable",
      `${location}: there is no directory ${directory}: create it, or name another path`,
    );
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError("unavailable", `${location}: this is a directory: name a file in it`);
  }
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "EEXIST") return;
    if (code === "ENOSPC") {
      throw new StoreError("full", `${location}: the disk is full: make room on it`, { cause: error });
    }
    throw new StoreError(
      "unavailable",
      `${location}: the file cannot be created in ${directory} (${code}): check its owner and mode`,
      {
        cause: error,
      },
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
  const lockPath = `${followLinks(path)}-lock`;
  const lock = await lockFile(lockPath).catch((error) => {
    throw new StoreError(
      "unavailable",
      `${location}: the lock file ${lockPath} cannot be used: check its owner and mode`,
      {
        cause: error,
      },
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
 * @throws StoreError as `hold` and `freeLeases` do; nothing is held then
 */
export async function holdAlone(hold: () => Promise<FileLock>, freeLeases: () => Promise<void>): Promise<FileLock> {
  const lock = await hold();
  try {
    await freeLeases();
    return lock;
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The path behind symbolic links, so that one store has one lock. Opens nothing (see `prepareStoreFile`). */
function followLinks(path: string): string {
  const real = join(realpathSync(dirname(path)), basename(path));
  if (!lstatSync(real).isSymbolicLink()) return real;
  return followLinks(resolve(dirname(real), readlinkSync(real)));
}
