import { existsSync, rmSync } from "node:fs";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { copySqlite } from "./copy.ts";
import { StoreError } from "../store.ts";

/** What an opened store tells an operator: one line. */
export type OnNotice = (message: string) => void;

export interface MigrationCopyParts {
  database: SqliteDatabase;
  /** Absolute path of the store's file. */
  file: string;
  location: string;
  /** The version there is, and the one that is to be. */
  from: number;
  to: number;
  /** The version that a copy holds: another process may migrate at the same moment. */
  versionOf?: (copy: SqliteDatabase) => number;
  onNotice?: OnNotice;
  /** Unix ms. */
  now?: () => number;
}

/**
 * Changes the schema of a store that holds something, and keeps a copy of it as it was beside it
 * (`gateway.db.v1-20260301T120000Z.bak`): an older program can go on with the copy, but not with the file. What cannot
 * be changed needs no copy: then it is removed again.
 *
 * @param migrate changes all of it or nothing
 * @throws {StoreError} `full` when it cannot be copied: then nothing is changed
 * @throws what `migrate` throws
 */
export async function migrateWithCopy(parts: MigrationCopyParts, migrate: () => void | Promise<void>): Promise<void> {
  const { database, location, from, to, versionOf = () => from, onNotice } = parts;
  const copy = await keepCopy(parts);
  try {
    await migrate();
  } catch (error) {
    // Unless another process changed it meanwhile: that one may count on this copy.
    if (copy !== undefined && versionOf(database) === from) rmSync(copy, { force: true });
    throw error;
  }
  if (copy !== undefined) onNotice?.(`${location} goes from schema ${from} to ${to}; as it was, it is kept in ${copy}`);
}

/** Answers where the copy is; undefined when another process was quicker, and has kept it. */
async function keepCopy(
  { database, file, location, from, versionOf = () => from, now = Date.now }: MigrationCopyParts,
): Promise<string | undefined> {
  const time = new Date(now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const path = `${file}.v${from}-${time}.bak`;
  try {
    const bytes = await copySqlite(database, path, (copy) => versionOf(copy) === from);
    return bytes === undefined ? undefined : path;
  } catch (error) {
    if (existsSync(path)) return undefined;
    throw new StoreError(
      "full",
      `${location} cannot be copied to ${path}, and its schema is not changed without: make room, or check the ` +
        "directory's owner and mode",
      { cause: error },
    );
  }
}
