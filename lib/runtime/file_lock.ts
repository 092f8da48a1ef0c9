import { closeSync, openSync } from "node:fs";
import { openSqlite, SQLITE, SqliteError } from "./sqlite.ts";

/** A lock that is held until `release`, or until the process ends in any way. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the operating system's lock on this file, creating the file (mode 0600) when it is missing; it stays behind,
 * empty, when the lock is given back. Answers undefined at once when anybody, this process included, holds it.
 * Neither runtime offers file locks of its own on both: this is an empty SQLite database, locked exclusively.
 *
 * @param path a file for nothing but this; POSIX drops a process's locks when it closes any descriptor of the file
 * @throws SqliteError when the file cannot be opened, or holds something else
 * @throws Error with the file system's `code` when it cannot be created
 */
export async function lockFile(path: string): Promise<FileLock | undefined> {
  createIfMissing(path);
  const database = await openSqlite(path);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    // Prepared, because node:sqlite hides the result code of what `exec` runs.
    database.prepare("BEGIN EXCLUSIVE").run();
  } catch (error) {
    database.close();
    if (error instanceof SqliteError && error.code === SQLITE.busy) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

/** SQLite would create it readable by everybody. `wx` opens no descriptor of a file that is there. */
function createIfMissing(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}
