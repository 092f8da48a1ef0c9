import { randomBytes } from "node:crypto";
import { lchown, lstat, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { decodedText } from "../decoded_text.ts";
import { type FileLock, lockFile } from "../runtime/file_lock.ts";
import { SQLITE } from "../runtime/sqlite.ts";
import { linkTarget, syncToDisk } from "../store/file/copy.ts";
import { type KeyRecord, type Store, StoreError } from "../store/store.ts";

/** The keys file is unusable. The message gives its path and the reason, and quotes nothing of its content. */
export class KeysFileError extends Error {
  override name = "KeysFileError";
}

/** A place of keys that commands can change: the store, or a keys file. The methods are the store's. */
export type KeyLocation = Pick<Store, "location" | "close"> & {
  keys: Pick<Store["keys"], "insert" | "get" | "list" | "setDisabled" | "delete">;
};

/** Metadata that changes with a file's content. */
export interface FileState {
  /** Device, inode, size and times in one text. */
  fingerprint: string;
  modifiedAtMs: number;
  /** Permission bits. */
  mode: number;
  uid: number;
}

/** Attempts at a change while an editor writes the file at the same time. */
const MAX_ATTEMPTS = 5;
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 20;

/**
 * The keys in a JSON file, an array of records. Each change writes a new file (mode 0600) and renames it over the old one,
 * under a lock at `<path>.lock`. An editor takes no lock, so a change is repeated when the file has changed meanwhile. A missing
 * file has no keys, and the first insert creates it.
 */
export function openKeysFile(path: string): KeyLocation {
  const absolute = resolve(path);
  return {
    location: `file:${absolute}`,
    keys: {
      insert: (record) =>
        changeKeys(absolute, (records) => {
          if (records.some(({ id }) => id === record.id)) {
            throw new StoreError("exists", `keys file ${absolute} already has a key ${record.id}`);
          }
          return [...records, record];
        }),
      async get(id) {
        return (await readKeysFile(absolute)).records.find((record) => record.id === id);
      },
      async list({ after = "", limit }) {
        const { records } = await readKeysFile(absolute);
        return records.filter(({ id }) => id > after).sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
      },
      async setDisabled(id, disabled) {
        let changed: KeyRecord | undefined;
        await changeKeys(absolute, (records) => {
          const found = records.find((record) => record.id === id);
          if (found === undefined) return undefined;
          changed = { ...found, disabled };
          return records.map((record) => (record === found ? changed! : record));
        });
        return changed;
      },
      async delete(id) {
        let existed = false;
        await changeKeys(absolute, (records) => {
          existed = records.some((record) => record.id === id);
          return existed ? records.filter((record) => record.id !== id) : undefined;
        });
        return existed;
      },
    },
    async close() {},
  };
}

/** @throws {KeysFileError} when the file does not exist, with the command that creates it */
export async function requireKeysFile(path: string): Promise<void> {
  const absolute = resolve(path);
  if (await fileState(absolute) !== undefined) return;
  throw new KeysFileError(
    `the keys file ${absolute} does not exist: create it with gateway keygen, or name another with --keys-file`,
  );
}

/**
 * Reads all keys, and the state of their file (undefined: no file).
 * @throws {KeysFileError} when the file is unreadable or malformed
 */
async function readKeysFile(path: string): Promise<{ records: KeyRecord[]; state: FileState | undefined }> {
  const before = await fileState(path);
  if (before === undefined) return { records: [], state: undefined };
  return { records: await recordsIn(path, await readText(path)), state: before };
}

/** @throws {KeysFileError} with file, record and field */
export async function recordsIn(path: string, text: string): Promise<KeyRecord[]> {
  // Loaded only here: `keygen` on a store starts faster without the schema.
  const { parseKeyRecords } = await import("./key_record.ts");
  try {
    return parseKeyRecords(text);
  } catch (error) {
    throw new KeysFileError(`keys file ${path}: ${(error as Error).message}`);
  }
}

/** The file's text. @throws {KeysFileError} */
export async function readText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error) => {
    throw cannot("be read", path, error);
  });
  return decodedText(bytes);
}

/** The state of the file, undefined for no file. @throws {KeysFileError} */
export async function fileState(path: string): Promise<FileState | undefined> {
  const found = await stat(path, { bigint: true }).catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw cannot("be read", path, error);
  });
  if (found === undefined) return undefined;
  if (!found.isFile()) throw new KeysFileError(`keys file ${path} must be a regular file`);
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, mode, uid } = found;
  return {
    fingerprint: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    modifiedAtMs: Number(mtimeMs),
    // Windows has no such bits and reports 666 for every file.
    mode: process.platform === "win32" ? 0o600 : Number(mode) & 0o777,
    uid: Number(uid),
  };
}

/** Reads, changes and writes under the lock. `change` returns undefined when there is nothing to write. */
async function changeKeys(path: string, change: (records: KeyRecord[]) => KeyRecord[] | undefined): Promise<void> {
  const target = await linkTarget(path);
  const lock = await waitForLock(target);
  try {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { records, state } = await readKeysFile(target);
      const changed = change(records);
      if (changed === undefined || await replaceFile(target, state, changed)) return;
    }
    throw new KeysFileError(`keys file ${target} changes at the same time; try again`);
  } finally {
    lock.release();
  }
}

/** Replaces the file; returns false, without a change, when the file has changed since it was read. */
async function replaceFile(path: string, asRead: FileState | undefined, records: KeyRecord[]): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(records, null, 2) + "\n");
      // Root may run this command for a gateway of another user, who must be able to read and change the file.
      if (asRead !== undefined) {
        await keepOwner(file, asRead.uid);
        await chownLock(asRead.uid, lockOf(path));
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if ((await fileState(path))?.fingerprint !== asRead?.fingerprint) return false;
    await rename(temporary, path);
    // A rename is durable after the folder is synced.
    syncToDisk(dirname(path));
    return true;
  } catch (error) {
    if (error instanceof KeysFileError) throw error;
    throw cannot("be written", path, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function keepOwner(file: Awaited<ReturnType<typeof open>>, uid: number): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid) await file.chown(uid, own.gid);
}

/**
 * Gives the lock file to the owner of the keys file, where this process may. It uses the name, because closing a descriptor
 * would release the lock. It leaves links alone, hard or symbolic.
 */
async function chownLock(uid: number, path: string): Promise<void> {
  const own = await lstat(path);
  const isLockAlone = own.isFile() && own.nlink === 1;
  if (own.uid !== uid && isLockAlone) await lchown(path, uid, own.gid).catch(() => {});
}

function lockOf(path: string): string {
  return `${path}.lock`;
}

async function waitForLock(path: string): Promise<FileLock> {
  for (let waitedMs = 0; waitedMs <= LOCK_WAIT_MS; waitedMs += LOCK_RETRY_MS) {
    const lock = await lockFile(lockOf(path)).catch((error) => {
      throw cannotLock(path, error);
    });
    if (lock !== undefined) return lock;
    await new Promise((wake) => setTimeout(wake, LOCK_RETRY_MS));
  }
  throw new KeysFileError(`keys file ${path} is locked by another process (${lockOf(path)}); try again`);
}

function cannotLock(path: string, error: { code?: unknown }): KeysFileError {
  if (typeof error.code === "string") return cannot("be written", path, error);
  const why = error.code === SQLITE.full || error.code === SQLITE.ioError
    ? "the disk is full or fails: make room, or check the disk"
    : `${lockOf(path)} is unusable: check its owner and mode`;
  return new KeysFileError(`keys file ${path} cannot be locked: ${why}`, { cause: error });
}

/** Reason and remedy for the operator, by the file system's code. */
const REMEDIES: Record<string, (path: string) => string> = {
  ENOENT: (path) => `the directory ${dirname(path)} does not exist: create it, or name another path`,
  ENOTDIR: (path) => `${dirname(path)} is no directory: name another path`,
  EACCES: (path) => `check the owner and mode of it and of ${dirname(path)} (EACCES)`,
  EPERM: (path) => `check the owner and mode of it and of ${dirname(path)} (EPERM)`,
  EROFS: () => "its disk is read-only (EROFS)",
  ENOSPC: () => "the disk is full: make room on it (ENOSPC)",
};

/** The error of the file system, for the operator. */
function cannot(what: string, path: string, error: unknown): KeysFileError {
  const code = (error as { code?: string }).code ?? "unknown error";
  const why = Object.hasOwn(REMEDIES, code) ? REMEDIES[code]!(path) : code;
  return new KeysFileError(`keys file ${path} cannot ${what}: ${why}`, { cause: error });
}
