import { resolve } from "node:path";
import type { FileLock } from "../../runtime/file_lock.ts";
import type { Kv } from "../../runtime/kv.ts";
import { denoKvAttempts } from "./attempts.ts";
import { denoKvBuckets } from "./buckets.ts";
import { denoKvDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { denoKvEvents } from "./events.ts";
import { denoKvHistory } from "./history.ts";
import { commit } from "./io.ts";
import { denoKvKeys } from "./keys.ts";
import { denoKvLateEvents } from "./late_events.ts";
import { denoKvLeases } from "./leases.ts";
import { checkKvFile, makeKvFile, openClaimed } from "./open.ts";
import { denoKvReplays } from "./replays.ts";
import { denoKvRetention } from "./retention.ts";
import { denoKvSettlements } from "./settlements.ts";
import { denoKvSubmissions } from "./submissions.ts";
import { denoKvSubscriptions } from "./subscriptions.ts";
import { networkMismatch } from "../network.ts";
import { type Store, StoreError } from "../store.ts";
import { ensureStoreFile, holdAlone, holdStoreFile, type OpenOptions } from "../file/store_file.ts";

/** What each noun of this driver is given. */
export interface DenoKvContext {
  kv: Kv;
  location: string;
  /** Does the work; every fault becomes a `StoreError`, and so does a closed store. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Repeats a read and a checked commit until nobody else wrote in between; `attempt` answers undefined when one did. */
  retry<T>(attempt: () => Promise<{ done: T } | undefined>): Promise<T>;
}

const NETWORK = ["network"];

/** Somebody else has to win each of these, and a winner does not come back at once. */
const MAX_ATTEMPTS = 50;

/**
 * Opens the store in Deno KV. With a path, a local file, which one gateway may hold for serving; without one, the
 * platform's own database (Deno Deploy's), which is shared, so that holding it keeps nobody off. `onNotice` is told where
 * a file is kept as it was before its schema changed.
 *
 * @throws StoreError `unavailable`, `locked`, `full`, `newer_schema`, `missing`
 */
export async function openDenoKvStore(path?: string, options: OpenOptions = {}): Promise<Store> {
  const file = path === undefined ? undefined : resolve(path);
  const location = `deno-kv:${file ?? ""}`;
  if (file !== undefined) {
    await ensureStoreFile(file, location, options, (unfinished) => makeKvFile(unfinished, location));
    await checkKvFile(file, location);
  }
  const kv = await openClaimed(file, location, options);
  return createDenoKvStore(kv, location, file === undefined ? undefined : () => holdStoreFile(file, location));
}

/** @param hold keeps other gateways off; undefined where they share the store */
function createDenoKvStore(kv: Kv, location: string, hold: (() => Promise<FileLock>) | undefined): Store {
  const underway = new Set<Promise<unknown>>();
  let lock: Promise<FileLock> | undefined;
  let closed = false;

  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) throw new StoreError("unavailable", `${location} is closed`);
    const working = work();
    underway.add(working);
    try {
      return await working;
    } catch (error) {
      throw toStoreError(error, location);
    } finally {
      underway.delete(working);
    }
  };

  const retry: DenoKvContext["retry"] = async (attempt) => {
    for (let n = 0; n < MAX_ATTEMPTS; n++) {
      const result = await attempt();
      if (result) return result.done;
    }
    throw new StoreError("locked", `${location}: other processes keep changing the same record: try again`);
  };

  const context: DenoKvContext = { kv, location, run, retry };
  const leases = denoKvLeases(context);

  return {
    location,
    bindNetwork: (passphrase) =>
      run(async () => {
        await commit(kv.atomic().check({ key: NETWORK, versionstamp: null }).set(NETWORK, passphrase));
        const bound = (await kv.get<string>(NETWORK)).value!;
        if (bound !== passphrase) throw networkMismatch(location, bound, passphrase);
      }),
    boundNetwork: () => run(async () => (await kv.get<string>(NETWORK)).value ?? undefined),
    async holdForServing() {
      await run(() => Promise.resolve());
      if (hold === undefined) return;
      lock ??= holdAlone(hold, leases.freeAll).catch((error) => {
        lock = undefined;
        throw error;
      });
      await lock;
    },
    ...denoKvKeys(context),
    ...denoKvBuckets(context),
    ...denoKvEvents(context),
    ...denoKvHistory(context),
    ...denoKvSubmissions(context),
    ...denoKvSubscriptions(context),
    ...denoKvDeliveries(context),
    ...denoKvLateEvents(context),
    ...leases.methods,
    ...denoKvSettlements(context),
    ...denoKvAttempts(context),
    ...denoKvReplays(context),
    ...denoKvRetention(context),
    async close() {
      if (closed) return;
      closed = true;
      await Promise.allSettled(underway);
      kv.close();
      (await lock?.catch(() => undefined))?.release();
    },
  };
}
