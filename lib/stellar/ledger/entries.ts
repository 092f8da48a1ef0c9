import { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import { createEntryBatches, MAX_KEYS_PER_CALL, type ReadEntry } from "./entry_batches.ts";
import { believed } from "./freshness.ts";
import type { RawLedgerEntry } from "../rpc/schemas.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { LedgerView } from "./ledger_view.ts";

/** Entries as of one ledger, in the order of the keys; undefined where the ledger holds none. */
export interface EntriesAnswer {
  ledger: number;
  entries: (RawLedgerEntry | undefined)[];
}

export interface EntryReader {
  /**
   * Reads entries by their base64 LedgerKeys, all as of the same ledger. `fresh` passes the cache over, and does not wait
   * to be joined by others.
   * @throws {GatewayError} `upstream_error` when the node fails, lags, or shows three times entries of different ledgers
   */
  read(keys: string[], options?: { fresh?: boolean }): Promise<EntriesAnswer>;
  /** The same without asking anybody: undefined unless every entry is cached. */
  readNow(keys: string[]): EntriesAnswer | undefined;
}

export interface EntryReaderParts {
  rpc: RpcClient;
  view: LedgerView;
  clock: Clock;
  /** How long an answer holds when no new ledger is seen; 6 000 when absent. */
  maxAgeMs?: number;
  /** How many entries are cached; 50 000 when absent. */
  maxEntries?: number;
}

const TRIES = 3;

/**
 * Reads ledger entries: concurrent reads are joined into few calls, and what was answered (absence too) holds until the
 * next ledger is seen.
 */
export function createEntryReader(parts: EntryReaderParts): EntryReader {
  const { rpc, view, clock, maxAgeMs = 6_000, maxEntries = 50_000 } = parts;
  const cached = new Map<string, ReadEntry & { readAtMs: number }>();
  view.onNews(() => cached.clear());

  const batches = createEntryBatches({
    clock,
    maxAgeMs,
    async fetchEntries(keys) {
      let [known, askedAtMs] = [0, 0];
      const answer = await believed({ rpc, view, clock }, () => {
        [known, askedAtMs] = [view.sequence, clock.monotonicMs()];
        return rpc.getLedgerEntries(keys);
      });
      const present = new Map(answer.entries.map((entry) => [entry.key, entry]));
      const found = new Map(keys.map((key) => [key, { ledger: answer.latestLedger, entry: present.get(key) }]));
      // It holds for its own ledger only: the view may have moved on since. And an answer that was the first to speak of a
      // ledger may be wrong, and of the one before.
      const isKnown = answer.latestLedger === view.sequence && answer.latestLedger === known;
      if (isKnown) { for (const [key, one] of found) keep(key, one, askedAtMs); }
      return found;
    },
  });

  function keep(key: string, found: ReadEntry, readAtMs: number): void {
    if (cached.size >= maxEntries) cached.delete(cached.keys().next().value!);
    cached.set(key, { ...found, readAtMs });
  }

  function cachedNow(key: string, nowMs: number): ReadEntry | undefined {
    // It is as of the believed ledger, and somebody was shown a newer one.
    if (view.shownSequence > view.sequence) return undefined;
    const found = cached.get(key);
    return found !== undefined && nowMs - found.readAtMs <= maxAgeMs ? found : undefined;
  }

  function readNow(keys: string[]): EntriesAnswer | undefined {
    const nowMs = clock.monotonicMs();
    const entries: (RawLedgerEntry | undefined)[] = [];
    for (const key of keys) {
      const found = cachedNow(key, nowMs);
      if (found === undefined) return undefined;
      entries.push(found.entry);
    }
    return { ledger: view.sequence, entries };
  }

  return {
    readNow,
    async read(keys, { fresh = false } = {}) {
      const priority = fresh ? "high" : keys.length > MAX_KEYS_PER_CALL ? "low" : "normal";
      for (let tried = 0; tried < TRIES; tried += 1) {
        const nowMs = clock.monotonicMs();
        const passOver = fresh && tried === 0;
        const found = await Promise.all(
          keys.map((key) => (passOver ? undefined : cachedNow(key, nowMs)) ?? batches.ask(key, priority)),
        );
        const ledger = found[0]?.ledger ?? view.sequence;
        if (found.every((one) => one.ledger === ledger)) return { ledger, entries: found.map((one) => one.entry) };
      }
      throw new GatewayError(
        "upstream_error",
        `${keys.length} ledger entries could not be read as of one ledger in ${TRIES} tries`,
      );
    },
  };
}
