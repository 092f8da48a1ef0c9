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
  /** Unix ms, whole: by which the store's buckets are dated. */
  now(): number;
  /** Whole ms since any moment, never going back: by which buckets are refilled. */
  monotonicNow(): number;
  /** Requests per minute of a key without a rate of its own. */
  defaultRate: number;
  /** How often changed buckets are written; 1 000 by default. */
  flushMs?: number;
  /** Told once when buckets cannot be written; they stay in memory and are tried again. */
  onProblem(message: string, cause: unknown): void;
}

/** Limits the requests of keys. */
export interface Limiter {
  /** Takes tokens of this key, one unless told otherwise. Rejects only when it has to ask the store and that fails. */
  take(keyId: string, rate?: number, cost?: number): Verdict | Promise<Verdict>;
  /** What `take` would say, without taking. */
  peek(keyId: string, rate?: number): Verdict;
  /** Brings to the store what is only in memory, and forgets what need not be kept. Never rejects. */
  flush(): Promise<void>;
  /** Flushes from now on. */
  start(): void;
  /** Stops, with a last flush. */
  stop(): Promise<void>;
  /** Keys in memory. */
  readonly size: number;
}

/** The limiter of the one gateway that serves a store: it always answers at once. */
export interface LocalLimiter extends Limiter {
  /** Reads the buckets at rest: once, before the first take. */
  load(): Promise<void>;
  take(keyId: string, rate?: number, cost?: number): Verdict;
}

/** What one commit of the store takes. */
const BATCH_SIZE = 500;
/** How often buckets that are full again are looked for: memory holds those of two such times at most. */
const SWEEP_MS = REFILL_MS;
/** Buckets at rest go when they were full long ago; the margin is for clocks that differ. */
const PRUNE_AGE_MS = 2 * REFILL_MS;

interface KeyBucket extends TokenBucket {
  keyId: string;
  /** Changed since it was last written, and in the list of those. */
  dirty: boolean;
}

/** Token buckets of keys, in the memory of the one gateway that serves a store; written behind. */
export function createLimiter(options: LimiterOptions): LocalLimiter {
  const { store, now, monotonicNow, defaultRate, flushMs = 1_000, onProblem } = options;
  const buckets = new Map<string, KeyBucket>();
  /** Buckets at rest whose key has not come yet (its rate, and so their capacity, is not known before), by monotonic time. */
  const atRest = new Map<string, BucketState>();
  let dirty: KeyBucket[] = [];
  let sweptAtMs = monotonicNow();
  const flushing = createRecurring({
    work: flush,
    everyMs: flushMs,
    onProblem: (cause) => onProblem("rate limits cannot be written to the store; trying on", cause),
  });

  function bucketOf(keyId: string, rate: number, nowMs: number): KeyBucket {
    const known = buckets.get(keyId);
    if (known !== undefined) {
      if (known.rate !== rate) changeRate(known, rate, nowMs);
      return known;
    }
    const rest = atRest.get(keyId);
    atRest.delete(keyId);
    const bare = rest === undefined ? fullBucket(rate, nowMs) : bucketWith(rest.tokens, rate, rest.updatedAtMs);
    const bucket = { ...bare, keyId, dirty: false };
    buckets.set(keyId, bucket);
    return bucket;
  }

  async function flush(): Promise<void> {
    const nowMs = monotonicNow();
    await writeDirty();
    if (nowMs - sweptAtMs < SWEEP_MS) return;
    sweptAtMs = nowMs;
    forgetFull(nowMs);
    await store.buckets.prune(now() - PRUNE_AGE_MS);
  }

  async function writeDirty(): Promise<void> {
    const written = dirty;
    const wallAheadMs = now() - monotonicNow();
    dirty = [];
    for (let start = 0; start < written.length; start += BATCH_SIZE) {
      const batch = written.slice(start, start + BATCH_SIZE);
      for (const bucket of batch) bucket.dirty = false;
      try {
        await store.buckets.save(batch.map((bucket) => ({
          keyId: bucket.keyId,
          tokens: tokensIn(bucket),
          updatedAtMs: bucket.updatedAtMs + wallAheadMs,
        })));
      } catch (error) {
        for (const bucket of batch) markDirty(bucket);
        dirty.push(...written.slice(start + BATCH_SIZE));
        throw error;
      }
    }
  }

  function markDirty(bucket: KeyBucket): void {
    if (bucket.dirty) return;
    bucket.dirty = true;
    dirty.push(bucket);
  }

  function forgetFull(nowMs: number): void {
    for (const [keyId, bucket] of buckets) {
      if (!bucket.dirty && nowMs - bucket.updatedAtMs >= REFILL_MS) buckets.delete(keyId);
    }
    for (const [keyId, rest] of atRest) {
      if (nowMs - rest.updatedAtMs >= REFILL_MS) atRest.delete(keyId);
    }
  }

  return {
    async load() {
      for (const rest of await store.buckets.load()) {
        // One written by a clock ahead of this one counts as written now.
        const ageMs = Math.max(0, now() - rest.updatedAtMs);
        if (ageMs < REFILL_MS) atRest.set(rest.keyId, { ...rest, updatedAtMs: monotonicNow() - ageMs });
      }
    },
    take(keyId, rate = defaultRate, cost = 1) {
      const nowMs = monotonicNow();
      const bucket = bucketOf(keyId, rate, nowMs);
      const verdict = takeToken(bucket, nowMs, cost);
      // A refusal changes nothing that the next start could not work out.
      if (verdict.allowed) markDirty(bucket);
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
      return buckets.size + atRest.size;
    },
  };
}
