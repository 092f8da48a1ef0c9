import { REFILL_MS, UNITS_PER_TOKEN } from "./token_bucket.ts";

/**
 * A token bucket that several gateways share: its content, and the tokens that each gateway has leased. Leased tokens count as
 * content, so bucket and leases together never exceed the capacity. So the gateways together let through as much as one bucket
 * would. The units are those of `token_bucket.ts`.
 */
export interface LeasedBucket {
  /** Tokens per minute, and the capacity of bucket and leases together. */
  rate: number;
  units: number;
  /** By the store's clock, Unix ms. */
  updatedAtMs: number;
  /** Ascending by their end. */
  leases: TokenLease[];
}

/** Tokens that a gateway may spend without the store. At the end of the lease they are lost, and the bucket refills. */
export interface TokenLease {
  holder: string;
  units: number;
  untilMs: number;
}

export interface LeaseRequest {
  /** Unique to a process. */
  holder: string;
  rate: number;
  /** Unspent tokens of the holder's last lease, which it returns. */
  unspent: number;
  /** Costs of the waiting requests, in their order, to pay now. */
  costs: readonly number[];
  /** Further tokens to lease, if the bucket has them. */
  ahead: number;
}

/** A holder may spend its lease for so long after the request, by its own clock … */
export const SPEND_MS = 5_000;
/** … and the bucket counts the lease for so long, by the store's clock. */
const LEASE_MS = 8_000;

export interface LeaseAnswer {
  /** The bucket afterwards. */
  bucket: LeasedBucket;
  /** Whether tokens were taken or returned; otherwise the store need not write the bucket. */
  isChanged: boolean;
  /** For each cost, whether it was paid. */
  paid: boolean[];
  /** How many tokens were leased. */
  leased: number;
}

/** Takes tokens from a bucket (undefined: a full one). A lease is at most a tenth of a bucket. */
export function leaseTokens(
  bucket: LeasedBucket | undefined,
  { holder, rate, unspent, costs, ahead }: LeaseRequest,
  nowMs: number,
): LeaseAnswer {
  const stored = bucket ?? { rate, units: rate * UNITS_PER_TOKEN, updatedAtMs: nowMs, leases: [] };
  const now = refilled(withRate(sane(stored, nowMs), rate, nowMs), nowMs);
  const own = now.leases.find((lease) => lease.holder === holder);
  const leases = now.leases.filter((lease) => lease !== own);
  let units = now.units + Math.min(unspent * UNITS_PER_TOKEN, own?.units ?? 0);
  const paid = costs.map((cost) => {
    const price = priceOf(cost, rate);
    if (price > units) return false;
    units -= price;
    return true;
  });
  // While a request waits for the bucket to refill, no gateway leases tokens ahead.
  const isShort = paid.includes(false);
  const leased = isShort ? 0 : Math.min(ahead, Math.floor(rate / 10), Math.floor(units / UNITS_PER_TOKEN));
  if (leased > 0) {
    units -= leased * UNITS_PER_TOKEN;
    leases.push({ holder, units: leased * UNITS_PER_TOKEN, untilMs: nowMs + LEASE_MS });
  }
  const isChanged = own !== undefined || leased > 0 || paid.includes(true);
  return { bucket: { rate, units, updatedAtMs: now.updatedAtMs, leases }, isChanged, paid, leased };
}

/** A cost above the capacity takes a full bucket. */
function priceOf(cost: number, rate: number): number {
  return Math.min(cost, rate) * UNITS_PER_TOKEN;
}

/** Ms after this time until the bucket can pay this cost, if no gateway takes or returns tokens. */
export function waitMsFor(bucket: LeasedBucket, cost: number, atMs: number): number {
  const price = priceOf(cost, bucket.rate);
  let now = refilled(bucket, atMs);
  while (true) {
    const missing = price - now.units;
    if (missing <= 0) return Math.max(0, now.updatedAtMs - atMs);
    const enoughAtMs = now.updatedAtMs + Math.ceil(missing / bucket.rate);
    const endMs = now.leases[0]?.untilMs ?? Infinity;
    if (enoughAtMs <= endMs && price <= roomIn(now)) return enoughAtMs - atMs;
    now = refilled(now, endMs);
  }
}

/** Capacity of the bucket without the leases. */
export function roomIn({ rate, leases }: LeasedBucket): number {
  return leases.reduce((room, { units }) => room - units, rate * UNITS_PER_TOKEN);
}

/** The bucket at this time. Until the end of each lease it refills up to the capacity without this lease. */
function refilled(bucket: LeasedBucket, atMs: number): LeasedBucket {
  let { units, updatedAtMs, leases } = bucket;
  const fillUntil = (endMs: number) => {
    const room = Math.max(units, roomIn({ ...bucket, leases }));
    units = Math.min(room, units + Math.max(0, endMs - updatedAtMs) * bucket.rate);
    updatedAtMs = Math.max(updatedAtMs, endMs);
  };
  while (leases.length > 0 && leases[0]!.untilMs <= atMs) {
    fillUntil(leases[0]!.untilMs);
    leases = leases.slice(1);
  }
  fillUntil(atMs);
  return { rate: bucket.rate, units, updatedAtMs, leases };
}

/** The bucket with another rate: its content stays in proportion, and a lower rate reduces the leases too. */
function withRate(bucket: LeasedBucket, rate: number, nowMs: number): LeasedBucket {
  if (bucket.rate === rate) return bucket;
  const before = refilled(bucket, nowMs);
  const inProportion = (units: number) => Math.floor((units / bucket.rate) * rate);
  const leases = before.leases.map((lease) => ({ ...lease, units: Math.min(lease.units, inProportion(lease.units)) }));
  const room = roomIn({ ...before, rate, leases });
  return { ...before, rate, leases, units: Math.max(0, Math.min(inProportion(before.units), room)) };
}

/** A bucket from a clock that was far ahead counts as written now. Otherwise it would not refill until then. */
function sane(bucket: LeasedBucket, nowMs: number): LeasedBucket {
  if (bucket.updatedAtMs - nowMs <= REFILL_MS) return bucket;
  const leases = bucket.leases.map((lease) => ({ ...lease, untilMs: Math.min(lease.untilMs, nowMs + LEASE_MS) }));
  return { ...bucket, updatedAtMs: nowMs, leases };
}
