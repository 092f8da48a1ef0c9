import { GatewayError } from "../errors.ts";
import {
  lastReconciliation,
  lastSummary,
  type ReconciliationSummary,
  storeReconciliation,
  troubling,
} from "../escrow/books/last_reconciliation.ts";
import { reconcile, type ReconcileParts } from "../escrow/books/reconcile.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";

export interface ReconciliationsParts extends Omit<ReconcileParts, "store" | "onWait" | "signal"> {
  store: Pick<Store, "events" | "payments" | "sharedState" | "leases">;
  /** Unique to this process. */
  holder: string;
  /** 0: never. */
  everyHours: number;
  log: Log;
}

const HOUR_MS = 3_600_000;
/** Longer than a run takes. */
const LEASE_MS = 3_600_000;
const RETRY_MS = 600_000;

/** The scheduled reconciliations of the gateways on a store: one gateway at a time. */
export function createReconciliations(parts: ReconciliationsParts) {
  const { store, paymentEscrow, holder, everyHours, log, clock } = parts;
  const { sharedState } = store;
  let restsUntilMs = -Infinity;

  /** Not before the first read of the history is done, and again after a network reset. Times are the store's. */
  async function isDue(): Promise<boolean> {
    if (everyHours === 0 || clock.monotonicMs() < restsUntilMs) return false;
    const state = await store.events.watcherState();
    if (state === undefined || state.gaps.some(({ reason }) => reason === "start")) return false;
    const last = await lastSummary(sharedState, paymentEscrow);
    const agoMs = clock.now() - (last?.atMs ?? -Infinity);
    return last?.epoch !== state.epoch || agoMs >= everyHours * HOUR_MS || agoMs < -HOUR_MS;
  }

  async function run(signal: AbortSignal, isBounded: boolean): Promise<void> {
    const found = await reconcile({ ...parts, signal });
    // A stopping gateway does not wait for late events, and the next one compares again.
    if (signal.aborted && !isBounded) return;
    const last = await storeReconciliation(sharedState, paymentEscrow, found);
    const { fromLedger, toLedger, count, counts } = last;
    if (count === 0) return log.info("the log and the contracts agree", { fromLedger, toLedger });
    const fields = { ...counts, fromLedger, toLedger, todo: "gateway reconcile lists them; see docs/books.md" };
    log[troubling(last) > 0 ? "warn" : "info"]("the log and the contracts differ", fields);
  }

  return {
    /** Reconciles if that is due. `isBounded`: the signal only bounds the time. Never rejects. */
    async look(signal: AbortSignal, { isBounded = false } = {}): Promise<void> {
      try {
        if (!await isDue()) return;
        const lease = await store.leases.acquire({ name: "reconciliation", holder, durationMs: LEASE_MS });
        if (lease === undefined) return;
        await run(signal, isBounded).finally(() => store.leases.release([lease]));
      } catch (cause) {
        restsUntilMs = clock.monotonicMs() + RETRY_MS;
        if (isBounded || !signal.aborted) log.warn("a reconciliation failed; retrying", { cause });
      }
    },
    /** Rejects when the store fails. */
    summary: () => lastSummary(sharedState, paymentEscrow),
    /** @throws {GatewayError} `not_found` before the first one */
    async last() {
      const last = await lastReconciliation(sharedState, paymentEscrow);
      if (last === undefined) throw new GatewayError("not_found", "no reconciliation has run on this store yet");
      const { fromLedger, toLedger, checkedAt, count, differences } = last;
      const more = count > differences.length;
      return { ok: count === 0, fromLedger, toLedger, checkedAt, count, more, differences };
    },
  };
}

export type Reconciliations = ReturnType<typeof createReconciliations>;

/** The trouble of the last reconciliation, for people. Undefined without one. */
export function reconciliationTrouble(last: ReconciliationSummary | undefined, epoch: number): string | undefined {
  const count = last?.epoch === epoch ? troubling(last) : 0;
  if (count === 0) return undefined;
  const differences = count === 1 ? "1 difference" : `${count} differences`;
  return `the reconciliation at ${
    last!.checkedAt
  } found ${differences} between the log and the contracts: run gateway reconcile`;
}
