import { type Store, StoreError, WATCHER_LEASE } from "../lib/store/store.ts";
import { CommandError } from "./command.ts";

/** How long gateways that share the store are kept from watching, where this process dies. */
const ALONE_MS = 60_000;
const RENEW_MS = 15_000;

/**
 * Keeps gateways from serving from a store, and on a shared one from watching; answers how they are let in again.
 * @param options `why`: a gateway that serves has to be stopped; `holder`: whoever holds a shared store under the same name
 * is not waited for
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
    // What cannot be prolonged now may be the next time.
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
