import type { KeyRecord } from "../store/store.ts";
import { hashKey, parseKey, sameHash } from "./api_key.ts";
import type { KeySource } from "./key_source.ts";
import { createRecentMap } from "../bounded_map.ts";
import { createUseTracker } from "./use_tracker.ts";

export type KeyRefusal = "malformed" | "checksum" | "unknown" | "disabled" | "expired";
export type KeyVerdict = { record: KeyRecord } | { reason: KeyRefusal };

export interface KeyVerifierOptions {
  source: KeySource;
  /** Unix ms. */
  now(): number;
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
/** Uses of all keys are written together at most this often. */
const USE_FLUSH_MS = 5_000;

/** A verified key in memory, found by the presented string itself: that spares the hash. */
interface CachedKey {
  verdict: { record: KeyRecord };
  verifiedAtMs: number;
  /** Infinity: never. */
  expiresAtMs: number;
  useNotedAtMs: number;
}

const EXPIRED: KeyVerdict = { reason: "expired" };

/** Verifies presented keys against a source. Refusals are never cached: an address limit bounds what they cost. */
export function createKeyVerifier(options: KeyVerifierOptions): KeyVerifier {
  const { source, now, onProblem, maxCached = 20_000, pollMs = 400 } = options;
  const cache = createRecentMap<CachedKey>(maxCached);
  const uses = createUseTracker(source);
  const underWay = new Map<string, Promise<KeyVerdict>>();
  /** When the source last said that nothing (more) has changed: the whole cache is good for a while from then on. */
  let freshSinceMs = -Infinity;
  let usesFlushedAtMs = now();
  /** Raised when keys changed: what was read before must not be cached after. */
  let generation = 0;
  let refreshing: Promise<void> | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isStopping = false;
  let toldProblem = false;

  function verify(presented: string): KeyVerdict | Promise<KeyVerdict> {
    const cached = cache.get(presented);
    if (cached !== undefined) {
      const nowMs = now();
      if (isRecent(freshSinceMs, nowMs) || isRecent(cached.verifiedAtMs, nowMs)) {
        if (nowMs >= cached.expiresAtMs) return EXPIRED;
        if (nowMs - cached.useNotedAtMs >= USE_INTERVAL_MS) noteUse(cached, nowMs);
        return cached.verdict;
      }
    }
    const parsed = parseKey(presented);
    if ("error" in parsed) return { reason: parsed.error };
    // Many requests with one key at the same moment are one question to the source.
    const asked = underWay.get(presented);
    if (asked !== undefined) return asked;
    const verifying = verifyAnew(presented, parsed.id).finally(() => underWay.delete(presented));
    underWay.set(presented, verifying);
    return verifying;
  }

  async function verifyAnew(presented: string, id: string): Promise<KeyVerdict> {
    const startedAtMs = now();
    const startedIn = generation;
    const hash = hashKey(presented);
    const record = await source.get(id);
    if (record === undefined || !sameHash(hash, record.hash)) return { reason: "unknown" };
    if (record.disabled) return { reason: "disabled" };
    const nowMs = now();
    const cached: CachedKey = {
      verdict: { record },
      verifiedAtMs: startedAtMs,
      expiresAtMs: record.expiresAt === undefined ? Infinity : Date.parse(record.expiresAt),
      useNotedAtMs: record.lastUsedAt === undefined ? 0 : Date.parse(record.lastUsedAt),
    };
    if (nowMs >= cached.expiresAtMs) return EXPIRED;
    if (nowMs - cached.useNotedAtMs >= USE_INTERVAL_MS) noteUse(cached, nowMs);
    if (startedIn === generation) cache.set(presented, cached);
    return cached.verdict;
  }

  function noteUse(cached: CachedKey, nowMs: number): void {
    cached.useNotedAtMs = nowMs;
    uses.note(cached.verdict.record.id, nowMs);
  }

  async function refreshOnce(): Promise<void> {
    try {
      // Counted from before the question: a change after it is heeded by the next one in time.
      const askedAtMs = now();
      if (await source.changed()) {
        generation++;
        cache.clear();
      }
      freshSinceMs = askedAtMs;
      if (isStopping || askedAtMs - usesFlushedAtMs >= USE_FLUSH_MS) {
        await uses.flush();
        usesFlushedAtMs = askedAtMs;
      }
      toldProblem = false;
    } catch (error) {
      if (!toldProblem) onProblem("the keys cannot be read again or their use noted; trying on", error);
      toldProblem = true;
    }
  }

  function refresh(): Promise<void> {
    refreshing ??= refreshOnce().finally(() => refreshing = undefined);
    return refreshing;
  }

  return {
    verify,
    refresh,
    start() {
      isStopping = false;
      timer ??= setInterval(refresh, pollMs);
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await refreshing;
      isStopping = true;
      await refresh();
    },
  };
}

/** Also false when the clock was set back: then nothing is known. */
function isRecent(atMs: number, nowMs: number): boolean {
  return nowMs >= atMs && nowMs - atMs < MAX_STALE_MS;
}
