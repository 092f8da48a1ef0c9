import { GatewayError } from "../../errors.ts";
import type { Wait } from "../../clock.ts";
import { createEntryBatches, type ReadEntry } from "./entry_batches.ts";
import { believed } from "./freshness.ts";
import type { RawLedgerEntry, RpcClient } from "../rpc/rpc.ts";
import type { LedgerTip } from "./tip.ts";

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
  /** The same without asking anybody: undefined unless every entry is held. */
  readNow(keys: string[]): EntriesAnswer | undefined;
}

export interface EntryReaderParts {
  rpc: RpcClient;
  tip: LedgerTip;
  now: () => number;
  wait: Wait;
  /** How long an answer holds when no new ledger is seen; 6 000 when absent. */
  maxAgeMs?: number;
  /** How many entries are held; 50 000 when absent. */
  maxEntries?: number;
}

const TRIES = 3;

/**
 * Reads ledger entries: concurrent reads are joined into few calls, and what was answered (absence too) holds until the
 * next ledger is seen.
 */
export function createEntryReader(parts: EntryReaderParts): EntryReader {
  const { rpc, tip, now, wait, maxAgeMs = 6_000, maxEntries = 50_000 } = parts;
  const held = new Map<string, ReadEntry & { readAtMs: number }>();
  tip.onChange(() => held.clear());

  const batches = createEntryBatches({
    now,
    wait,
    async fetchEntries(keys) {
      const answer = await believed({ rpc, tip, wait }, () => rpc.getLedgerEntries(keys));
      const present = new Map(answer.entries.map((entry) => [entry.key, entry]));
      const found = new Map(keys.map((key) => [key, { ledger: answer.latestLedger, entry: present.get(key) }]));
      // The tip may have moved on since the answer was believed: it holds for its own ledger only.
      if (answer.latestLedger === tip.sequence) { for (const [key, one] of found) hold(key, one); }
      return found;
    },
  });

  function hold(key: string, found: ReadEntry): void {
    if (held.size >= maxEntries) held.delete(held.keys().next().value!);
    held.set(key, { ...found, readAtMs: now() });
  }

  function heldNow(key: string, nowMs: number): ReadEntry | undefined {
    const found = held.get(key);
    return found !== undefined && nowMs - found.readAtMs <= maxAgeMs ? found : undefined;
  }

  function readNow(keys: string[]): EntriesAnswer | undefined {
    const nowMs = now();
    const entries: (RawLedgerEntry | undefined)[] = [];
    for (const key of keys) {
      const found = heldNow(key, nowMs);
      if (found === undefined) return undefined;
      entries.push(found.entry);
    }
    return { ledger: tip.sequence, entries };
  }

  return {
    readNow,
    async read(keys, { fresh = false } = {}) {
      for (let tried = 0; tried < TRIES; tried += 1) {
        const nowMs = now();
        const passOver = fresh && tried === 0;
        const found = await Promise.all(
          keys.map((key) => (passOver ? undefined : heldNow(key, nowMs)) ?? batches.ask(key, fresh)),
        );
        const ledger = found[0]?.ledger ?? tip.sequence;
        if (found.every((one) => one.ledger === ledger)) return { ledger, entries: found.map((one) => one.entry) };
      }
      throw new GatewayError(
        "upstream_error",
        `${keys.length} ledger entries could not be read as of one ledger in ${TRIES} tries`,
      );
    },
  };
}
