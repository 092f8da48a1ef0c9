import type { EscrowReads } from "./reads.ts";

/** Payments that merchants should claim before the network forgets them. */
export interface Expiring {
  /** How many payments are in the last quarter of their life. */
  payments: number;
  /** How many merchants they are for. */
  merchants: number;
  /** When the first of them expires, Unix seconds; null when there is none. */
  firstAt: number | null;
}

interface PaymentEvent {
  type: string;
  merchant?: string;
  ledger: number;
}

export interface ExpiringPayments {
  /** As of a minute ago at most. Rejects when the log can't be read; what a node fails at is left out. */
  now(): Promise<Expiring>;
}

const HOLD_MS = 60_000;
const MOST_EVENTS = 5_000;
const PAGE = 500;
/** The more than these, the less any one of them matters to whoever is alarmed. */
const MOST_MERCHANTS = 100;
/** What is left of a payment's life, in quarters, when it counts. */
const LAST_QUARTER = 0.25;

/**
 * Finds payments that are about to expire: in the log those merchants that have had a payment longest and not claimed since,
 * and of these on the chain what is pending. A deployment whose merchants claim costs no call.
 */
export function createExpiringPayments({ log, reads, shortestLife, latestLedger, nowMs }: {
  log: {
    read(query: { filter: { types: string[] }; upTo?: number; order: "desc"; limit: number }): Promise<
      (PaymentEvent & { sequence: number })[]
    >;
  };
  reads: Pick<EscrowReads, "pending">;
  /** How many ledgers a payment lives at the least. */
  shortestLife(): Promise<number>;
  latestLedger(): number;
  nowMs: () => number;
}): ExpiringPayments {
  let held: Promise<Expiring> | undefined;
  let heldUntilMs = -Infinity;

  /** Merchants with a payment so old that it may be about to expire, as far as the log goes back; the oldest first. */
  async function candidates(): Promise<string[]> {
    const claimed = new Set<string>();
    const waiting = new Map<string, number>();
    let upTo: number | undefined;
    for (let seen = 0; seen < MOST_EVENTS; seen += PAGE) {
      const filter = { types: ["payment.authorized", "payment.claimed"] };
      const events = await log.read({ filter, upTo, order: "desc", limit: PAGE });
      for (const { type, merchant, ledger } of events) {
        if (merchant === undefined || claimed.has(merchant)) continue;
        if (type === "payment.claimed") claimed.add(merchant);
        else waiting.set(merchant, ledger);
      }
      if (events.length < PAGE) break;
      upTo = events.at(-1)!.sequence - 1;
    }
    if (waiting.size === 0) return [];
    const young = latestLedger() - await shortestLife() * (1 - LAST_QUARTER);
    return [...waiting].filter(([, ledger]) => ledger <= young).sort(([, a], [, b]) => a - b)
      .map(([merchant]) => merchant).slice(0, MOST_MERCHANTS);
  }

  async function look(): Promise<Expiring> {
    const found: Expiring = { payments: 0, merchants: 0, firstAt: null };
    const seconds = nowMs() / 1_000;
    const asked = await Promise.allSettled((await candidates()).map((merchant) => reads.pending(merchant)));
    for (const answer of asked) {
      const payments = answer.status === "fulfilled" ? answer.value.payments ?? [] : [];
      const expiring = payments.flatMap(({ authorizedAt, expiresAt }) =>
        expiresAt !== null && expiresAt - seconds <= (expiresAt - authorizedAt) * LAST_QUARTER ? [expiresAt] : []
      );
      if (expiring.length === 0) continue;
      found.payments += expiring.length;
      found.merchants += 1;
      found.firstAt = Math.min(found.firstAt ?? Infinity, ...expiring);
    }
    return found;
  }

  return {
    now() {
      if (held === undefined || nowMs() >= heldUntilMs) {
        heldUntilMs = nowMs() + HOLD_MS;
        held = look();
        held.catch(() => heldUntilMs = -Infinity);
      }
      return held;
    },
  };
}
