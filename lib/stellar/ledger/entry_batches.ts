import type { Clock } from "../../clock.ts";
import type { RawLedgerEntry } from "../rpc/schemas.ts";

/** An entry as of a ledger; `entry` is undefined when the ledger does not hold it. */
export interface ReadEntry {
  ledger: number;
  entry: RawLedgerEntry | undefined;
}

/** `urgent`: at once. `bulk`: one of so many that all others go first. */
export type Haste = "urgent" | "usual" | "bulk";

export interface EntryBatches {
  /** Asks for one key with the next batch; joins whoever asks for it already, and has not for too long. */
  ask(key: string, haste?: Haste): Promise<ReadEntry>;
}

/** The protocol's bound on one `getLedgerEntries`. */
export const MAX_KEYS_PER_CALL = 200;
const MAX_CALLS_IN_FLIGHT = 4;
/** How long a batch that is not full gathers: longer with each one that lately went out, so that a crowd is not sent in crumbs. */
const GATHER_MS = [0, 10, 25, 50];
const CALM_AFTER_MS = 250;

interface Waiting {
  /** Monotonic; undefined: it waits to be sent. */
  sentAtMs: number | undefined;
  /** It is of no bulk. */
  isAhead: boolean;
  promise: Promise<ReadEntry>;
  resolve(found: ReadEntry): void;
  reject(error: unknown): void;
}

/**
 * Joins reads of single keys into calls of at most 200. A full batch goes out at once (four calls at a time); one that is
 * not full gathers for a moment, and only while no other call is under way. An urgent key takes with it what is gathered.
 */
export function createEntryBatches({ fetchEntries, clock: { monotonicMs, wait }, maxAgeMs }: {
  /** Answers the entry of every key asked for. */
  fetchEntries: (keys: string[]) => Promise<Map<string, ReadEntry>>;
  clock: Clock;
  /** What was sent longer ago nobody joins: a late answer is an old one. */
  maxAgeMs: number;
}): EntryBatches {
  const waiting = new Map<string, Waiting>();
  /** Those of no bulk first. */
  let queue: string[] = [];
  let ahead = 0;
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

  /** Whoever pays does not wait for a wallet of thousands of cards. */
  function goAhead(key: string, own: Waiting): void {
    own.isAhead = true;
    queue.splice(queue.lastIndexOf(key), 1);
    queue.splice(ahead, 0, key);
    ahead += 1;
  }

  function enqueue(key: string): Waiting {
    const own: Waiting = { ...Promise.withResolvers<ReadEntry>(), sentAtMs: undefined, isAhead: false };
    waiting.set(key, own);
    queue.push(key);
    return own;
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
    ahead = Math.max(0, ahead - keys.length);
    inFlight += 1;
    lastCallAtMs = monotonicMs();
    const asked = new Map(keys.map((key) => [key, waiting.get(key)!]));
    for (const one of asked.values()) one.sentAtMs = lastCallAtMs;
    void answer(asked).finally(() => {
      inFlight -= 1;
      pump();
    });
  }

  async function answer(asked: Map<string, Waiting>): Promise<void> {
    const forget = (key: string, one: Waiting) => waiting.get(key) === one && waiting.delete(key);
    try {
      const found = await fetchEntries([...asked.keys()]);
      for (const [key, one] of asked) {
        one.resolve(found.get(key)!);
        forget(key, one);
      }
    } catch (error) {
      for (const [key, one] of asked) {
        one.reject(error);
        forget(key, one);
      }
    }
  }

  return {
    ask(key, haste = "usual") {
      const joined = waiting.get(key);
      const isJoined = joined !== undefined && monotonicMs() - (joined.sentAtMs ?? Infinity) <= maxAgeMs;
      const own = isJoined ? joined : enqueue(key);
      if (own.sentAtMs !== undefined) return own.promise;
      if (haste !== "bulk" && !own.isAhead) goAhead(key, own);
      if (haste === "urgent") hurry();
      else pump();
      return own.promise;
    },
  };
}
