import { existsSync, rmSync } from "node:fs";
import { sleep, type Wait } from "../../clock.ts";
import type { FileLock } from "../../runtime/file_lock.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { StoreError } from "../store.ts";
import { prepareCopy, type PreparedCopy } from "./copy.ts";
import { removeLeftovers } from "./leftovers.ts";
import { holdStoreFile } from "./store_file.ts";

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
  /** The version that it has now: another process may have been quicker. */
  versionOf?: (database: SqliteDatabase) => number | Promise<number>;
  onNotice?: OnNotice;
  /** Unix ms. */
  now?: () => number;
  wait?: Wait;
}

/** How long a start waits for another process that is at it. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;

/**
 * Changes the schema of a store that holds something, and keeps a copy of it as it was beside it
 * (`gateway.db.v1-20260301T120000Z.bak`): an older program can go on with the copy, but not with the file. What cannot
 * be changed needs no copy: then it is removed again. The store is held meanwhile: under a gateway that serves from it
 * nothing is changed, and what a migration that was killed left of its copy can go.
 *
 * @param migrate changes all of it or nothing; `keepCopy`, called just before that, gives the copy its name: until then it
 * is what a killed migration leaves, and goes
 * @throws {StoreError} `full` when it cannot be copied, `locked` when it is served or migrated by another process: then
 * nothing is changed
 * @throws what `migrate` throws
 */
export async function migrateWithCopy(
  parts: MigrationCopyParts,
  migrate: (keepCopy: () => void) => void | Promise<void>,
): Promise<void> {
  const { database, file, location, from, to, versionOf = () => from, onNotice, wait = sleep } = parts;
  const hold = await holdForMigration(parts, wait);
  try {
    // Another process has done it meanwhile.
    if (await versionOf(database) !== from) return;
    removeLeftovers(file, "part", 0);
    const path = freeName(parts);
    const copy = await copyOf(parts, path);
    let isKept = false;
    const keepCopy = () => {
      if (!isKept) copy.keep();
      isKept = true;
    };
    try {
      await migrate(keepCopy);
      keepCopy();
    } catch (error) {
      copy.drop();
      if (isKept) rmSync(path, { force: true });
      throw error;
    }
    onNotice?.(`${location} goes from schema ${from} to ${to}; as it was, it is kept in ${path}`);
  } finally {
    hold.release();
  }
}

async function holdForMigration({ file, location, from, to }: MigrationCopyParts, wait: Wait): Promise<FileLock> {
  for (let waitedMs = 0;; waitedMs += LOOK_MS) {
    try {
      return await holdStoreFile(file, location);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "locked") throw error;
      // Also a command finds this, that would run beside a gateway of its own version.
      if (waitedMs >= WAIT_MS) {
        throw new StoreError(
          "locked",
          `${location} has schema ${from}, and is served by a gateway; this program, which is newer, has schema ${to}: stop ` +
            "that gateway and start this version, or call the version that serves",
          { cause: error },
        );
      }
      await wait(LOOK_MS);
    }
  }
}

/** The name of the copy says when it was made, to the second; where that is taken, the next one does. */
function freeName({ file, from, now = Date.now }: MigrationCopyParts): string {
  for (let timeMs = now();; timeMs += 1_000) {
    const time = new Date(timeMs).toISOString().replace(/[-:]|\.\d+/g, "");
    const path = `${file}.v${from}-${time}.bak`;
    if (!existsSync(path)) return path;
  }
}

async function copyOf({ database, location }: MigrationCopyParts, path: string): Promise<PreparedCopy> {
  try {
    return await prepareCopy(database, path);
  } catch (error) {
    throw new StoreError(
      "full",
      `${location} cannot be copied to ${path}, and its schema is not changed without: make room, or check the ` +
        "directory's owner and mode",
      { cause: error },
    );
  }
}
