import { createExpiringPayments, type Expiring } from "../../lib/escrow/reads/expiring_payments.ts";
import type { PendingAnswer } from "../../lib/escrow/reads/reads.ts";
import { formatEventId, type NewEvent } from "../../lib/store/event.ts";
import type { Store } from "../../lib/store/store.ts";
import { CONTRACT, sampleEvent, sampleState, watcherLease } from "../store/samples.ts";

export const LIFE = 17_280;
export const LATEST = 100_000;
/** The newest ledger whose payments are in the last quarter of their life. */
export const OF_AGE = LATEST - LIFE * 3 / 4;
export const NOW = 1_800_000_000;
/** Seconds per ledger. */
export const PACE = 5;

type Kind = "authorized" | "claimed";
export type Payment = [kind: Kind, merchant: string, ledger: number];

/** A store's log, and a chain with the payments that the test makes pending. */
export class Deployment {
  readonly store: Store;
  readonly chain = new Map<string, { ledger: number; life?: number }[]>();
  readonly asked: string[] = [];
  latest = LATEST;
  #events = 0;

  constructor(store: Store) {
    this.store = store;
  }

  /** Appends events in this order, whatever their ledgers. */
  async log(payments: Payment[], epoch = 0): Promise<void> {
    const lease = await watcherLease(this.store);
    for (let from = 0; from < payments.length; from += 100) {
      const events = payments.slice(from, from + 100).map(([kind, merchant, ledger]): NewEvent => {
        const id = formatEventId({ epoch, ledger, order: 4_097, index: this.#events++ });
        return sampleEvent(0, { id, ledger, type: `payment.${kind}`, merchant, amount: "1" });
      });
      await this.store.events.append({ lease, events, state: sampleState(this.latest, { epoch }) });
    }
  }

  /** A payment in the log and on the chain. */
  async pay(merchant: string, ledger: number, life = LIFE): Promise<void> {
    this.chain.set(merchant, [...this.chain.get(merchant) ?? [], { ledger, life }]);
    await this.log([["authorized", merchant, ledger]]);
  }

  seconds(ledger: number): number {
    return NOW + (ledger - LATEST) * PACE;
  }

  pending = (merchant: string): Promise<PendingAnswer> => {
    this.asked.push(merchant);
    const payments = (this.chain.get(merchant) ?? []).map(({ ledger, life = LIFE }) => ({
      deviceHash: "ab".repeat(32),
      amount: "1",
      authorizedAt: this.seconds(ledger),
      expiresAt: this.seconds(ledger + life),
    }));
    return Promise.resolve({ pending: "1", payments });
  };

  watch(pending = this.pending, wait = untilAborted) {
    return createExpiringPayments({
      events: this.store.events,
      paymentEscrow: CONTRACT,
      reads: { pending },
      shortestLife: () => Promise.resolve(LIFE),
      latestLedger: () => this.latest,
      nowMs: () => this.seconds(this.latest) * 1_000,
      wait,
    });
  }
}

/** Waits until the signal aborts. */
function untilAborted(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}

export const none: Expiring = { payments: 0, merchants: 0, firstAt: null, complete: true };
