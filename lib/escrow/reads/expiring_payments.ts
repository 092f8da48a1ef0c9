import type { Wait } from "../../clock.ts";
import type { EscrowReads, PendingPaymentAnswer } from "./reads.ts";
import { createWaitingMerchants, type PaymentLog } from "./waiting_merchants.ts";

/** Payments that merchants should claim before the network forgets them. */
export interface Expiring {
  /** How many payments are in the last quarter of their life. */
  payments: number;
  /** How many merchants they are for. */
  merchants: number;
  /** When the first of them expires, Unix seconds; null when there is none. */
  firstAt: number | null;
  /** False when more payments may be near their end than the gateway has read. */
  complete: boolean;
}

export interface ExpiringPayments {
  /** As of a minute ago at most, and at once what is known where the node takes long. Rejects when the log can't be read. */
  now(): Promise<Expiring>;
}

/** A merchant with a payment so old that it may be about to expire. */
interface Waiting {
  /** When to ask for its payments again, Unix seconds. */
  dueAt: number;
  /** The number of the last round that asked for it; 0 for none. */
  askedIn: number;
  /** Whether the last answer told all. */
  isTold: boolean;
  /** When each payment expires that was in its last quarter then. */
  expiring: number[];
}

const CACHED_MS = 60_000;
/** A status request waits no longer for a node. */
const PATIENCE_MS = 1_000;
/** While a part of the log is unread. */
const CATCHING_UP_MS = 2_000;
/** Each costs a call. */
const ASKED_AT_ONCE = 100;
/** When there are so many, the log is not followed until some are done with. */
const MOST_WAITING = 10_000;
/** The rest of a payment's life, in quarters, at which it counts. */
const LAST_QUARTER = 0.25;
/** When a payment comes into its last quarter is an estimate, the better the nearer. */
const LOOK_AGAIN_SECONDS = 3_600;

/**
 * Finds payments near their end. The log names the merchants that have had a payment for three quarters of its life
 * without a claim. The chain shows what is still pending. A deployment whose merchants claim costs no call.
 */
export function createExpiringPayments({ log, reads, shortestLife, latestLedger, nowMs, wait }: {
  log: PaymentLog;
  reads: Pick<EscrowReads, "pending">;
  /** How many ledgers a payment lives at the least. */
  shortestLife(): Promise<number>;
  /** 0 before the first. */
  latestLedger(): number;
  /** The network's time: it goes back where a clock turns out to have been ahead. */
  nowMs: () => number;
  wait: Wait;
}): ExpiringPayments {
  const waiting = new Map<string, Waiting>();
  const merchants = createWaitingMerchants({ log, isWaiting: (merchant) => waiting.has(merchant) });
  let cached: Promise<Expiring> | undefined;
  let cachedUntilMs = -Infinity;
  let looks = 0;

  /** False while a part of the log is unread. */
  async function follow(): Promise<boolean> {
    const latest = latestLedger();
    if (latest === 0 || waiting.size >= MOST_WAITING) return false;
    const life = await shortestLife();
    const upTo = latest - Math.ceil(life * (1 - LAST_QUARTER));
    return await merchants.follow({ from: Math.max(0, latest - life), upTo: Math.max(0, upTo) }, (merchant) => {
      waiting.set(merchant, { dueAt: -Infinity, askedIn: 0, isTold: false, expiring: [] });
    });
  }

  async function ask(merchant: string, one: Waiting, seconds: number): Promise<void> {
    one.askedIn = looks;
    one.isTold = false;
    const got = await Promise.resolve().then(() => reads.pending(merchant)).catch(() => undefined);
    if (got === undefined || got.payments === null) return;
    const { payments, more } = got;
    if (payments.length === 0) return void waiting.delete(merchant);
    const quarters = payments.flatMap((payment) => lastQuarterOf(payment) ?? []);
    one.expiring = quarters.flatMap(({ from, expiresAt }) => from <= seconds ? [expiresAt] : []);
    // Unlisted payments are younger, so they matter only when all listed ones are near their end.
    const mayBeMore = more === true && one.expiring.length === payments.length;
    one.isTold = quarters.length === payments.length && !mayBeMore;
    one.dueAt = one.isTold ? Math.min(seconds + LOOK_AGAIN_SECONDS, ...quarters.map(({ from }) => from)) : -Infinity;
  }

  /** The sum of the last answers. */
  function found(seconds: number, isCaughtUp: boolean): Expiring {
    const all: Expiring = { payments: 0, merchants: 0, firstAt: null, complete: isCaughtUp };
    for (const { expiring, isTold } of waiting.values()) {
      all.complete &&= isTold;
      const still = expiring.filter((expiresAt) => expiresAt > seconds);
      if (still.length === 0) continue;
      all.payments += still.length;
      all.merchants += 1;
      all.firstAt = Math.min(all.firstAt ?? Infinity, ...still);
    }
    return all;
  }

  async function look(): Promise<Expiring> {
    looks += 1;
    const isCaughtUp = await follow();
    const seconds = nowMs() / 1_000;
    // Further off than it is ever put: by a time that was ahead.
    const isDue = ({ dueAt }: Waiting) => dueAt <= seconds || dueAt > seconds + LOOK_AGAIN_SECONDS;
    const due = [...waiting].filter(([, one]) => isDue(one)).sort(([, a], [, b]) => a.askedIn - b.askedIn);
    await Promise.all(due.slice(0, ASKED_AT_ONCE).map(([merchant, one]) => ask(merchant, one, seconds)));
    if (!isCaughtUp) cachedUntilMs = nowMs() + CATCHING_UP_MS;
    return found(seconds, isCaughtUp);
  }

  return {
    async now() {
      const leftMs = cachedUntilMs - nowMs();
      // More than it ever is: by a time that was ahead.
      if (cached === undefined || leftMs <= 0 || leftMs > CACHED_MS) {
        cachedUntilMs = nowMs() + CACHED_MS;
        cached = look();
        cached.catch(() => cachedUntilMs = -Infinity);
      }
      const answered = new AbortController();
      const late = wait(PATIENCE_MS, answered.signal).then(() => undefined);
      const looked = await Promise.race([cached, late]).finally(() => answered.abort());
      return looked ?? found(nowMs() / 1_000, false);
    },
  };
}

/** From when on a payment counts, Unix seconds; undefined when the node does not say how long it lives. */
function lastQuarterOf({ authorizedAt, expiresAt }: PendingPaymentAnswer) {
  return expiresAt === null ? undefined : { from: expiresAt - (expiresAt - authorizedAt) * LAST_QUARTER, expiresAt };
}
