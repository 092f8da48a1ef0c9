import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { StoreError } from "../store_error.ts";

/** Files of a killed process: `.part` of a backup and `.new` of an unfinished store, each with SQLite's files beside it. */
const LEFTOVER = /^\.[0-9a-f]{12}\.(part|new)(?:\.kv)?(?:-wal|-shm|-journal)?$/;

/**
 * Removes the stale files of one kind.
 * @param file absolute path of the store, or of the backup
 * @param unusedForMs another process may still use a younger file
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

/** The number of links that Linux follows. */
const MOST_LINKS = 40;

/**
 * Rejects a path that has the log of a deleted database and no database. SQLite would apply the log to the next database at
 * that path.
 *
 * @param path absolute
 * @param location the name of the store in the error
 * @throws StoreError `unavailable`
 */
export function refuseLeftoverLog(path: string, location: string): void {
  // SQLite has the log beside the target of a link.
  for (let links = 0; links < MOST_LINKS && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink(); links++) {
    path = resolve(dirname(path), readlinkSync(path));
  }
  const log = [`${path}-wal`, `${path}-journal`]
    .find((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  // The log comes first: another process may just have made both.
  if (log === undefined || existsSync(path)) return;
  throw new StoreError(
    "unavailable",
    `${location}: ${log} is left of a database that is gone, and may hold its last changes. Restore that database, or ` +
      "delete the log to begin with an empty store",
  );
}
