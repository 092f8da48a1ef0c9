import { resolve } from "node:path";
import type { FileLock } from "../../runtime/file_lock.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { migrateWithCopy } from "../file/migration_copy.ts";
import { networkMismatch } from "../network.ts";
import { sqliteAttempts } from "./attempts.ts";
import { sqliteBuckets } from "./buckets.ts";
import { sqliteDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { sqliteEvents } from "./events.ts";
import { sqliteHistory } from "./history.ts";
import { sqliteKeys } from "./keys.ts";
import { sqliteFanOutCursor, sqliteLateEvents, sqliteLateness } from "./late_events.ts";
import { sqliteLeases } from "./leases.ts";
import { sqliteOutbox } from "./outbox.ts";
import { sqliteReplays } from "./replays.ts";
import { sqliteRetention } from "./retention.ts";
import { checkOwnership, holdsData, migrate, MIGRATIONS, schemaVersion } from "./schema.ts";
import { sqliteSubmissions } from "./submissions.ts";
import { sqliteSubscriptions } from "./subscriptions.ts";
import { type Store, StoreError } from "../store.ts";
import {
  createEmpty,
  ensureStoreFile,
  holdAlone,
  holdStoreFile,
  missingStore,
  type OpenOptions,
} from "../file/store_file.ts";

/** What each noun of this driver is given. */
export interface SqliteContext {
  database: SqliteDatabase;
  location: string;
  /** Does synchronous work now, as a promise: every fault of SQLite becomes a `StoreError`, and so does a closed store. */
  run<T>(work: () => T): Promise<T>;
}

/** How long a write waits for another process's. The event loop stands still meanwhile, and `keygen` needs milliseconds. */
const BUSY_TIMEOUT_MS = 1_000;

/** A commit is on the disk when it returns. The page cache (16 MB) keeps a long history's indexes from thrashing. */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 16777216;
  PRAGMA cache_size = -16000;`;

/**
 * Opens the SQLite store in this file, creating it when it is missing, and migrates it to the newest schema; `onNotice`
 * is told where the file is kept as it was. Several processes may have it open; one of them may serve (`holdForServing`).
 *
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
export async function openSqliteStore(path: string, options: OpenOptions = {}): Promise<Store> {
  const file = resolve(path);
  const location = `sqlite:${file}`;
  await ensureStoreFile(file, location, options, (unfinished) => makeSqliteFile(unfinished, location));
  const database = await openMigrated(file, location, options);
  return createSqliteStore(database, location, () => holdStoreFile(file, location));
}

/** Opens a store that lives in this process and ends with it. */
export async function openMemoryStore(): Promise<Store> {
  const database = await openMigrated(":memory:", "memory:", {});
  return createSqliteStore(database, "memory:", () => Promise.resolve({ release() {} }));
}

/** Not in WAL mode: the end of a write-ahead log that finds no room is left in the log, and nobody is told. */
async function makeSqliteFile(path: string, location: string): Promise<void> {
  createEmpty(path, location);
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqlite(path);
    migrate(database);
  } catch (error) {
    throw toStoreError(error, location);
  } finally {
    database?.close();
  }
}

async function openMigrated(file: string, location: string, options: OpenOptions): Promise<SqliteDatabase> {
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqlite(file);
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    checkOwnership(database, location);
    await bringUpToDate(database, file, location, options);
    return database;
  } catch (error) {
    database?.close();
    throw toStoreError(error, location);
  }
}

async function bringUpToDate(
  database: SqliteDatabase,
  file: string,
  location: string,
  { onNotice, mustExist = false }: OpenOptions,
): Promise<void> {
  const [from, to] = [schemaVersion(database), MIGRATIONS.length];
  if (from === 0 && mustExist) throw missingStore(location);
  database.exec(PRAGMAS);
  const change = () => migrate(database);
  if (from === to || !holdsData(database)) return change();
  await migrateWithCopy({ database, file, location, from, to, versionOf: schemaVersion, onNotice }, change);
}

/** Puts the store together on a database that has the newest schema. `hold` keeps other gateways off. */
export function createSqliteStore(database: SqliteDatabase, location: string, hold: () => Promise<FileLock>): Store {
  let lock: Promise<FileLock> | undefined;
  let closed = false;

  // deno-lint-ignore require-await -- async, so that what `work` throws rejects
  const run = async <T>(work: () => T): Promise<T> => {
    if (closed) throw new StoreError("unavailable", `${location} is closed`);
    try {
      return work();
    } catch (error) {
      throw toStoreError(error, location);
    }
  };
  const context: SqliteContext = { database, location, run };
  const submissions = sqliteSubmissions(context);
  const outbox = sqliteOutbox(context);
  const cursor = sqliteFanOutCursor(context);
  const attempts = sqliteAttempts(context, outbox);
  const leases = sqliteLeases(context, outbox, attempts.note);
  const readNetwork = database.prepare("SELECT passphrase FROM network");
  const writeNetwork = database.prepare("INSERT INTO network VALUES (?)");
  const boundNetwork = () => readNetwork.get()?.passphrase as string | undefined;

  return {
    location,
    bindNetwork: (passphrase) =>
      run(() => {
        const bound = database.transaction(() => {
          const before = boundNetwork();
          if (before === undefined) writeNetwork.run(passphrase);
          return before ?? passphrase;
        });
        if (bound !== passphrase) throw networkMismatch(location, bound, passphrase);
      }),
    boundNetwork: () => run(boundNetwork),
    async holdForServing() {
      await run(() => {});
      lock ??= holdAlone(hold, leases.freeAll).catch((error) => {
        lock = undefined;
        throw error;
      });
      await lock;
    },
    ...sqliteKeys(context),
    ...sqliteBuckets(context),
    ...sqliteEvents(context, sqliteLateness(context, cursor)),
    ...sqliteHistory(context),
    ...submissions.methods,
    ...sqliteSubscriptions(context),
    ...sqliteDeliveries(context, outbox, cursor),
    ...sqliteLateEvents(context, outbox),
    ...leases.methods,
    ...attempts.methods,
    ...sqliteReplays(context, outbox),
    ...sqliteRetention(context, outbox, cursor),
    async close() {
      if (closed) return;
      await submissions.flush();
      closed = true;
      database.close();
      (await lock?.catch(() => undefined))?.release();
    },
  };
}
