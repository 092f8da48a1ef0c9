import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { readlink, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";

/**
 * Writes what the database holds at this moment to a new file, mode 0600, while others may go on writing to it: SQLite
 * copies from one snapshot (`VACUUM INTO`). The copy is checked and on the disk when it stands under its name.
 *
 * @param to absolute; its directory has to exist
 * @returns the size of the copy in bytes
 * @throws {SqliteError | Error} when the source cannot be read or the copy cannot be written (the file system's `code`;
 * `EEXIST` when something stands under its name already); nothing is left behind then
 */
export async function copySqlite(from: SqliteDatabase, to: string): Promise<number> {
  // Its name says that nobody counts on it yet; two that copy to the same name do not write into one file.
  const unfinished = `${to}.${randomBytes(6).toString("hex")}.part`;
  // SQLite fills an empty file, and would make a new one readable by everybody.
  closeSync(openSync(unfinished, "wx", 0o600));
  try {
    from.prepare("VACUUM INTO ?").run(unfinished);
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

/** What a link points at, though nothing may be there yet: that is to be replaced or made, not the link. */
export async function linkTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    // Links in a circle are no place, and told when the file is used.
    if ((error as { code?: unknown }).code !== "ENOENT") return path;
    const next = await readlink(path).catch(() => undefined);
    return next === undefined ? path : await linkTarget(resolve(dirname(path), next));
  }
}

/** Sees to it that a file, or the names in a folder, outlive a power cut. */
export function syncToDisk(path: string): void {
  // Windows has no way to write a folder, and none to sync what is opened for reading.
  if (process.platform === "win32") return;
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
}
