import { createRecurring } from "../loop.ts";
import type { SharedStateChange } from "../store/shared_state.ts";
import type { Store } from "../store/store.ts";
import { type LeaseAnswer, type LeasedBucket, leaseTokens, roomIn, SPEND_MS, waitMsFor } from "./leased_bucket.ts";
import type { Limiter } from "./limiter.ts";
import { REFILL_MS, refillSeconds, UNITS_PER_TOKEN, type Verdict } from "./token_bucket.ts";

export interface SharedLimiterOptions {
  store: Pick<Store, "sharedState">;
  /** Whole ms, monotonic. */
  monotonicNow(): number;
  /** Requests per minute of a key without a rate of its own. */
  defaultRate: number;
  /** Unique to this process. */
  holder: string;
  /** Called once when leased tokens cannot be returned. Their leases then expire. */
  onProblem(message: string, cause: unknown): void;
}

/** Interval between returns of unspent tokens. */
const GIVE_BACK_MS = 1_000;
/** Pause of store requests after a refusal: a flood costs the store ten requests a second for each key. */
const PAUSE_MS = 100;
/** A bucket unused for so long is full. */
const KEEP_MS = 2 * REFILL_MS;

type Kept = SharedStateChange<LeasedBucket, LeaseAnswer & { storeMs: number }>;

/** This gateway's share of a key's bucket. Times are monotonic ms. */
interface KeyLease {
  rate: number;
  /** Unspent leased tokens, valid before `spendBy`. */
  tokens: number;
  spendBy: number;
  /** Size of the last lease: the next one is larger when this one was spent within a second. */
  leased: number;
  askedAt: number;
  usedAt: number;
  /** The bucket of the last store response, at `answeredAt`; its time is ours plus `aheadMs`. */
  bucket: LeasedBucket | undefined;
  answeredAt: number;
  aheadMs: number;
  /** Until `refusedUntil`, a cost of at least `refusedCost` is refused without the store. */
  refusedCost: number;
  refusedUntil: number;
  waiting: { cost: number; resolve(verdict: Verdict): void; reject(cause: unknown): void }[];
  isAsking: boolean;
}

/**
 * Limits keys on a store that several gateways share. The store has the buckets. A busy key leases tokens ahead, each time more,
 * up to a tenth of its bucket, so most of its requests need no store. For a short time after a refusal the gateway refuses by the
 * bucket that it knows.
 */
export function createSharedLimiter(options: SharedLimiterOptions): Limiter {
  const { store, monotonicNow, defaultRate, holder, onProblem } = options;
  const keys = new Map<string, KeyLease>();
  const givingBack = createRecurring({
    work: giveBackUnused,
    everyMs: GIVE_BACK_MS,
    onProblem: (cause) => onProblem("returning leased tokens failed", cause),
  });

  function leaseOf(keyId: string, rate: number): KeyLease {
    let key = keys.get(keyId);
    if (key === undefined) keys.set(keyId, key = newLease(rate, monotonicNow()));
    if (key.rate !== rate) changeRate(key, rate);
    return key;
  }

  /** Requests tokens from the store until no request waits for this key; returns the last error. */
  async function ask(keyId: string, key: KeyLease): Promise<unknown> {
    let problem: unknown;
    key.isAsking = true;
    do {
      const asked = key.waiting.splice(0);
      try {
        await askFor(keyId, key, asked);
      } catch (cause) {
        problem = cause;
        for (const { reject } of asked) reject(cause);
      }
      // The response may also decide requests that came meanwhile.
      key.waiting = key.waiting.filter(({ cost, resolve }) => {
        const known = takeKnown(key, cost, monotonicNow());
        if (known !== undefined) resolve(known);
        return known === undefined;
      });
    } while (key.waiting.length > 0);
    key.isAsking = false;
    return problem;
  }

  async function askFor(keyId: string, key: KeyLease, asked: KeyLease["waiting"]): Promise<void> {
    const nowMs = monotonicNow();
    const costs = asked.map(({ cost }) => cost);
    const isUsedUp = key.tokens === 0 && nowMs - key.askedAt < GIVE_BACK_MS;
    const ahead = isUsedUp && costs.length > 0 ? Math.max(1, 2 * key.leased, costs.length) : 0;
    const request = { holder, rate: key.rate, unspent: key.tokens, costs, ahead };
    // The tokens go back to the store with this request, whatever its outcome.
    key.tokens = 0;
    key.askedAt = nowMs;
    const { paid, leased, bucket, storeMs } = await store.sharedState.change(
      `limit/${keyId}`,
      (before: LeasedBucket | undefined, storeMs): Kept => {
        const answer = leaseTokens(before, request, storeMs);
        return { value: answer.isChanged ? answer.bucket : undefined, keepMs: KEEP_MS, answer: { ...answer, storeMs } };
      },
    );
    const answeredAt = monotonicNow();
    const aheadMs = storeMs - answeredAt;
    Object.assign(key, {
      tokens: leased,
      leased,
      spendBy: key.rate === request.rate ? nowMs + SPEND_MS : -Infinity,
      answeredAt,
      aheadMs,
      bucket,
    });
    const unpaid = costs.filter((_, at) => !paid[at]);
    if (unpaid.length > 0) {
      Object.assign(key, { refusedCost: Math.min(...unpaid), refusedUntil: answeredAt + PAUSE_MS });
    }
    asked.forEach(({ cost, resolve }, at) => resolve(verdict(key, answeredAt, paid[at] ? undefined : cost)));
  }

  /** Returns tokens that are unspent for a second, or past their lease. */
  async function giveBackUnused(isAll: boolean): Promise<void> {
    const nowMs = monotonicNow();
    const asked: Promise<unknown>[] = [];
    for (const [keyId, key] of keys) {
      if (key.isAsking) continue;
      const restedMs = nowMs - key.usedAt;
      const isUnused = isAll || restedMs >= GIVE_BACK_MS || nowMs >= key.spendBy;
      if (key.tokens > 0 && isUnused) asked.push(ask(keyId, key));
      else if (key.tokens === 0 && restedMs >= REFILL_MS) keys.delete(keyId);
    }
    const problem = (await Promise.all(asked)).find((one) => one !== undefined);
    if (problem !== undefined) throw problem;
  }

  return {
    take(keyId, rate = defaultRate, cost = 1) {
      const nowMs = monotonicNow();
      const key = leaseOf(keyId, rate);
      key.usedAt = nowMs;
      const known = key.isAsking ? undefined : takeKnown(key, cost, nowMs);
      if (known !== undefined) return known;
      return new Promise((resolve, reject) => {
        key.waiting.push({ cost, resolve, reject });
        if (!key.isAsking) void ask(keyId, key);
      });
    },
    peek(keyId, rate = defaultRate) {
      const nowMs = monotonicNow();
      const key = leaseOf(keyId, rate);
      const known = takeKnown({ ...key }, 1, nowMs);
      return known?.allowed === false ? known : verdict(key, nowMs);
    },
    flush: givingBack.now,
    start: givingBack.start,
    stop: givingBack.stop,
    get size() {
      return keys.size;
    },
  };
}

/** The verdict without the store; undefined when it needs the store. */
function takeKnown(key: KeyLease, cost: number, nowMs: number): Verdict | undefined {
  const tokens = nowMs < key.spendBy ? key.tokens : 0;
  if (tokens >= cost) {
    key.tokens -= cost;
    return verdict(key, nowMs);
  }
  return cost >= key.refusedCost && nowMs < key.refusedUntil ? verdict(key, nowMs, cost) : undefined;
}

function verdict(key: KeyLease, nowMs: number, refused?: number): Verdict {
  const { rate, bucket, aheadMs, refusedUntil } = key;
  const units = unitsLeft(key, nowMs);
  const whole = Math.floor(units / UNITS_PER_TOKEN);
  const resetSeconds = refillSeconds(UNITS_PER_TOKEN - (units - whole * UNITS_PER_TOKEN), rate);
  if (refused === undefined) {
    return { allowed: true, limit: rate, remaining: whole, resetSeconds, retryAfterSeconds: 0 };
  }
  const refillMs = bucket === undefined ? 0 : waitMsFor(bucket, refused, nowMs + aheadMs);
  const retryAfterSeconds = Math.ceil(Math.max(1, refusedUntil - nowMs, refillMs) / 1_000);
  return {
    allowed: false,
    limit: rate,
    remaining: Math.min(whole, refused - 1, rate - 1),
    resetSeconds: Math.min(resetSeconds, retryAfterSeconds),
    retryAfterSeconds,
  };
}

/** Units that this gateway can let through: its lease, and the known content of the bucket. */
function unitsLeft({ rate, tokens, bucket, answeredAt }: KeyLease, nowMs: number): number {
  if (bucket === undefined) return rate * UNITS_PER_TOKEN;
  const inBucket = Math.min(bucket.units + (nowMs - answeredAt) * rate, Math.max(bucket.units, roomIn(bucket)));
  return tokens * UNITS_PER_TOKEN + inBucket;
}

function newLease(rate: number, nowMs: number): KeyLease {
  return {
    rate,
    tokens: 0,
    spendBy: 0,
    leased: 0,
    askedAt: -Infinity,
    usedAt: nowMs,
    bucket: undefined,
    answeredAt: 0,
    aheadMs: 0,
    refusedCost: 0,
    refusedUntil: -Infinity,
    waiting: [],
    isAsking: false,
  };
}

/** Tokens leased at another rate are returned. */
function changeRate(key: KeyLease, rate: number): void {
  Object.assign(key, { rate, bucket: undefined, spendBy: -Infinity, refusedUntil: -Infinity });
}
