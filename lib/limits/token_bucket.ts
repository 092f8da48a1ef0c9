/**
 * A token bucket: its capacity is `rate`, and it refills continuously at `rate` per minute. It counts units of 1/60 000 token,
 * and each millisecond adds exactly `rate` units. With whole milliseconds every sum is an integer below 2^53, so there is no
 * rounding, and `Retry-After` is exact.
 */
export interface TokenBucket {
  /** Tokens per minute, and the capacity. A whole number from 1 to 1 000 000. */
  rate: number;
  units: number;
  /** Time up to which the refill is counted, in ms of the caller's clock. */
  updatedAtMs: number;
}

/** The result of taking tokens. */
export interface Verdict {
  allowed: boolean;
  /** Requests per minute. */
  limit: number;
  /** Whole tokens left. */
  remaining: number;
  /** Whole seconds until the bucket has one token more than `remaining`: the effective window of `RateLimit`. */
  resetSeconds: number;
  /** Whole seconds until a request passes, if no other request takes tokens; 0 when allowed. */
  retryAfterSeconds: number;
}

export const UNITS_PER_TOKEN = 60_000;

/** Every bucket is full after this time, whatever its rate. */
export const REFILL_MS = 60_000;

export function fullBucket(rate: number, nowMs: number): TokenBucket {
  return { rate, units: rate * UNITS_PER_TOKEN, updatedAtMs: nowMs };
}

/** A bucket that held this many tokens (a fraction is fine) at that time. */
export function bucketWith(tokens: number, rate: number, updatedAtMs: number): TokenBucket {
  const units = Math.round(tokens * UNITS_PER_TOKEN);
  return { rate, units: Math.min(Math.max(units, 0), rate * UNITS_PER_TOKEN), updatedAtMs };
}

/** Tokens in the bucket, with their fraction, as of `updatedAtMs`. */
export function tokensIn(bucket: TokenBucket): number {
  return bucket.units / UNITS_PER_TOKEN;
}

/** Takes `cost` tokens if the bucket has them. A cost above the capacity takes a full bucket. */
export function takeToken(bucket: TokenBucket, nowMs: number, cost = 1): Verdict {
  refill(bucket, nowMs);
  const units = Math.min(cost, bucket.rate) * UNITS_PER_TOKEN;
  const missing = units - bucket.units;
  if (missing <= 0) bucket.units -= units;
  return verdict(bucket.rate, bucket.units, missing);
}

/** The verdict of `takeToken` without a change of the bucket; `remaining` includes the token that it would take. */
export function peekToken(bucket: TokenBucket, nowMs: number): Verdict {
  const units = unitsAt(bucket, nowMs);
  return verdict(bucket.rate, units, UNITS_PER_TOKEN - units);
}

/** Changes the rate at once: the content stays in proportion. */
export function changeRate(bucket: TokenBucket, rate: number, nowMs: number): void {
  refill(bucket, nowMs);
  bucket.units = Math.floor((bucket.units / bucket.rate) * rate);
  bucket.rate = rate;
}

/** A clock that was set back adds nothing, and the refill continues from its time. */
function refill(bucket: TokenBucket, nowMs: number): void {
  bucket.units = unitsAt(bucket, nowMs);
  bucket.updatedAtMs = nowMs;
}

function unitsAt({ rate, units, updatedAtMs }: TokenBucket, nowMs: number): number {
  const elapsedMs = Math.max(nowMs - updatedAtMs, 0);
  return Math.min(units + elapsedMs * rate, rate * UNITS_PER_TOKEN);
}

/** `missing` counts the units that the request lacks; at most 0 lets it pass. */
function verdict(rate: number, units: number, missing: number): Verdict {
  const remaining = Math.floor(units / UNITS_PER_TOKEN);
  const untilNext = UNITS_PER_TOKEN - (units - remaining * UNITS_PER_TOKEN);
  return {
    allowed: missing <= 0,
    limit: rate,
    remaining,
    resetSeconds: refillSeconds(untilNext, rate),
    retryAfterSeconds: missing <= 0 ? 0 : refillSeconds(missing, rate),
  };
}

/** Whole seconds for the refill of so many units. */
export function refillSeconds(units: number, rate: number): number {
  return Math.ceil(Math.ceil(units / rate) / 1000);
}
