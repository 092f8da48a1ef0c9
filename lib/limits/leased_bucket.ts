import { REFILL_MS, UNITS_PER_TOKEN } from "./token_bucket.ts";

/**
 * A token bucket that several gateways draw from: what is in it, and the tokens that each has leased to spend by itself.
 * Leased tokens count as if they were still in it, so that bucket and leases never hold more than its capacity, and
 * whatever the gateways spend in sum is what one bucket would have let through. All in the units of `token_bucket.ts`.
 */
export interface LeasedBucket {
  /** Tokens per minute, and the most that bucket and leases hold. */
  rate: number;
  units: number;
  /** By the store's clock, Unix ms. */
  updatedAtMs: number;
  /** Ascending by their end. */
  leases: TokenLease[];
}

/** Tokens that a gateway may spend without asking. When the time is over they are lost, and the bucket refills for them. */
export interface TokenLease {
  holder: string;
  units: number;
  untilMs: number;
}

export interface LeaseRequest {
  /** Unique to a process. */
  holder: string;
  rate: number;
  /** Tokens of the holder's last lease that it has not spent and spends no more. */
  unspent: number;
  /** What requests that wait cost, in their order: their tokens are spent with this. */
  costs: readonly number[];
  /** Tokens to lease beyond these, as far as there are any. */
  ahead: number;
}

/** For so long after it was asked for a holder may spend what it leased, by its own clock … */
export const SPEND_MS = 5_000;
/** … and for so long, by the store's, it is counted and can be given back. */
const LEASE_MS = 8_000;

export interface LeaseAnswer {
  /** As it is then. */
  bucket: LeasedBucket;
  /** Whether anything was taken from it or given back: else it need not be kept. */
  isChanged: boolean;
  /** Which of the costs were paid. */
  paid: boolean[];
  /** How many tokens were leased. */
  leased: number;
}

/** Takes from a bucket; undefined: a full one. At most a tenth of a bucket is leased. */
export function leaseTokens(
  bucket: LeasedBucket | undefined,
  { holder, rate, unspent, costs, ahead }: LeaseRequest,
  nowMs: number,
): LeaseAnswer {
  const kept = bucket ?? { rate, units: rate * UNITS_PER_TOKEN, updatedAtMs: nowMs, leases: [] };
  const now = refilled(withRate(sane(kept, nowMs), rate, nowMs), nowMs);
  const own = now.leases.find((lease) => lease.holder === holder);
  const leases = now.leases.filter((lease) => lease !== own);
  let units = now.units + Math.min(unspent * UNITS_PER_TOKEN, own?.units ?? 0);
  const paid = costs.map((cost) => {
    const price = priceOf(cost, rate);
    if (price > units) return false;
    units -= price;
    return true;
  });
  // While some wait for the bucket to refill, nobody takes more of it than is spent at once.
  const isShort = paid.includes(false);
  const leased = isShort ? 0 : Math.min(ahead, Math.floor(rate / 10), Math.floor(units / UNITS_PER_TOKEN));
  if (leased > 0) {
    units -= leased * UNITS_PER_TOKEN;
    leases.push({ holder, units: leased * UNITS_PER_TOKEN, untilMs: nowMs + LEASE_MS });
  }
  const isChanged = own !== undefined || leased > 0 || paid.includes(true);
  return { bucket: { rate, units, updatedAtMs: now.updatedAtMs, leases }, isChanged, paid, leased };
}

/** What costs more than a bucket holds takes a full one. */
function priceOf(cost: number, rate: number): number {
  return Math.min(cost, rate) * UNITS_PER_TOKEN;
}

/** How many ms after this time there is as much in the bucket as this costs, if nobody takes or gives back any. */
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

/** The most that the bucket may hold beside the leases. */
export function roomIn({ rate, leases }: LeasedBucket): number {
  return leases.reduce((room, { units }) => room - units, rate * UNITS_PER_TOKEN);
}

/** The bucket at this time: up to the end of each lease it refills as far as there is room beside that. */
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

/** Another rate: the bucket stays as full as it was, in proportion, and of a lower rate what is leased with it. */
function withRate(bucket: LeasedBucket, rate: number, nowMs: number): LeasedBucket {
  if (bucket.rate === rate) return bucket;
  const before = refilled(bucket, nowMs);
  const inProportion = (units: number) => Math.floor((units / bucket.rate) * rate);
  const leases = before.leases.map((lease) => ({ ...lease, units: Math.min(lease.units, inProportion(lease.units)) }));
  const room = roomIn({ ...before, rate, leases });
  return { ...before, rate, leases, units: Math.max(0, Math.min(inProportion(before.units), room)) };
}

/** What was written by a clock that was far ahead counts as written now: else nothing would refill until then. */
function sane(bucket: LeasedBucket, nowMs: number): LeasedBucket {
  if (bucket.updatedAtMs - nowMs <= REFILL_MS) return bucket;
  const leases = bucket.leases.map((lease) => ({ ...lease, untilMs: Math.min(lease.untilMs, nowMs + LEASE_MS) }));
  return { ...bucket, updatedAtMs: nowMs, leases };
}
