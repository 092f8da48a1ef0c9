import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { StoreError } from "../store_error.ts";

/**
 * What a process that was killed left: `.part` of a backup, `.new` of a store that was to be made, each with what SQLite
 * puts beside it.
 */
const LEFTOVER = /^\.[0-9a-f]{12}\.(part|new)(?:\.kv)?(?:-wal|-shm|-submissionLog)?$/;

/**
 * Removes the staleFiles of this kind.
 * @param file absolute path of the store, or of the backup
 * @param unusedForMs younger ones may be in use by another process
 */
export function removeStaleFiles(file: string, kind: "part" | "new", unusedForMs: number): void {
  const [directory, name] = [dirname(file), basename(file)];
  for (const found of readdirSync(directory)) {
    if (!found.startsWith(name) || LEFTOVER.exec(found.slice(name.length))?.[1] !== kind) continue;
    const path = join(directory, found);
    const changedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (changedAtMs <= Date.now() - unusedForMs) rmSync(path, { force: true });
  }
}

/** What Linux follows. */
const MOST_LINKS = 40;

/**
 * Refuses a path where no database is and the log of one that was deleted still is: SQLite would play it into the next
 * database at that path.
 *
 * @param path absolute
 * @param location what the error calls it
 * @throws StoreError `unavailable`
 */
export function refuseLeftoverLog(path: string, location: string): void {
  // SQLite has it beside what a link leads to, and empties it there.
  for (let links = 0; links < MOST_LINKS && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink(); links++) {
    path = resolve(dirname(path), readlinkSync(path));
  }
  const log = [`${path}-wal`, `${path}-submissionLog`]
    .find((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  // Looked for after the log: another process may just have made both.
  if (log === undefined || existsSync(path)) return;
  throw new StoreError(
    "unavailable",
    `${location}: ${log} is left of a database that is gone, and may hold its last changes: put that database back, or ` +
      "delete the log to begin anew",
  );
}
