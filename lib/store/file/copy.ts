import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { readlink, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";

/**
 * Copies a database to a new file, mode 0600, as of one moment, while other processes write to it. The copy gets its name
 * after the check, and is on the disk then.
 *
 * @param to absolute; its directory must exist
 * @returns the size of the copy in bytes
 * @throws {SqliteError | Error} when the source cannot be read, or the copy cannot be written: the file system's `code`, or
 * `EEXIST` for an existing file. No file is left behind then
 */
export async function copySqlite(from: SqliteDatabase, to: string): Promise<number> {
  // A name of its own: two copies to the same name must not write into one file.
  const unfinished = `${to}.${randomBytes(6).toString("hex")}.part`;
  // SQLite fills an empty file. A new one from SQLite would be readable by everybody.
  closeSync(openSync(unfinished, "wx", 0o600));
  try {
    await from.copyTo(unfinished);
    await checkCopy(unfinished);
    syncToDisk(unfinished);
    if (existsSync(to)) throw Object.assign(new Error(`${to} exists already`), { code: "EEXIST" });
    renameSync(unfinished, to);
    syncToDisk(dirname(to));
    return statSync(to).size;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function checkCopy(path: string): Promise<void> {
  const copy = await openSqlite(path, { readOnly: true });
  try {
    const [verdict] = Object.values(copy.prepare("PRAGMA integrity_check(1)").get() ?? {});
    if (verdict !== "ok") throw new Error(`the copy is damaged: ${verdict}`);
  } finally {
    copy.close();
  }
}

/** The target of a link, even if the target does not exist yet. */
export async function linkTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    // A circle of links has no target. The use of the file reports that.
    if ((error as { code?: unknown }).code !== "ENOENT") return path;
    const next = await readlink(path).catch(() => undefined);
    return next === undefined ? path : await linkTarget(resolve(dirname(path), next));
  }
}

/** Makes sure that a file, or the names in a folder, survive a power cut. */
export function syncToDisk(path: string): void {
  // Windows cannot sync a folder, nor a file that is open for reading.
  if (process.platform === "win32") return;
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}
