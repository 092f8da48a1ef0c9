import { createRecurring } from "../loop.ts";
import type { BucketState, Store } from "../store/store.ts";
import {
  bucketWith,
  changeRate,
  fullBucket,
  peekToken,
  REFILL_MS,
  takeToken,
  type TokenBucket,
  tokensIn,
  type Verdict,
} from "./token_bucket.ts";

export interface LimiterOptions {
  store: Pick<Store, "buckets">;
  /** Unix ms, whole, for the times of the store's buckets. */
  now(): number;
  /** Whole ms, monotonic, for the refill. */
  monotonicNow(): number;
  /** Requests per minute of a key without a rate of its own. */
  defaultRate: number;
  /** Interval between writes of changed buckets; 1 000 ms by default. */
  flushMs?: number;
  /** Called once when buckets cannot be written. They stay in memory for a retry. */
  onProblem(message: string, cause: unknown): void;
}

/** Limits the requests of keys. */
export interface Limiter {
  /** Takes tokens of this key, one by default. Rejects only when it needs the store and the store fails. */
  take(keyId: string, rate?: number, cost?: number): Verdict | Promise<Verdict>;
  /** The verdict of `take`, without taking. */
  peek(keyId: string, rate?: number): Verdict;
  /** Writes changed buckets to the store, and drops full ones. Never rejects. */
  flush(): Promise<void>;
  /** Begins to flush at intervals. */
  start(): void;
  /** Stops, with a last flush. */
  stop(): Promise<void>;
  /** Keys in memory. */
  readonly size: number;
}

/** The limiter of a gateway with a store of its own. It is always synchronous. */
export interface LocalLimiter extends Limiter {
  /** Reads the stored buckets: once, before the first take. */
  load(): Promise<void>;
  take(keyId: string, rate?: number, cost?: number): Verdict;
}

/** Most buckets in one commit of the store. */
const BATCH_SIZE = 500;
/** Interval between sweeps for full buckets: a full bucket stays in memory for at most two intervals. */
const SWEEP_MS = REFILL_MS;
/** Stored buckets are deleted at this age. They are full after half of it; the margin is for clocks that differ. */
const PRUNE_AGE_MS = 2 * REFILL_MS;

interface KeyBucket extends TokenBucket {
  keyId: string;
}

/** Token buckets of keys in the memory of one gateway. The store gets changes a moment later. */
export function createLimiter(options: LimiterOptions): LocalLimiter {
  const { store, now, monotonicNow, defaultRate, flushMs = 1_000, onProblem } = options;
  const buckets = new Map<string, KeyBucket>();
  /** Stored buckets whose key has not sent a request yet, by monotonic time. Their rate is unknown until then. */
  const stored = new Map<string, BucketState>();
  /** Changed since the last write. */
  const dirty = new Set<KeyBucket>();
  let sweptAtMs = monotonicNow();
  const flushing = createRecurring({
    work: flush,
    everyMs: flushMs,
    onProblem: (cause) => onProblem("writing rate limits to the store failed; retrying", cause),
  });

  function bucketOf(keyId: string, rate: number, nowMs: number): KeyBucket {
    const known = buckets.get(keyId);
    if (known !== undefined) {
      if (known.rate !== rate) changeRate(known, rate, nowMs);
      return known;
    }
    const rest = stored.get(keyId);
    stored.delete(keyId);
    const bare = rest === undefined ? fullBucket(rate, nowMs) : bucketWith(rest.tokens, rate, rest.updatedAtMs);
    const bucket = { ...bare, keyId };
    buckets.set(keyId, bucket);
    return bucket;
  }

  async function flush(): Promise<void> {
    const nowMs = monotonicNow();
    await writeDirty();
    if (nowMs - sweptAtMs < SWEEP_MS) return;
    sweptAtMs = nowMs;
    dropFull(nowMs);
    await store.buckets.prune(now() - PRUNE_AGE_MS);
  }

  async function writeDirty(): Promise<void> {
    const wallAheadMs = now() - monotonicNow();
    const changed = [...dirty];
    for (let start = 0; start < changed.length; start += BATCH_SIZE) {
      const batch = changed.slice(start, start + BATCH_SIZE);
      for (const bucket of batch) dirty.delete(bucket);
      try {
        await store.buckets.save(batch.map((bucket) => ({
          keyId: bucket.keyId,
          tokens: tokensIn(bucket),
          updatedAtMs: bucket.updatedAtMs + wallAheadMs,
        })));
      } catch (error) {
        for (const bucket of batch) dirty.add(bucket);
        throw error;
      }
    }
  }

  function dropFull(nowMs: number): void {
    for (const [keyId, bucket] of buckets) {
      if (!dirty.has(bucket) && nowMs - bucket.updatedAtMs >= REFILL_MS) buckets.delete(keyId);
    }
    for (const [keyId, rest] of stored) {
      if (nowMs - rest.updatedAtMs >= REFILL_MS) stored.delete(keyId);
    }
  }

  return {
    async load() {
      for (const rest of await store.buckets.load()) {
        // A bucket from a clock ahead of this one counts as written now.
        const ageMs = Math.max(0, now() - rest.updatedAtMs);
        if (ageMs < REFILL_MS) stored.set(rest.keyId, { ...rest, updatedAtMs: monotonicNow() - ageMs });
      }
    },
    take(keyId, rate = defaultRate, cost = 1) {
      const nowMs = monotonicNow();
      const bucket = bucketOf(keyId, rate, nowMs);
      const verdict = takeToken(bucket, nowMs, cost);
      // A refusal changes only the refill, which the next start computes itself.
      if (verdict.allowed) dirty.add(bucket);
      return verdict;
    },
    peek(keyId, rate = defaultRate) {
      const nowMs = monotonicNow();
      return peekToken(bucketOf(keyId, rate, nowMs), nowMs);
    },
    flush: flushing.now,
    start: flushing.start,
    stop: flushing.stop,
    get size() {
      return buckets.size + stored.size;
    },
  };
}
