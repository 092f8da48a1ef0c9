import { type Store, StoreError, WATCHER_LEASE } from "../lib/store/store.ts";
import { CommandError } from "./command.ts";

/** How long the lease outlives this process when it dies. */
const ALONE_MS = 60_000;
const RENEW_MS = 15_000;

/**
 * Locks a store, so that no gateway serves from it; a shared one by the watcher's lease. Returns the function that unlocks.
 * @param options.why ends the message about a gateway that serves
 * @param options.holder of the lease: a later call with the same holder takes it over
 * @throws {CommandError} while a gateway serves
 */
export async function holdAlone(
  store: Store,
  { why, holder = crypto.randomUUID() }: { why: string; holder?: string },
): Promise<() => Promise<void>> {
  const isServed = () => new CommandError(`a gateway serves ${store.location}${why}: stop it first`);
  if (store.isShared) {
    const request = { name: WATCHER_LEASE, holder, durationMs: ALONE_MS };
    const lease = await store.leases.acquire(request);
    if (lease === undefined) throw isServed();
    // The next renewal may succeed.
    const timer = setInterval(() => void store.leases.renew([lease], ALONE_MS).catch(() => {}), RENEW_MS);
    return () => {
      clearInterval(timer);
      return store.leases.release([lease]);
    };
  }
  try {
    await store.holdForServing();
    return () => Promise.resolve();
  } catch (error) {
    if (!(error instanceof StoreError && error.kind === "locked")) throw error;
    throw isServed();
  }
}
