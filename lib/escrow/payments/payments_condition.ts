import type { LedgerTimes } from "../../stellar/ledger_clock.ts";
import type { Store } from "../../store/store.ts";
import type { StoredPayment } from "../../store/payment.ts";
import { paymentsHoldTo } from "./projection.ts";

/** Payments that merchants should claim before they expire. */
export interface Expiring {
  /** The number of payments in the last quarter of their life. */
  payments: number;
  /** The number of their merchants. */
  merchants: number;
  /** When the first of them expires, Unix seconds; null when there is none. */
  firstAt: number | null;
  /** False when there may be more. */
  complete: boolean;
}

/** Payments that ended unclaimed in the last seven days, and that no operator has acknowledged. */
export interface Expired {
  /** The number of those that this gateway's API keys submitted. */
  payments: number;
  /** The number of all others. Anyone can make them. */
  others: number;
  /** The newest of the former. */
  last: StoredPayment | null;
}

export interface PaymentsCondition {
  expiring: Expiring;
  expired: Expired;
}

/** The expired payments that an operator has acknowledged. */
interface Acknowledged {
  /** Payments that expired before this time, Unix seconds. */
  before: number;
  /** Others. */
  ids: string[];
}

export const MOST_COUNTED = 1_000;
/** Ids of one value of the store. */
const MOST_ACKNOWLEDGED = 500;
export const ALARM_DAYS = 7;
const ALARM_SECONDS = ALARM_DAYS * 86_400;
const ACKNOWLEDGED = "payments acknowledged";

type Parts = Pick<Store, "events" | "payments" | "sharedState">;

/** Reads which payments need a person. Rejects when the store fails. */
export async function paymentsCondition(store: Parts, { ledgerTimes, head }: {
  /** Undefined while no node reports a time. */
  ledgerTimes(): Promise<LedgerTimes | undefined>;
  head(): { sequence: number; seconds: number };
}): Promise<PaymentsCondition> {
  const now = head();
  return { expiring: await expiringOf(store, now.sequence, ledgerTimes), expired: await expiredOf(store, now.seconds) };
}

async function expiringOf(
  store: Parts,
  sequence: number,
  ledgerTimes: () => Promise<LedgerTimes | undefined>,
): Promise<Expiring> {
  const upToLedger = Number.MAX_SAFE_INTEGER;
  const found = await store.payments.due({ for: "end", upToLedger, limit: MOST_COUNTED });
  // A payment past its end is lost already, and its event comes.
  const soon = found.filter(({ expiresAtLedger }) => expiresAtLedger >= sequence);
  const { scannedLedger = 0 } = await store.events.watcherState() ?? {};
  const complete = found.length < MOST_COUNTED && await paymentsHoldTo(store) === scannedLedger;
  const merchants = new Set(soon.map(({ merchant }) => merchant)).size;
  const [first, times] = [soon[0], soon.length === 0 ? undefined : await ledgerTimes()];
  const firstAt = first === undefined || times === undefined
    ? null
    : Math.round(times.seconds + (first.expiresAtLedger - sequence) * times.pace);
  return { payments: soon.length, merchants, firstAt, complete };
}

/** The expired payments of the last seven days. @param seconds the network's time, Unix seconds */
export async function expiredOf(store: Pick<Parts, "payments" | "sharedState">, seconds: number): Promise<Expired> {
  const { before = 0, ids = [] } = await store.sharedState.read<Acknowledged>(ACKNOWLEDGED) ?? {};
  const found = (await newestExpired(store)).filter(({ expired }) => expired!.at > seconds - ALARM_SECONDS);
  const own = found.filter(({ id, expired }) => expired!.isOwn && expired!.at >= before && !ids.includes(id));
  return { payments: own.length, others: found.filter(({ expired }) => !expired!.isOwn).length, last: own[0] ?? null };
}

function newestExpired({ payments }: Pick<Parts, "payments">): Promise<StoredPayment[]> {
  return payments.list({ filter: { state: "expired" }, order: "desc", limit: MOST_COUNTED });
}

/** Ends the alarm of these payments, or of all that have expired. Returns the ids that are no expired payment. */
export async function acknowledge(
  store: Pick<Parts, "payments" | "sharedState">,
  which: { ids: string[] } | "all",
): Promise<string[]> {
  const ids = which === "all" ? [] : which.ids;
  const states = await Promise.all(ids.map(async (id) => (await store.payments.get(id))?.state));
  const unknown = ids.filter((_, at) => states[at] !== "expired");
  if (unknown.length > 0) return unknown;
  const newest = which === "all" ? await newestExpired(store) : [];
  const last = Math.max(0, ...newest.map(({ expired }) => expired!.at));
  await store.sharedState.change<Acknowledged, void>(ACKNOWLEDGED, (known = { before: 0, ids: [] }) => {
    const kept = which === "all" ? [] : [...new Set([...ids, ...known.ids])].slice(0, MOST_ACKNOWLEDGED);
    const before = which === "all" ? last + 1 : known.before;
    return { value: { before, ids: kept }, keepMs: 10 * ALARM_SECONDS * 1_000, answer: undefined };
  });
  return [];
}
