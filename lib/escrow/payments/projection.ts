/*
 * Keeps the payments of the store. Reads the log on from a cursor, and derives the states of the merchants concerned. Does so after
 * each event, also a late one, after claims settle, and after a gap opens or fills.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { heightOf, heightOfEvent, LEDGERS_PER_EPOCH, type LoggedEvent } from "../../store/event.ts";
import { isFenced, type Lease, type Store, type WatcherState } from "../../store/store.ts";
import { MAX_PAYMENT_ROWS, type PaymentsCursor, type PaymentState, type StoredPayment } from "../../store/payment.ts";
import { type Concerned, PAYMENT_EVENTS, retell, type RetellingParts } from "./retelling.ts";

export interface ProjectionParts extends Omit<RetellingParts, "events"> {
  store: Pick<Store, "events" | "payments" | "leases">;
  /** Unique to this process. */
  holder: string;
  monotonicMs(): number;
}

export interface PaymentsProjection {
  /** Derives the payments up to the end of the log. On a shared store one gateway does. Rejects when the store or a node fails. */
  look(): Promise<void>;
  /** Gives the work to another gateway. Never rejects. */
  stop(): Promise<void>;
}

const LEASE = "payments";
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
const PAGE = 100;
const BEGINNING: PaymentsCursor = { epoch: 0, sequence: 0, latestLedger: 0, settledLedger: 0, gaps: [] };

export function createPaymentsProjection(parts: ProjectionParts): PaymentsProjection {
  const { store: { events, payments, leases }, paymentEscrow, holder, monotonicMs } = parts;
  let lease: Lease | undefined;
  let askedAtMs = -Infinity;
  let running: Promise<void> | undefined;
  let isAsked = false;
  let isStopped = false;

  /** Undefined while another gateway has the lease. */
  async function ownLease(): Promise<Lease | undefined> {
    const nowMs = monotonicMs();
    if (nowMs - askedAtMs < RENEW_MS) return lease;
    askedAtMs = nowMs;
    if (lease !== undefined) [lease] = await leases.renew([lease], LEASE_MS);
    return lease ??= await leases.acquire({ name: LEASE, holder, durationMs: LEASE_MS });
  }

  /** The rows that differ from those of the store. */
  async function changed(rows: StoredPayment[]): Promise<StoredPayment[]> {
    const before = await Promise.all(rows.map(({ id }) => payments.get(id)));
    return rows.filter((row, at) => !isDeepStrictEqual(row, before[at]));
  }

  /** After a kill the projection repeats rows that did not fit the last commit, with the same result. */
  async function commit(rows: StoredPayment[], cursor: PaymentsCursor): Promise<void> {
    for (let at = 0; at === 0 || at < rows.length; at += MAX_PAYMENT_ROWS) {
      const isLast = at + MAX_PAYMENT_ROWS >= rows.length;
      const some = rows.slice(at, at + MAX_PAYMENT_ROWS);
      await payments.commit({ lease: lease!, rows: some, cursor: isLast ? cursor : undefined });
    }
  }

  async function tellAll(state: WatcherState, concerned: Concerned[]): Promise<StoredPayment[]> {
    const rows: StoredPayment[] = [];
    for (const one of concerned) rows.push(...await changed(await retell({ ...parts, events }, state, one)));
    return rows;
  }

  /** Derives the states of open payments again, a page at a time. */
  async function renew(state: WatcherState, cursor: PaymentsCursor): Promise<void> {
    const { states: [first, ...others], after } = cursor.renewal!;
    const page = await payments.list({ filter: { state: first }, order: "asc", after, limit: PAGE });
    const left = page.length === PAGE ? { states: [first!, ...others], after: page.at(-1)! } : { states: others };
    const { renewal: _, ...rest } = cursor;
    const next = left.states.length === 0 ? rest : { ...rest, renewal: placeOnly(left) };
    const own = page.filter(({ contractId }) => contractId === paymentEscrow);
    await commit(await tellAll(state, concernedBy(own)), next);
  }

  /** The settled claims that the projection read before. */
  async function settledClaims(state: WatcherState, { epoch, settledLedger, sequence }: PaymentsCursor) {
    if (settledLedger >= state.settledLedger || sequence === 0) return [];
    const heights = { fromHeight: heightOf(epoch, settledLedger + 1), toHeight: heightOf(epoch, state.settledLedger) };
    const found: LoggedEvent[] = [];
    for (let after = 0;;) {
      const filter = { types: ["payment.claimed"], ...heights };
      const page = await events.read({ filter, after, upTo: sequence, order: "asc", limit: PAGE });
      found.push(...page.filter(({ contractId }) => contractId === paymentEscrow));
      if (page.length < PAGE) return found;
      after = page.at(-1)!.sequence;
    }
  }

  /** Returns whether there are more events. */
  async function step(): Promise<boolean> {
    const state = await events.watcherState();
    if (state === undefined) return false;
    const before = await payments.cursor() ??
      { ...BEGINNING, epoch: state.epoch, gaps: openGaps(state, paymentEscrow) };
    const cursor = withRenewal(state, before, paymentEscrow);
    if (cursor.renewal !== undefined) {
      await renew(state, cursor);
      return true;
    }
    const { last } = await events.bounds();
    const settled = await settledClaims(state, cursor);
    const page = await events.read({
      filter: { types: PAYMENT_EVENTS },
      after: cursor.sequence,
      upTo: last,
      order: "asc",
      limit: PAGE,
    });
    const isAtEnd = page.length < PAGE;
    const sequence = isAtEnd ? Math.max(last, cursor.sequence) : page.at(-1)!.sequence;
    if (sequence === cursor.sequence && settled.length === 0 && isDeepStrictEqual(cursor, before)) return false;
    const latestLedger = isAtEnd ? state.scannedLedger : Math.max(cursor.latestLedger, page.at(-1)!.ledger - 1);
    const own = page.filter(({ contractId }) => contractId === paymentEscrow);
    const rows = await tellAll(state, concernedBy([...settled, ...own]));
    await commit(rows, { ...cursor, sequence, latestLedger, settledLedger: state.settledLedger });
    return !isAtEnd;
  }

  async function run(): Promise<void> {
    do {
      isAsked = false;
      if (await ownLease() === undefined) return;
      while (!isStopped && await step()) {
        await yieldToOthers();
        if (await ownLease() === undefined) return;
      }
    } while (isAsked && !isStopped);
  }

  return {
    look() {
      isAsked = true;
      if (isStopped) return Promise.resolve();
      return running ??= run().catch((error) => {
        if (!isFenced(error)) throw error;
        lease = undefined;
      }).finally(() => running = undefined);
    },
    async stop() {
      isStopped = true;
      await running?.catch(() => {});
      if (lease !== undefined) await leases.release([lease]).catch(() => {});
      lease = undefined;
    },
  };
}

/** The ledger up to which the payments hold. */
export async function paymentsHoldTo({ events, payments }: Pick<Store, "events" | "payments">): Promise<number> {
  const state = await events.watcherState();
  const { last } = await events.bounds();
  const cursor = await payments.cursor();
  if (state === undefined) return 0;
  const { epoch, sequence, latestLedger, renewal } = cursor ?? { ...BEGINNING, epoch: state.epoch };
  if (epoch !== state.epoch) return 0;
  return sequence >= last && renewal === undefined ? state.scannedLedger : latestLedger;
}

function openGaps(state: WatcherState, paymentEscrow: string): PaymentsCursor["gaps"] {
  return state.gaps.filter(({ contractIds }) => contractIds.includes(paymentEscrow))
    .map(({ epoch, fromLedger, toLedger }) => ({ epoch, fromLedger, toLedger }));
}

/** The cursor after a change of the gaps or of the epoch: which payments may have another state now. */
function withRenewal(state: WatcherState, cursor: PaymentsCursor, paymentEscrow: string): PaymentsCursor {
  const gaps = openGaps(state, paymentEscrow);
  const isNewEpoch = cursor.epoch !== state.epoch;
  if (!isNewEpoch && isDeepStrictEqual(gaps, cursor.gaps)) return cursor;
  const isWithin = (gap: typeof gaps[number]) => (other: typeof gaps[number]) =>
    other.epoch === gap.epoch && other.fromLedger <= gap.fromLedger && other.toLedger >= gap.toLedger;
  const isOpened = !gaps.every((gap) => cursor.gaps.some(isWithin(gap)));
  const states: PaymentState[] = isNewEpoch || isOpened ? ["pending", "unknown"] : ["unknown"];
  const known = new Set([...states, ...cursor.renewal?.states ?? []]);
  const settledLedger = isNewEpoch ? 0 : cursor.settledLedger;
  return { ...cursor, epoch: state.epoch, gaps, settledLedger, renewal: { states: [...known] } };
}

function placeOnly({ states, after }: NonNullable<PaymentsCursor["renewal"]>): PaymentsCursor["renewal"] {
  return after === undefined ? { states } : { states, after: { authorizedAt: after.authorizedAt, id: after.id } };
}

/** The range of changed ledgers of each merchant, by epoch. */
function concernedBy(changed: (Pick<LoggedEvent, "id" | "ledger"> & { merchant?: string })[]): Concerned[] {
  const found = new Map<string, Concerned>();
  for (const one of changed) {
    const [merchant, epoch] = [one.merchant!, Math.floor(heightOfEvent(one) / LEDGERS_PER_EPOCH)];
    const known = found.get(`${epoch} ${merchant}`);
    const fromLedger = Math.min(known?.fromLedger ?? Infinity, one.ledger);
    const toLedger = Math.max(known?.toLedger ?? 0, one.ledger);
    found.set(`${epoch} ${merchant}`, { merchant, epoch, fromLedger, toLedger });
  }
  return [...found.values()];
}
