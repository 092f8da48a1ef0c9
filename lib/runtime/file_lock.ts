import { closeSync, openSync } from "node:fs";
import { openSqlite, SQLITE, SqliteError } from "./sqlite.ts";

/** A lock until `release`, or until the process ends in any way. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the operating system's lock on this file and creates the file (mode 0600) if it is missing. After the release
 * it stays, empty. Returns undefined at once when any process, this one included, has the lock. The runtimes share no
 * file lock, so this is an empty SQLite database with an exclusive lock.
 * @param path a file for this lock alone: POSIX drops a process's locks when it closes any descriptor of the file
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

/** SQLite would make it readable for all users. `wx` opens no descriptor of an existing file. */
function createIfMissing(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}
