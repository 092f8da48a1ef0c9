import { resolve } from "node:path";
import type { FileLock } from "../../runtime/file_lock.ts";
import { type Kv, openKv } from "../../runtime/kv.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import type { StoreDriver } from "../checked_store.ts";
import { copySqlite } from "../file/copy.ts";
import { diskFull } from "../file/errors.ts";
import {
  createEmpty,
  ensureStoreFile,
  holdAlone,
  holdStoreFile,
  missingStore,
  type OpenOptions,
  removeDatabase,
} from "../file/store_file.ts";
import { toStoreError as fromSqlite } from "../sqlite/errors.ts";
import { newerSchema, schemaChanged, StoreError } from "../store_error.ts";
import { denoKvBuckets } from "./buckets.ts";
import { commit, createOneAtATime, type DenoKvContext, holdsAtMost, retry } from "./database.ts";
import { denoKvDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { denoKvEvents } from "./events.ts";
import { denoKvIntents } from "./intents.ts";
import { denoKvKeys } from "./keys.ts";
import { denoKvLeases } from "./leases.ts";
import { denoKvNetwork } from "./network.ts";
import { denoKvPayments } from "./payments.ts";
import { denoKvReferences } from "./references.ts";
import { denoKvSharedState } from "./shared_state.ts";
import { type DenoKvStep, newStoreId, SCHEMA, STEPS, STORE_ID } from "./schema.ts";
import { denoKvSubmissions } from "./submissions.ts";
import { denoKvSubscriptions } from "./subscriptions.ts";
import { denoKvTransactions } from "./transactions.ts";

/**
 * Opens the store in Deno KV. With a path it is a local file, which one gateway may lock for serving. Without a path it is the
 * platform's own database (Deno Deploy's), which gateways share. `onNotice` reports a change of the schema.
 *
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
export async function openDenoKvDriver(
  path?: string,
  options: OpenOptions = {},
  steps = STEPS,
): Promise<StoreDriver> {
  const file = path === undefined ? undefined : resolve(path);
  const location = `deno-kv:${file ?? ""}`;
  if (file !== undefined) {
    await ensureStoreFile(file, location, options, (unfinished) => makeKvFile(unfinished, location, steps));
    await checkKvFile(file, location);
  }
  const kv = await openClaimed(file, location, options, steps);
  const hold = file === undefined || options.isShared ? undefined : () => holdStoreFile(file, location);
  return createDriver(kv, location, (await kv.get<string>(STORE_ID)).value!, options, hold);
}

/** @param hold locks other gateways out; undefined where they share the store */
function createDriver(
  kv: Kv,
  location: string,
  id: string,
  { now = Date.now }: Pick<OpenOptions, "now">,
  hold: (() => Promise<FileLock>) | undefined,
): StoreDriver {
  let lock: FileLock | undefined;
  const context: DenoKvContext = {
    kv,
    location,
    now,
    isHeld: () => lock !== undefined,
    retry: (attempt) => retry(location, attempt),
    oneAtATime: createOneAtATime(),
  };
  const leases = denoKvLeases(context);

  return {
    location,
    id,
    isShared: hold === undefined,
    async holdForServing() {
      if (hold !== undefined) lock = await holdAlone(hold, leases.endAll);
    },
    close() {
      kv.close();
      lock?.release();
    },
    toStoreError: (error) => toStoreError(error, location),
    network: denoKvNetwork(context),
    keys: denoKvKeys(context),
    buckets: denoKvBuckets(context),
    submissions: denoKvSubmissions(context),
    references: denoKvReferences(context),
    intents: denoKvIntents(context),
    leases: leases.methods,
    sharedState: denoKvSharedState(context),
    events: denoKvEvents(context),
    subscriptions: denoKvSubscriptions(context),
    deliveries: denoKvDeliveries(context),
    payments: denoKvPayments(context),
    transactions: denoKvTransactions(context),
  };
}

/**
 * Makes a new store file. It is a copy of a file that Deno KV made, because Deno KV does not report when it has closed a file.
 *
 * @throws StoreError `unavailable`, `full`
 */
async function makeKvFile(path: string, location: string, steps: DenoKvStep[]): Promise<void> {
  const scratch = `${path}.kv`;
  try {
    createEmpty(scratch, location);
    (await openClaimed(scratch, location, {}, steps)).close();
    const database = await openSqlite(scratch, { readOnly: true });
    try {
      await copySqlite(database, path);
    } finally {
      database.close();
    }
  } catch (error) {
    throw (error as { code?: unknown }).code === "ENOSPC" ? diskFull(location, error) : fromSqlite(error, location);
  } finally {
    removeDatabase(scratch);
  }
}

/**
 * Rejects a foreign SQLite file before any change, also our own. Deno KV would add its tables to it.
 * @throws StoreError `unavailable`, `locked`
 */
async function checkKvFile(file: string, location: string): Promise<void> {
  try {
    const database = await openSqlite(file);
    try {
      database.exec("PRAGMA busy_timeout = 1000");
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      if (tables.length === 0 || tables.some(({ name }) => name === "kv")) return;
    } finally {
      database.close();
    }
  } catch (error) {
    throw fromSqlite(error, location);
  }
  throw new StoreError("unavailable", `${location} is a SQLite database, not one of Deno KV: name another file`);
}

/**
 * Opens a database, by default the platform's own, and makes sure that it is ours and of the newest schema.
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
async function openClaimed(
  file: string | undefined,
  location: string,
  options: OpenOptions,
  steps: DenoKvStep[],
): Promise<Kv> {
  let kv: Kv | undefined;
  try {
    kv = await openKv(file);
    const [from, to] = [await claim(kv, location, options, steps.length + 1), steps.length + 1];
    if (from < to) {
      // A migration must not change the schema under a gateway that serves.
      const hold = file === undefined ? undefined : await holdStoreFile(file, location);
      try {
        for (const [n, step] of [...steps.entries()].slice(from - 1)) {
          await step(kv);
          await commit(kv.atomic().set(SCHEMA, n + 2));
        }
      } finally {
        hold?.release();
      }
      options.onNotice?.(schemaChanged(location, from, to));
    }
    return kv;
  } catch (error) {
    kv?.close();
    throw toStoreError(error, location);
  }
}

/** Makes an empty database ours, and returns its schema. Rejects a foreign one, and one of a newer program. */
async function claim(
  kv: Kv,
  location: string,
  { mustExist = false }: OpenOptions,
  newest: number,
): Promise<number> {
  const entry = await kv.get<number>(SCHEMA);
  if (entry.value === null && await holdsAtMost(kv, 0)) {
    if (mustExist) throw missingStore(location);
    await commit(kv.atomic().check(entry).set(SCHEMA, newest).set(STORE_ID, newStoreId()));
  }
  // The second read returns our schema, or that of a faster process.
  const version = entry.value ?? (await kv.get<number>(SCHEMA)).value;
  if (version === null) {
    throw new StoreError("unavailable", `${location} holds the data of another program: name another database`);
  }
  if (version > newest) throw newerSchema(location, version, newest);
  return version;
}
