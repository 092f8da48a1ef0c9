import type { Clock } from "../clock.ts";
import type { KeyRecord } from "../store/store.ts";
import { hashKey, parseKey, sameHash } from "./api_key.ts";
import type { KeySource } from "./key_source.ts";
import { createRecentMap } from "../bounded_map.ts";
import { createRecurring } from "../loop.ts";
import { createUseTracker } from "./use_tracker.ts";

export type KeyRefusal = "malformed" | "checksum" | "unknown" | "disabled" | "expired";
export type KeyVerdict = { record: KeyRecord } | { reason: KeyRefusal };

export interface KeyVerifierOptions {
  source: KeySource;
  /** The wall clock decides expiry and the time of a use, the monotonic clock the age of a cached key. */
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** Called once when the source fails, and when a use cannot be written. The message contains no key. */
  onProblem(message: string, cause: unknown): void;
  /** Verified keys in memory; 20 000 by default. */
  maxCached?: number;
  /** Interval between checks for changed keys; 400 ms by default, below `MAX_STALE_MS`. */
  pollMs?: number;
}

export interface KeyVerifier {
  /**
   * Verifies a key; synchronous for a cached key, otherwise with a read of the source.
   * Rejects only when the source is unreadable.
   */
  verify(presented: string): KeyVerdict | Promise<KeyVerdict>;
  /** Checks the source for changed keys, and writes the uses. Never rejects. */
  refresh(): Promise<void>;
  /** Begins to refresh at intervals. */
  start(): void;
  /** Stops refreshing and writes the last uses. The source stays open. */
  stop(): Promise<void>;
}

/** A change of a key takes effect within this time, even with a slow source. */
const MAX_STALE_MS = 1_000;
/** A key's last use is written at most this often. */
const USE_INTERVAL_MS = 60_000;

/** A verified key. Its cache key is the presented string, which saves the hash. */
interface CachedKey {
  verdict: { record: KeyRecord };
  /** Monotonic. */
  verifiedAtMs: number;
  /** Infinity without an end. */
  expiresAtMs: number;
  useNotedAtMs: number;
}

const EXPIRED: KeyVerdict = { reason: "expired" };

/** Verifies presented keys against a source. Refusals are never cached, because the address limit bounds their cost. */
export function createKeyVerifier(options: KeyVerifierOptions): KeyVerifier {
  const { source, clock, onProblem, maxCached = 20_000, pollMs = 400 } = options;
  const cache = createRecentMap<CachedKey>(maxCached);
  const uses = createUseTracker({ source, monotonicMs: clock.monotonicMs });
  const pending = new Map<string, { verdict: Promise<KeyVerdict>; startedAtMs: number }>();
  /** Time of the last successful check for changes, monotonic: the whole cache is current for a second after it. */
  let freshSinceMs = -Infinity;
  /** The source's version at that check. A read that began at an earlier one is not cached. */
  let version: number | undefined;
  const refreshing = createRecurring({
    work: refresh,
    everyMs: pollMs,
    onProblem: (cause) => onProblem("reading the keys or writing their use failed; retrying", cause),
  });

  function verify(presented: string): KeyVerdict | Promise<KeyVerdict> {
    const cached = cache.get(presented);
    if (cached !== undefined) {
      const staleFromMs = clock.monotonicMs() - MAX_STALE_MS;
      if (freshSinceMs > staleFromMs || cached.verifiedAtMs > staleFromMs) {
        const nowMs = clock.now();
        if (nowMs >= cached.expiresAtMs) return EXPIRED;
        noteUse(cached, nowMs);
        return cached.verdict;
      }
    }
    const parsed = parseKey(presented);
    if ("error" in parsed) return { reason: parsed.error };
    // Concurrent requests with one key share one read of the source, unless the read is slow and its result could be stale.
    const asked = pending.get(presented);
    const startedAtMs = clock.monotonicMs();
    if (asked !== undefined && startedAtMs - asked.startedAtMs < MAX_STALE_MS) return asked.verdict;
    const own = { verdict: verifyAtSource(presented, parsed.id, startedAtMs), startedAtMs };
    pending.set(presented, own);
    return own.verdict.finally(() => {
      if (pending.get(presented) === own) pending.delete(presented);
    });
  }

  async function verifyAtSource(presented: string, id: string, startedAtMs: number): Promise<KeyVerdict> {
    const startedIn = version;
    const hash = hashKey(presented);
    const record = await source.get(id);
    if (record === undefined || !sameHash(hash, record.hash)) return { reason: "unknown" };
    if (record.disabled) return { reason: "disabled" };
    const nowMs = clock.now();
    const cached: CachedKey = {
      verdict: { record },
      verifiedAtMs: startedAtMs,
      expiresAtMs: record.expiresAt === undefined ? Infinity : Date.parse(record.expiresAt),
      useNotedAtMs: record.lastUsedAt === undefined ? 0 : Date.parse(record.lastUsedAt),
    };
    if (nowMs >= cached.expiresAtMs) return EXPIRED;
    noteUse(cached, nowMs);
    if (startedIn === version) cache.set(presented, cached);
    return cached.verdict;
  }

  /** At most once a minute. A stored time in the future means that the clock was set back. */
  function noteUse(cached: CachedKey, nowMs: number): void {
    if (Math.abs(nowMs - cached.useNotedAtMs) < USE_INTERVAL_MS) return;
    cached.useNotedAtMs = nowMs;
    uses.note(cached.verdict.record.id, nowMs);
  }

  async function refresh(isLast: boolean): Promise<void> {
    // Measured from before the check: the next check finds a later change in time.
    const askedAtMs = clock.monotonicMs();
    const current = await source.version();
    if (current !== version) cache.clear();
    version = current;
    freshSinceMs = askedAtMs;
    await uses.flush(isLast);
  }

  return { verify, refresh: refreshing.now, start: refreshing.start, stop: refreshing.stop };
}
