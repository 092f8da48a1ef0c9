import type { Wait } from "../../clock.ts";
import type { EscrowReads, PendingPaymentAnswer } from "./reads.ts";
import { createWaitingMerchants, type PaymentLog } from "./waiting_merchants.ts";

/** Payments that merchants should claim before they expire. */
export interface Expiring {
  /** The number of payments in the last quarter of their life. */
  payments: number;
  /** The number of their merchants. */
  merchants: number;
  /** When the first of them expires, Unix seconds; null when there is none. */
  firstAt: number | null;
  /** False when there may be more, because the check of all payments is not complete yet. */
  complete: boolean;
}

export interface ExpiringPayments {
  /** At most a minute old. Returns a partial answer after a second. Rejects when the log cannot be read. */
  now(): Promise<Expiring>;
}

/** A merchant with a payment so old that it may be about to expire. */
interface Waiting {
  /** When to read its payments again, Unix seconds. */
  dueAt: number;
  /** The number of the last check that read its payments; 0 for none. */
  readIn: number;
  /** Whether the last answer was complete. */
  isComplete: boolean;
  /** The end of each payment that was in its last quarter at that check. */
  expiring: number[];
}

const CACHED_MS = 60_000;
/** The longest time that a status request waits for the node. */
const PATIENCE_MS = 1_000;
/** How long an answer is cached while the log is not read to its end. */
const CATCHING_UP_MS = 2_000;
/** Merchants read in one check; each costs a call. */
const READ_AT_ONCE = 100;
/** With this many waiting merchants, the check does not follow the log further. */
const MOST_WAITING = 10_000;
/** A payment counts when this share of its life is left. */
const LAST_QUARTER = 0.25;
/** The longest time between reads: the start of a payment's last quarter is an estimate that gets better with time. */
const LOOK_AGAIN_SECONDS = 3_600;

/**
 * Finds payments that expire soon. The log gives the merchants with an unclaimed payment older than three quarters of the
 * shortest life. A call for each of them reads the pending payments. When all merchants claim in time, there are no calls.
 */
export function createExpiringPayments({ events, paymentEscrow, reads, shortestLife, latestLedger, nowMs, wait }: {
  events: PaymentLog;
  paymentEscrow: string;
  reads: Pick<EscrowReads, "pending">;
  /** The fewest ledgers that a payment lives. */
  shortestLife(): Promise<number>;
  /** 0 before the first ledger. */
  latestLedger(): number;
  /** The network's time, which steps back when a clock was ahead. */
  nowMs: () => number;
  wait: Wait;
}): ExpiringPayments {
  const waiting = new Map<string, Waiting>();
  const merchants = createWaitingMerchants({ events, paymentEscrow, isWaiting: (merchant) => waiting.has(merchant) });
  let cached: Promise<Expiring> | undefined;
  let cachedUntilMs = -Infinity;
  let checks = 0;

  /** Reads the log further; false while it is not read to its end. */
  async function follow(): Promise<boolean> {
    const latest = latestLedger();
    if (latest === 0 || waiting.size >= MOST_WAITING) return false;
    const life = await shortestLife();
    const upTo = latest - Math.ceil(life * (1 - LAST_QUARTER));
    return await merchants.follow({ from: Math.max(0, latest - life), upTo: Math.max(0, upTo) }, (merchant) => {
      waiting.set(merchant, { dueAt: -Infinity, readIn: 0, isComplete: false, expiring: [] });
    });
  }

  async function readMerchant(merchant: string, one: Waiting, seconds: number): Promise<void> {
    one.readIn = checks;
    one.isComplete = false;
    const got = await Promise.resolve().then(() => reads.pending(merchant)).catch(() => undefined);
    if (got === undefined || got.payments === null) return;
    const { payments, more } = got;
    if (payments.length === 0) return void waiting.delete(merchant);
    const quarters = payments.flatMap((payment) => lastQuarterOf(payment) ?? []);
    one.expiring = quarters.flatMap(({ from, expiresAt }) => from <= seconds ? [expiresAt] : []);
    // Unlisted payments are younger, so they can be expiring only when all listed ones are.
    const mayBeMore = more === true && one.expiring.length === payments.length;
    one.isComplete = quarters.length === payments.length && !mayBeMore;
    one.dueAt = one.isComplete
      ? Math.min(seconds + LOOK_AGAIN_SECONDS, ...quarters.map(({ from }) => from))
      : -Infinity;
  }

  /** The sum of the last answers. */
  function found(seconds: number, isCaughtUp: boolean): Expiring {
    const all: Expiring = { payments: 0, merchants: 0, firstAt: null, complete: isCaughtUp };
    for (const { expiring, isComplete } of waiting.values()) {
      all.complete &&= isComplete;
      const still = expiring.filter((expiresAt) => expiresAt > seconds);
      if (still.length === 0) continue;
      all.payments += still.length;
      all.merchants += 1;
      all.firstAt = Math.min(all.firstAt ?? Infinity, ...still);
    }
    return all;
  }

  async function check(): Promise<Expiring> {
    checks += 1;
    const isCaughtUp = await follow();
    const seconds = nowMs() / 1_000;
    // A time further ahead than any that is set: the clock stepped back since.
    const isDue = ({ dueAt }: Waiting) => dueAt <= seconds || dueAt > seconds + LOOK_AGAIN_SECONDS;
    const due = [...waiting].filter(([, one]) => isDue(one)).sort(([, a], [, b]) => a.readIn - b.readIn);
    await Promise.all(due.slice(0, READ_AT_ONCE).map(([merchant, one]) => readMerchant(merchant, one, seconds)));
    if (!isCaughtUp) cachedUntilMs = nowMs() + CATCHING_UP_MS;
    return found(seconds, isCaughtUp);
  }

  return {
    async now() {
      const leftMs = cachedUntilMs - nowMs();
      // More than the longest caching time: the clock stepped back since.
      if (cached === undefined || leftMs <= 0 || leftMs > CACHED_MS) {
        cachedUntilMs = nowMs() + CACHED_MS;
        cached = check();
        cached.catch(() => cachedUntilMs = -Infinity);
      }
      const answered = new AbortController();
      const late = wait(PATIENCE_MS, answered.signal).then(() => undefined);
      const checked = await Promise.race([cached, late]).finally(() => answered.abort());
      return checked ?? found(nowMs() / 1_000, false);
    },
  };
}

/** The start of a payment's last quarter, Unix seconds; undefined when the node does not report its end. */
function lastQuarterOf({ authorizedAt, expiresAt }: PendingPaymentAnswer) {
  return expiresAt === null ? undefined : { from: expiresAt - (expiresAt - authorizedAt) * LAST_QUARTER, expiresAt };
}
