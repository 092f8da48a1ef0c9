import type { Clock } from "../../clock.ts";
import type { RawLedgerEntry } from "../rpc/schemas.ts";

/** An entry as of a ledger; `entry` is undefined when the ledger does not hold it. */
export interface ReadEntry {
  ledger: number;
  entry: RawLedgerEntry | undefined;
}

export interface EntryBatches {
  /** Asks for one key with the next batch, an urgent one at once; joins whoever asks for it already. */
  ask(key: string, urgent?: boolean): Promise<ReadEntry>;
}

/** The protocol's bound on one `getLedgerEntries`. */
export const MAX_KEYS_PER_CALL = 200;
const MAX_CALLS_IN_FLIGHT = 4;
/** How long a batch that is not full gathers: longer with each one that lately went out, so that a crowd is not sent in crumbs. */
const GATHER_MS = [0, 10, 25, 50];
const CALM_AFTER_MS = 250;

interface Waiting {
  promise: Promise<ReadEntry>;
  resolve(found: ReadEntry): void;
  reject(error: unknown): void;
}

/**
 * Joins reads of single keys into calls of at most 200. A full batch goes out at once (four calls at a time); one that is
 * not full gathers for a moment, and only while no other call is under way. An urgent key takes with it what is gathered.
 */
export function createEntryBatches({ fetchEntries, clock: { monotonicMs, wait } }: {
  /** Answers the entry of every key asked for. */
  fetchEntries: (keys: string[]) => Promise<Map<string, ReadEntry>>;
  clock: Clock;
}): EntryBatches {
  const waiting = new Map<string, Waiting>();
  let queue: string[] = [];
  let inFlight = 0;
  let gathering = false;
  let hurrying = false;
  let crumbs = 0;
  let lastCallAtMs = -Infinity;

  function pump(): void {
    while (queue.length >= MAX_KEYS_PER_CALL && inFlight < MAX_CALLS_IN_FLIGHT) send();
    if (queue.length === 0 || inFlight > 0 || gathering) return;
    if (monotonicMs() - lastCallAtMs > CALM_AFTER_MS) crumbs = 0;
    gathering = true;
    void wait(GATHER_MS[Math.min(crumbs, GATHER_MS.length - 1)]!).then(() => {
      gathering = false;
      if (queue.length === 0 || inFlight > 0) return;
      if (queue.length < MAX_KEYS_PER_CALL) crumbs += 1;
      send();
    });
  }

  /** What is asked for in the same turn of the event loop still goes out together. */
  function hurry(): void {
    if (hurrying) return;
    hurrying = true;
    void wait(0).then(() => {
      hurrying = false;
      if (queue.length > 0) send();
    });
  }

  function send(): void {
    const keys = queue.slice(0, MAX_KEYS_PER_CALL);
    queue = queue.slice(MAX_KEYS_PER_CALL);
    inFlight += 1;
    lastCallAtMs = monotonicMs();
    void answer(keys).finally(() => {
      inFlight -= 1;
      pump();
    });
  }

  async function answer(keys: string[]): Promise<void> {
    try {
      const found = await fetchEntries(keys);
      for (const key of keys) {
        waiting.get(key)?.resolve(found.get(key)!);
        waiting.delete(key);
      }
    } catch (error) {
      for (const key of keys) {
        waiting.get(key)?.reject(error);
        waiting.delete(key);
      }
    }
  }

  return {
    ask(key, urgent = false) {
      const joined = waiting.get(key);
      if (joined !== undefined) return joined.promise;
      const own = Promise.withResolvers<ReadEntry>();
      waiting.set(key, own);
      queue.push(key);
      if (urgent) hurry();
      else pump();
      return own.promise;
    },
  };
}
