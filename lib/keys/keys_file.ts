import { randomBytes } from "node:crypto";
import { lchown, lstat, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { type FileLock, lockFile } from "../runtime/file_lock.ts";
import { SQLITE } from "../runtime/sqlite.ts";
import { linkTarget, syncToDisk } from "../store/file/copy.ts";
import { type KeyRecord, StoreError } from "../store/store.ts";
import type { KeyLocation } from "./key_location.ts";
import { cannot, KeysFileError } from "./keys_file_error.ts";

/** What tells one state of a file from another without reading it. */
export interface FileState {
  /** Device, inode, size and times in one text. */
  fingerprint: string;
  modifiedAtMs: number;
  /** Permission bits. */
  mode: number;
  uid: number;
}

/** How often a change is tried anew when somebody edits the file at the same moment. */
const MAX_ATTEMPTS = 5;
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 20;

/**
 * The keys in a JSON file, a record an array element. Every change is written to a new file that takes the old one's
 * place, mode 0600, under a lock at `<path>.lock`; an operator's editor knows no lock, so a change made meanwhile is seen
 * and built upon. A file that does not exist holds no keys; the first insert makes it.
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

/** @throws {KeysFileError} when there is no such file, saying how one is made. */
export async function requireKeysFile(path: string): Promise<void> {
  const absolute = resolve(path);
  if (await fileState(absolute) !== undefined) return;
  throw new KeysFileError(
    `there is no keys file ${absolute} yet: gateway keygen makes it; or name another with --keys-file`,
  );
}

/**
 * Reads all keys, and the state of the file they were read from (undefined: there is no file).
 * @throws {KeysFileError} when the file cannot be read or is not what it must be.
 */
async function readKeysFile(path: string): Promise<{ records: KeyRecord[]; state: FileState | undefined }> {
  const before = await fileState(path);
  if (before === undefined) return { records: [], state: undefined };
  return { records: await recordsIn(path, await readText(path)), state: before };
}

/** @throws {KeysFileError} naming the file, the record and the field. */
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
  return await readFile(path, "utf8").catch((error) => {
    throw cannot("be read", path, error);
  });
}

/** The state of the file, undefined when there is none. @throws {KeysFileError} */
export async function fileState(path: string): Promise<FileState | undefined> {
  const found = await stat(path, { bigint: true }).catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw cannot("be read", path, error);
  });
  if (found === undefined) return undefined;
  if (!found.isFile()) throw new KeysFileError(`keys file ${path} is no regular file`);
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, mode, uid } = found;
  return {
    fingerprint: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    modifiedAtMs: Number(mtimeMs),
    // Windows has no such bits: it says 666 of every file.
    mode: process.platform === "win32" ? 0o600 : Number(mode) & 0o777,
    uid: Number(uid),
  };
}

/** Reads, changes and writes under the lock. `change` answers undefined when there is nothing to write. */
async function changeKeys(path: string, change: (records: KeyRecord[]) => KeyRecord[] | undefined): Promise<void> {
  const target = await linkTarget(path);
  const lock = await waitForLock(target);
  try {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { records, state } = await readKeysFile(target);
      const changed = change(records);
      if (changed === undefined || await replaceFile(target, state, changed)) return;
    }
    throw new KeysFileError(`keys file ${target} is being edited by somebody else; try again`);
  } finally {
    lock.release();
  }
}

/** Puts a new file in the old one's place; false, and nothing done, when the old one is not as it was read. */
async function replaceFile(path: string, asRead: FileState | undefined, records: KeyRecord[]): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(records, null, 2) + "\n");
      // Run by root for a gateway that is not: the gateway must still be able to read its file, and its user to change it.
      if (asRead !== undefined) {
        await keepOwner(file, asRead.uid);
        await giveTo(asRead.uid, lockOf(path));
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if ((await fileState(path))?.fingerprint !== asRead?.fingerprint) return false;
    await rename(temporary, path);
    // A rename is durable once the folder is written.
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
 * Gives a lock that is held to the file's owner, where this process may. By its name: to close a descriptor of it would give
 * the lock up. A link that somebody put there, of either kind, is left alone.
 */
async function giveTo(uid: number, path: string): Promise<void> {
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
  throw new KeysFileError(`keys file ${path} is being changed by another process (${lockOf(path)}); try again`);
}

function cannotLock(path: string, error: { code?: unknown }): KeysFileError {
  if (typeof error.code === "string") return cannot("be written", path, error);
  const why = error.code === SQLITE.full || error.code === SQLITE.ioError
    ? "the disk cannot be written: check that it has room and works"
    : `${lockOf(path)} cannot be used: check its owner and mode`;
  return new KeysFileError(`keys file ${path} cannot be locked: ${why}`, { cause: error });
}
