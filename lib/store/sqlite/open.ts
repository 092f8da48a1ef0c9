import { resolve } from "node:path";
import type { FileLock } from "../../runtime/file_lock.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import type { StoreDriver } from "../checked_store.ts";
import {
  createEmpty,
  ensureStoreFile,
  holdAlone,
  holdStoreFile,
  missingStore,
  type OpenOptions,
} from "../file/store_file.ts";
import { sqlBuckets } from "../sql/buckets.ts";
import { sqlIntents } from "../sql/intents.ts";
import { sqlKeys } from "../sql/keys.ts";
import { sqlLeases } from "../sql/leases.ts";
import { sqlNetwork } from "../sql/network.ts";
import { sqlPayments } from "../sql/payments.ts";
import { sqlReferences } from "../sql/references.ts";
import { sqlSharedState } from "../sql/shared_state.ts";
import { sqlSubmissions } from "../sql/submissions.ts";
import { sqlSubscriptions } from "../sql/subscriptions.ts";
import { sqlTransactions } from "../sql/transactions.ts";
import { schemaChanged } from "../store_error.ts";
import { PURGE_ATTEMPTS } from "./attempts.ts";
import { createCommitTogether, type SqliteContext } from "./database.ts";
import { sqliteDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { sqliteEventRows } from "./event_rows.ts";
import { sqliteEvents } from "./events.ts";
import { sqliteLog } from "./log.ts";
import { checkOwnership, migrate, schemaVersion, type SqliteStep, STEPS } from "./schema.ts";
import { createSqliteSql } from "./sql.ts";

/** How long a write waits for another process. The event loop stands still meanwhile, and `keygen` needs milliseconds. */
const BUSY_TIMEOUT_MS = 1_000;

/** A commit is on the disk when it returns. The page cache (16 MB) keeps a long history's indexes from thrashing. */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 16777216;
  PRAGMA cache_size = -16000;`;

/**
 * Opens the SQLite store in this file, or makes it, and migrates it to the newest schema, with a notice to `onNotice`.
 * Several processes may have it open. One of them may serve (`holdForServing`).
 *
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
export async function openSqliteDriver(path: string, options: OpenOptions = {}, steps = STEPS): Promise<StoreDriver> {
  const file = resolve(path);
  const location = `sqlite:${file}`;
  await ensureStoreFile(file, location, options, (unfinished) => makeSqliteFile(unfinished, location, steps));
  const database = await openMigrated(file, location, options, steps);
  return createSqliteDriver(database, location, options, () => holdStoreFile(file, location));
}

/** Opens a store in memory. It ends with this process. */
export async function openMemoryDriver(options: Pick<OpenOptions, "now" | "isShared"> = {}): Promise<StoreDriver> {
  const database = await openMigrated(":memory:", "memory:", {}, STEPS);
  const hold = options.isShared ? undefined : () => Promise.resolve({ release() {} });
  return createSqliteDriver(database, "memory:", options, hold);
}

/** Not in WAL mode: on a full disk, SQLite would leave the end of the write-ahead log unwritten without an error. */
async function makeSqliteFile(path: string, location: string, steps: SqliteStep[]): Promise<void> {
  createEmpty(path, location);
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqlite(path);
    migrate(database, steps);
  } catch (error) {
    throw toStoreError(error, location);
  } finally {
    database?.close();
  }
}

async function openMigrated(
  file: string,
  location: string,
  options: OpenOptions,
  steps: SqliteStep[],
): Promise<SqliteDatabase> {
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqlite(file);
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    checkOwnership(database, location, steps.length);
    await bringUpToDate(database, file, location, options, steps);
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
  steps: SqliteStep[],
): Promise<void> {
  const [from, to] = [schemaVersion(database), steps.length];
  if (from === 0 && mustExist) throw missingStore(location);
  database.exec(PRAGMAS);
  if (from === 0 || from === to) return migrate(database, steps);
  // A migration must not change the schema under a gateway that serves.
  const hold = await holdStoreFile(file, location);
  try {
    migrate(database, steps);
  } finally {
    hold.release();
  }
  onNotice?.(schemaChanged(location, from, to));
}

/** Puts the driver together on a database that has the newest schema. `hold` locks other gateways out. Without it they share. */
export function createSqliteDriver(
  database: SqliteDatabase,
  location: string,
  { now = Date.now }: Pick<OpenOptions, "now">,
  hold: (() => Promise<FileLock>) | undefined,
): StoreDriver {
  let lock: FileLock | undefined;
  const commitTogether = createCommitTogether(database);
  const context: SqliteContext = {
    database,
    sql: createSqliteSql({ database, now, commitTogether }),
    location,
    now,
    isHeld: () => lock !== undefined,
    commitTogether,
  };
  const log = sqliteLog(context);
  const rows = sqliteEventRows(context);
  const leases = sqlLeases(context, context.isHeld);
  const intents = sqlIntents(context);
  const transactions = sqlTransactions(context);
  const endLeases = database.prepare("UPDATE lease SET holder = NULL");

  return {
    location,
    id: database.prepare<{ id: string }>("SELECT id FROM store").get()!.id,
    isShared: hold === undefined,
    async holdForServing() {
      if (hold !== undefined) lock = await holdAlone(hold, () => void endLeases.run());
    },
    close() {
      database.close();
      lock?.release();
    },
    toStoreError: (error) => toStoreError(error, location),
    network: sqlNetwork(context),
    keys: sqlKeys(context),
    buckets: sqlBuckets(context),
    submissions: sqlSubmissions(context, transactions),
    transactions: transactions.methods,
    references: sqlReferences(context),
    intents: intents.methods,
    leases: leases.methods,
    sharedState: sqlSharedState(context),
    events: sqliteEvents(context, log, rows, leases),
    subscriptions: sqlSubscriptions(context, { intents, purgeAttempts: PURGE_ATTEMPTS }),
    deliveries: sqliteDeliveries(context, log, rows, leases, intents),
    payments: sqlPayments(context, leases),
  };
}
