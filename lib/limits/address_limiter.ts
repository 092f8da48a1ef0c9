import { addressGroup } from "./ip_address.ts";
import { fullBucket, peekToken, REFILL_MS, takeToken, type TokenBucket, type Verdict } from "./token_bucket.ts";

export interface AddressLimiterOptions {
  /** Whole ms, monotonic. */
  monotonicNow(): number;
  /** Requests per minute of one address. */
  rate: number;
  /** Addresses in memory; 10 000 by default. */
  maxAddresses?: number;
}

export interface AddressLimiter {
  /** Takes a token of this address. */
  take(address: string): Verdict;
  /** The verdict of `take`, without taking. It calls `address` only when the limiter has any address. */
  peek(address: () => string): Verdict;
  /** Addresses in memory. */
  readonly size: number;
}

/** Group of callers without an address: requests through a Unix socket, for example. */
const NO_ADDRESS = "none";

/**
 * Limits callers without a valid key, by their address. The table is bounded, and a bucket leaves it only when it is full
 * again, so many addresses cannot push out a used bucket. While the table is full, further addresses share one bucket.
 */
export function createAddressLimiter(
  { monotonicNow, rate, maxAddresses = 10_000 }: AddressLimiterOptions,
): AddressLimiter {
  /** Buckets used since the last rotation, and older ones: a bucket still in `resting` at the next rotation is full. */
  let inUse = new Map<string, TokenBucket>();
  let resting = new Map<string, TokenBucket>();
  let rotatedAtMs = monotonicNow();
  const shared = fullBucket(rate, rotatedAtMs);

  function rotate(nowMs: number): void {
    if (nowMs - rotatedAtMs < REFILL_MS) return;
    resting = inUse;
    inUse = new Map();
    rotatedAtMs = nowMs;
  }

  /** The bucket of this group of addresses, created while the table has room. */
  function bucketOf(group: string, nowMs: number): TokenBucket {
    const known = inUse.get(group);
    if (known !== undefined) return known;
    const rested = resting.get(group);
    if (rested === undefined && inUse.size + resting.size >= maxAddresses) return shared;
    resting.delete(group);
    const bucket = rested ?? fullBucket(rate, nowMs);
    inUse.set(group, bucket);
    return bucket;
  }

  return {
    take(address) {
      const nowMs = monotonicNow();
      rotate(nowMs);
      return takeToken(bucketOf(addressGroup(address) ?? NO_ADDRESS, nowMs), nowMs);
    },
    peek(address) {
      const nowMs = monotonicNow();
      rotate(nowMs);
      if (inUse.size + resting.size === 0) return peekToken(fullBucket(rate, nowMs), nowMs);
      const group = addressGroup(address()) ?? NO_ADDRESS;
      return peekToken(inUse.get(group) ?? resting.get(group) ?? fullBucket(rate, nowMs), nowMs);
    },
    get size() {
      return inUse.size + resting.size;
    },
  };
}
