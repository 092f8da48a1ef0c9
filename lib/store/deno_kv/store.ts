import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { randomBase62 } from "../../random.ts";
import type { FileLock } from "../../runtime/file_lock.ts";
import type { Kv } from "../../runtime/kv.ts";
import type { StoreDriver } from "../checked_store.ts";
import { ensureStoreFile, holdAlone, holdStoreFile, type OpenOptions } from "../file/store_file.ts";
import { denoKvBuckets } from "./buckets.ts";
import { denoKvDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { denoKvEvents } from "./events.ts";
import { createOneAtATime, type DenoKvContext, retry } from "./io.ts";
import { denoKvIntents } from "./intents.ts";
import { denoKvKeys } from "./keys.ts";
import { denoKvLeases } from "./leases.ts";
import { denoKvNetwork } from "./network.ts";
import { checkKvFile, makeKvFile, openClaimed } from "./open.ts";
import { denoKvRegisters } from "./registers.ts";
import { STEPS, STORE_ID } from "./schema.ts";
import { denoKvSubmissions } from "./submissions.ts";
import { denoKvSubscriptions } from "./subscriptions.ts";
import { denoKvTransfer } from "./transfer.ts";

/**
 * Opens the store in Deno KV. With a path, a local file, which one gateway may hold for serving; without one, the
 * platform's own database (Deno Deploy's), which is shared, so that holding it keeps nobody off. `onNotice` is told of a
 * change of its schema.
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

/** @param hold keeps other gateways off; undefined where they share the store */
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
    handle: randomBase62(12, randomBytes),
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
    intents: denoKvIntents(context),
    leases: leases.methods,
    registers: denoKvRegisters(context),
    events: denoKvEvents(context),
    subscriptions: denoKvSubscriptions(context),
    deliveries: denoKvDeliveries(context),
    transfer: denoKvTransfer(context),
  };
}
