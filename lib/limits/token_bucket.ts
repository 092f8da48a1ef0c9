/**
 * A token bucket: capacity = rate, refilled continuously at rate per minute. Counted in units of 1/60 000 token, of which
 * one millisecond brings exactly `rate`: with whole milliseconds every sum is an integer below 2^53, so nothing is lost
 * to rounding and `Retry-After` is exact.
 */
export interface TokenBucket {
  /** Tokens per minute, and the most the bucket holds. A whole number from 1 to 1 000 000. */
  rate: number;
  units: number;
  /** Ms, by the clock of the one who takes, up to which the refill is counted. */
  updatedAtMs: number;
}

/** What taking tokens said. */
export interface Verdict {
  allowed: boolean;
  /** Requests per minute. */
  limit: number;
  /** Whole tokens left. */
  remaining: number;
  /** Whole seconds until one more than `remaining` can be had: the effective window of `RateLimit`. */
  resetSeconds: number;
  /** Whole seconds after which a request is let through if nothing else spends meanwhile; 0 when allowed. */
  retryAfterSeconds: number;
}

export const UNITS_PER_TOKEN = 60_000;

/** Within this time every bucket is full again, whatever its rate. */
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

/** Takes `cost` tokens when there are so many. What costs more than the bucket holds takes a full one. */
export function takeToken(bucket: TokenBucket, nowMs: number, cost = 1): Verdict {
  refill(bucket, nowMs);
  const units = Math.min(cost, bucket.rate) * UNITS_PER_TOKEN;
  const missing = units - bucket.units;
  if (missing <= 0) bucket.units -= units;
  return verdict(bucket.rate, bucket.units, missing);
}

/** What `takeToken` would say; the bucket is left as it is, and `remaining` counts the token it would take. */
export function peekToken(bucket: TokenBucket, nowMs: number): Verdict {
  const units = unitsAt(bucket, nowMs);
  return verdict(bucket.rate, units, UNITS_PER_TOKEN - units);
}

/** Another rate at once: the bucket stays as full as it was, in proportion. */
export function changeRate(bucket: TokenBucket, rate: number, nowMs: number): void {
  refill(bucket, nowMs);
  bucket.units = Math.floor((bucket.units / bucket.rate) * rate);
  bucket.rate = rate;
}

/** A clock set back brings nothing, and the refill goes on from there. */
function refill(bucket: TokenBucket, nowMs: number): void {
  bucket.units = unitsAt(bucket, nowMs);
  bucket.updatedAtMs = nowMs;
}

function unitsAt({ rate, units, updatedAtMs }: TokenBucket, nowMs: number): number {
  const elapsedMs = Math.max(nowMs - updatedAtMs, 0);
  return Math.min(units + elapsedMs * rate, rate * UNITS_PER_TOKEN);
}

/** `missing`: units that the request lacks; none or less lets it through. */
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

/** Whole seconds in which so many units come. */
export function refillSeconds(units: number, rate: number): number {
  return Math.ceil(Math.ceil(units / rate) / 1000);
}
