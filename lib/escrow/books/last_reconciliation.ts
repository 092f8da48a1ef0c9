import type { Store } from "../../store/store.ts";
import { type Cause, CAUSES, type Difference } from "./differences.ts";
import type { Reconciliation } from "./reconcile.ts";

/** The last reconciliation on a store, without the differences themselves. */
export interface ReconciliationSummary extends Omit<Reconciliation, "differences"> {
  /** When it was stored, by the store's clock, Unix ms. */
  atMs: number;
  /** All differences, also those that are not stored. */
  count: number;
  /** The same by cause. */
  counts: Record<Cause, number>;
}

/** The last reconciliation with its first `MOST_STORED` differences. */
export interface LastReconciliation extends ReconciliationSummary {
  differences: Difference[];
}

export const MOST_STORED = 1_000;
/** A shared value is at most 32 KiB, and a difference at most 400 bytes. */
const PER_VALUE = 80;
const KEPT_MS = 10 * 365 * 86_400_000;

/** Names the values with the differences. */
type Stored = ReconciliationSummary & { run: string };
type SharedState = Pick<Store["sharedState"], "read" | "change">;

const nameOf = (paymentEscrow: string) => `reconciliation/${paymentEscrow}`;
const partName = (paymentEscrow: string, run: string, part: number) => `${nameOf(paymentEscrow)}/${run}/${part}`;
const partsOf = (count: number) => Math.ceil(Math.min(count, MOST_STORED) / PER_VALUE);

/** Stores a reconciliation in place of the last one. Returns its summary. */
export async function storeReconciliation(
  sharedState: SharedState,
  paymentEscrow: string,
  { differences, ...run }: Reconciliation,
): Promise<ReconciliationSummary> {
  const id = crypto.randomUUID();
  const count = differences.length;
  for (let part = 0; part < partsOf(count); part++) {
    const value = differences.slice(part * PER_VALUE, Math.min((part + 1) * PER_VALUE, MOST_STORED));
    await sharedState.change(partName(paymentEscrow, id, part), () => ({ value, keepMs: KEPT_MS, answer: undefined }));
  }
  const countOf = (cause: Cause) => differences.filter((one) => one.cause === cause).length;
  const counts = Object.fromEntries(CAUSES.map((cause) => [cause, countOf(cause)])) as Record<Cause, number>;
  const { former, summary } = await sharedState.change<Stored, { former: Stored | undefined; summary: Stored }>(
    nameOf(paymentEscrow),
    (former, atMs) => {
      const summary = { ...run, atMs, count, counts, run: id };
      return { value: summary, keepMs: KEPT_MS, answer: { former, summary } };
    },
  );
  for (let part = 0; part < partsOf(former?.count ?? 0); part++) {
    const name = partName(paymentEscrow, former!.run, part);
    await sharedState.change(name, () => ({ value: null, keepMs: 0, answer: undefined }));
  }
  return summary;
}

/**
 * The differences that are a trouble. One by a gap is none: the gap is reported itself, and a history that begins after the
 * contract has no remedy.
 */
export function troubling({ count, counts }: ReconciliationSummary): number {
  return count - counts.gap;
}

/** Undefined before the first one. */
export function lastSummary(
  sharedState: Pick<SharedState, "read">,
  paymentEscrow: string,
): Promise<ReconciliationSummary | undefined> {
  return sharedState.read<Stored>(nameOf(paymentEscrow));
}

/** Undefined before the first one. */
export async function lastReconciliation(
  sharedState: Pick<SharedState, "read">,
  paymentEscrow: string,
): Promise<LastReconciliation | undefined> {
  for (;;) {
    const last = await sharedState.read<Stored>(nameOf(paymentEscrow));
    if (last === undefined) return undefined;
    const { run, ...summary } = last;
    const parts: (Difference[] | undefined)[] = [];
    for (let part = 0; part < partsOf(last.count); part++) {
      parts.push(await sharedState.read<Difference[]>(partName(paymentEscrow, run, part)));
    }
    // A newer one has just replaced it.
    if (parts.includes(undefined)) continue;
    return { ...summary, differences: parts.flatMap((part) => part!) };
  }
}
