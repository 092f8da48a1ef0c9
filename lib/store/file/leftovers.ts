import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * What a process that was killed left beside a store: `.part` of a copy before a migration, `.new` of a store that was to be
 * made, each with what SQLite puts beside it.
 */
const LEFTOVER = /^(?:\.v\d+-\d{8}T\d{6}Z\.bak)?\.[0-9a-f]{12}\.(part|new)(?:\.kv)?(?:-wal|-shm|-journal)?$/;

/**
 * Removes the leftovers of this kind.
 * @param file absolute path of the store
 * @param unusedForMs younger ones may be in use by another process
 */
export function removeLeftovers(file: string, kind: "part" | "new", unusedForMs: number): void {
  const [directory, name] = [dirname(file), basename(file)];
  for (const found of readdirSync(directory)) {
    if (!found.startsWith(name) || LEFTOVER.exec(found.slice(name.length))?.[1] !== kind) continue;
    const path = join(directory, found);
    const changedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (changedAtMs <= Date.now() - unusedForMs) rmSync(path, { force: true });
  }
}
