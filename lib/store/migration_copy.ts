import { existsSync } from "node:fs";
import type { SqliteDatabase } from "../runtime/sqlite.ts";
import { copySqlite } from "./sqlite_copy.ts";
import { StoreError } from "./store.ts";

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
 * Copies a store beside itself (`gateway.db.v1-20260301T120000Z.bak`) before its schema changes: an older program can go
 * on with the copy, but not with the file.
 * @throws {StoreError} `full` when it cannot be copied: then nothing may be changed
 */
export async function keepCopyBeforeMigration(parts: MigrationCopyParts): Promise<void> {
  const { database, file, location, from, to, versionOf = () => from, onNotice, now = Date.now } = parts;
  const time = new Date(now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const path = `${file}.v${from}-${time}.bak`;
  try {
    const bytes = await copySqlite(database, path, (copy) => versionOf(copy) === from);
    // No bytes: another process was quicker, and has kept the copy.
    if (bytes !== undefined) {
      onNotice?.(`${location} goes from schema ${from} to ${to}; as it was, it is kept in ${path}`);
    }
  } catch (error) {
    if (existsSync(path)) return;
    throw new StoreError(
      "full",
      `${location} cannot be copied to ${path}, and its schema is not changed without: make room, or check the ` +
        "directory's owner and mode",
      { cause: error },
    );
  }
}
