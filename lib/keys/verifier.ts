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
  /** The wall clock says what has expired and when a key was used; how old an answer is goes by the monotonic one. */
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** Told once when the source stops answering, and when a note of use cannot be written; no key in it. */
  onProblem(message: string, cause: unknown): void;
  /** Verified keys kept in memory; 20 000 by default. */
  maxCached?: number;
  /** How often the source is asked whether anything changed; 400 ms by default, below `MAX_STALE_MS`. */
  pollMs?: number;
}

export interface KeyVerifier {
  /**
   * Says whose key this is. Answers at once when the key was verified lately, otherwise asks the source.
   * Rejects only when the source cannot be read.
   */
  verify(presented: string): KeyVerdict | Promise<KeyVerdict>;
  /** Asks the source whether keys changed, and writes down which were used. Never rejects. */
  refresh(): Promise<void>;
  /** Refreshes from now on. */
  start(): void;
  /** Stops refreshing and writes the last uses down. The source stays open. */
  stop(): Promise<void>;
}

/** A change of a key is heeded within this time, also when the source is slow to say that there was one. */
const MAX_STALE_MS = 1_000;
/** A key's last use is written at most this often. */
const USE_INTERVAL_MS = 60_000;

/** A verified key in memory, found by the presented string itself: that spares the hash. */
interface CachedKey {
  verdict: { record: KeyRecord };
  /** Monotonic. */
  verifiedAtMs: number;
  /** Infinity: never. */
  expiresAtMs: number;
  useNotedAtMs: number;
}

const EXPIRED: KeyVerdict = { reason: "expired" };

/** Verifies presented keys against a source. Refusals are never cached: an address limit bounds what they cost. */
export function createKeyVerifier(options: KeyVerifierOptions): KeyVerifier {
  const { source, clock, onProblem, maxCached = 20_000, pollMs = 400 } = options;
  const cache = createRecentMap<CachedKey>(maxCached);
  const uses = createUseTracker({ source, monotonicMs: clock.monotonicMs });
  const underWay = new Map<string, { verdict: Promise<KeyVerdict>; startedAtMs: number }>();
  /** When the source last said that nothing (more) has changed, monotonic: the whole cache is good for a while from then on. */
  let freshSinceMs = -Infinity;
  /** Raised when keys changed: what was read before must not be cached after. */
  let generation = 0;
  const refreshing = createRecurring({
    work: refresh,
    everyMs: pollMs,
    onProblem: (cause) => onProblem("the keys cannot be read again or their use noted; trying on", cause),
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
    // Many requests with one key at the same moment are one question to the source, unless it is slow: a late answer is an old one.
    const asked = underWay.get(presented);
    const startedAtMs = clock.monotonicMs();
    if (asked !== undefined && startedAtMs - asked.startedAtMs < MAX_STALE_MS) return asked.verdict;
    const own = { verdict: verifyAnew(presented, parsed.id, startedAtMs), startedAtMs };
    underWay.set(presented, own);
    return own.verdict.finally(() => {
      if (underWay.get(presented) === own) underWay.delete(presented);
    });
  }

  async function verifyAnew(presented: string, id: string, startedAtMs: number): Promise<KeyVerdict> {
    const startedIn = generation;
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
    if (startedIn === generation) cache.set(presented, cached);
    return cached.verdict;
  }

  /** Now and then. A time that lies ahead is of a clock that was set back since. */
  function noteUse(cached: CachedKey, nowMs: number): void {
    if (Math.abs(nowMs - cached.useNotedAtMs) < USE_INTERVAL_MS) return;
    cached.useNotedAtMs = nowMs;
    uses.note(cached.verdict.record.id, nowMs);
  }

  async function refresh(isLast: boolean): Promise<void> {
    // Counted from before the question: a change after it is heeded by the next one in time.
    const askedAtMs = clock.monotonicMs();
    if (await source.changed()) {
      generation++;
      cache.clear();
    }
    freshSinceMs = askedAtMs;
    await (isLast ? uses.flush() : uses.flushIfDue());
  }

  return { verify, refresh: refreshing.now, start: refreshing.start, stop: refreshing.stop };
}
