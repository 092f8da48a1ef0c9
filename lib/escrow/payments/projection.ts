/*
 * Keeps the payments of the store. Reads the log on from a cursor, and derives the states of the merchants concerned. Does so after
 * each event, also a late one, after ledgers settle, after reads of entries, and after a gap opens or fills. The leader's watcher
 * runs it under its lease, and appends the events that payments owe.
 */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isoSeconds } from "../../clock.ts";
import { MAX_UINT32 } from "../../ledger_numbers.ts";
import {
  formatEventId,
  heightOf,
  heightOfEvent,
  LEDGERS_PER_EPOCH,
  type LoggedEvent,
  type NewEvent,
  OWN_EVENT_TYPES,
  parseEventId,
} from "../../store/event.ts";
import type { Lease, Store, WatcherState } from "../../store/store.ts";
import { MAX_PAYMENT_ROWS, type PaymentsCursor, type PaymentState, type StoredPayment } from "../../store/payment.ts";
import type { PaymentEntries } from "./payment_entries.ts";
import { unixSeconds } from "../../store/codec.ts";
import { type Concerned, type News, PAYMENT_EVENTS, readAgain, retell, type RetellingParts } from "./retelling.ts";

export interface ProjectionParts extends Omit<RetellingParts, "events" | "payments"> {
  store: Pick<Store, "events" | "payments" | "submissions" | "sharedState">;
  readEntries: PaymentEntries;
  /** The newest ledger, and its close time or one near it, Unix seconds. */
  head(): { sequence: number; closeTime: number };
}

/** Every method runs under the lease of the log, and rejects with `fenced` when another gateway has it. */
export interface PaymentsProjection {
  /** Derives the payments up to the end of the log. Rejects when the store fails. */
  follow(lease: Lease): Promise<void>;
  /** Reads the entries that are due. Rejects when the store or a node fails. */
  read(lease: Lease): Promise<void>;
  /**
   * The events that payments owe, at most 100. None while the payments do not reach the end of the log. The caller appends them
   * before anything else.
   */
  owedEvents(lease: Lease): Promise<NewEvent[]>;
  /** Ends `follow` after the step under way, and `read` without waiting for a node. */
  stop(): void;
}

const PAGE = 100;
/** Steps of `owedEvents`, for which a poll waits. */
const STEPS_AT_ONCE = 10;
const OWED_AT_ONCE = 100;
/** Reads of one turn: five calls. */
const READ_AT_ONCE = 1_000;
const SETTLED_AT_ONCE = 100;
const BEGINNING = { sequence: 0, latestLedger: 0, settledLedger: 0 };
/** Name of the shared value that asks for a rebuild. */
export const REBUILD = "payments rebuild";

export function createPaymentsProjection(parts: ProjectionParts): PaymentsProjection {
  const { store: { events, payments, submissions, sharedState }, paymentEscrow, readEntries, head } = parts;
  let last: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  const stopped = Promise.withResolvers<undefined>();

  /** One piece of work at a time, so that none derives rows from what another changes. */
  function exclusive<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  }

  /** After a kill the projection repeats rows that did not fit the last commit, with the same result. */
  async function commit(lease: Lease, rows: StoredPayment[], cursor?: PaymentsCursor): Promise<void> {
    for (let at = 0; at === 0 || at < rows.length; at += MAX_PAYMENT_ROWS) {
      const isLast = at + MAX_PAYMENT_ROWS >= rows.length;
      const some = rows.slice(at, at + MAX_PAYMENT_ROWS);
      await payments.commit({ lease, rows: some, cursor: isLast ? cursor : undefined });
    }
  }

  async function tell(state: WatcherState, concerned: Concerned[], news?: News): Promise<StoredPayment[]> {
    const rows: StoredPayment[] = [];
    for (const one of concerned) rows.push(...await retell({ ...parts, events, payments }, state, one, news));
    return rows;
  }

  /** Derives the states of open payments again, a page at a time. */
  async function renew(lease: Lease, state: WatcherState, cursor: PaymentsCursor): Promise<void> {
    const { states: [first, ...others], after } = cursor.renewal!;
    const page = await payments.list({ filter: { state: first }, order: "asc", after, limit: PAGE });
    const left = page.length === PAGE ? { states: [first!, ...others], after: page.at(-1)! } : { states: others };
    const { renewal: _, ...rest } = cursor;
    const next = left.states.length === 0 ? rest : { ...rest, renewal: placeOnly(left) };
    const former = page.filter((row) => !isOwn(row) && row.state === "pending").map(ofFormerContract);
    await commit(lease, [...former, ...await tell(state, concernedBy(page.filter(isOwn)))], next);
  }

  const isOwn = ({ contractId }: { contractId: string }) => contractId === paymentEscrow;

  /** The settled claims that the projection read before. */
  async function settledClaims(state: WatcherState, { epoch, settledLedger, sequence }: PaymentsCursor) {
    if (settledLedger >= state.settledLedger || sequence === 0) return [];
    const heights = { fromHeight: heightOf(epoch, settledLedger + 1), toHeight: heightOf(epoch, state.settledLedger) };
    const found: LoggedEvent[] = [];
    for (let after = 0;;) {
      const filter = { types: ["payment.claimed"], ...heights };
      const page = await events.read({ filter, after, upTo: sequence, order: "asc", limit: PAGE });
      found.push(...page.filter(isOwn));
      if (page.length < PAGE) return found;
      after = page.at(-1)!.sequence;
    }
  }

  /** The payments of these events of the gateway's own, and what the events say of them. */
  async function ownOf(page: LoggedEvent[]): Promise<{ rows: StoredPayment[]; news: News }> {
    const rows: StoredPayment[] = [];
    const news = new Map<string, Pick<StoredPayment, "isAnnounced" | "expired">>();
    for (const event of page.filter(({ payment }) => payment?.of !== undefined)) {
      const row = await payments.get(event.payment!.of!);
      if (row === undefined) continue;
      rows.push(row);
      const known = news.get(row.id);
      news.set(row.id, {
        ...known,
        ...(event.type === "payment.expired" ? await expiredBy(event, row) : { isAnnounced: true }),
      });
    }
    return { rows, news };
  }

  /** Submissions are kept for a shorter time than payments, so a rebuild keeps what was known. */
  async function expiredBy(
    { id: eventId, ledger, ledgerClosedAt, txHash }: LoggedEvent,
    { expired }: StoredPayment,
  ): Promise<Pick<StoredPayment, "expired">> {
    const isOwn = expired?.isOwn ?? await submissions.get(txHash) !== undefined;
    return { expired: { eventId, ledger, at: unixSeconds(ledgerClosedAt), isOwn } };
  }

  const beginningOf = (state: WatcherState): PaymentsCursor => {
    return { ...BEGINNING, epoch: state.epoch, contractId: paymentEscrow, gaps: openGaps(state, paymentEscrow) };
  };

  /** Begins again, if an operator asked for it. The readings of entries stay with the payments. */
  async function rebuild(lease: Lease): Promise<void> {
    const state = await events.watcherState();
    if (state === undefined || await sharedState.read(REBUILD) === undefined) return;
    await commit(lease, [], beginningOf(state));
    await sharedState.change(REBUILD, () => ({ value: null, keepMs: 0, answer: undefined }));
  }

  /** Returns whether there is more to derive. */
  async function step(lease: Lease): Promise<boolean> {
    const state = await events.watcherState();
    if (state === undefined) return false;
    const before = await payments.cursor() ?? beginningOf(state);
    const cursor = withRenewal(state, before, paymentEscrow);
    if (cursor.renewal !== undefined) {
      await renew(lease, state, cursor);
      return true;
    }
    const { last } = await events.bounds();
    const claims = await settledClaims(state, cursor);
    const settled = await payments.due({ for: "settling", upToLedger: state.settledLedger, limit: SETTLED_AT_ONCE });
    const types = [...PAYMENT_EVENTS, ...OWN_EVENT_TYPES];
    const page = await events.read({
      filter: { types },
      after: cursor.sequence,
      upTo: last,
      order: "asc",
      limit: PAGE,
    });
    const isAtEnd = page.length < PAGE;
    const sequence = isAtEnd ? Math.max(last, cursor.sequence) : page.at(-1)!.sequence;
    const latestLedger = isAtEnd ? state.scannedLedger : Math.max(cursor.latestLedger, page.at(-1)!.ledger - 1);
    const { rows: own, news } = await ownOf(page);
    const logged = page.filter(({ payment }) => payment?.of === undefined);
    const rows = await tell(state, concernedBy([...claims, ...settled, ...own, ...logged].filter(isOwn)), news);
    const next = { ...cursor, sequence, latestLedger, settledLedger: state.settledLedger };
    if (rows.length === 0 && isDeepStrictEqual(next, before)) return false;
    await commit(lease, rows, next);
    return !isAtEnd || rows.length > 0;
  }

  /** Returns whether the payments reach the end of the log. */
  async function steps(lease: Lease, most: number): Promise<boolean> {
    for (let n = 0; n < most && !isStopped; n++) {
      if (!await exclusive(() => step(lease))) return true;
      await yieldToOthers();
    }
    return false;
  }

  return {
    async follow(lease) {
      await exclusive(() => rebuild(lease));
      await steps(lease, Infinity);
    },
    async read(lease) {
      const upToLedger = head().sequence;
      const found = await Promise.all(
        (["end", "last_quarter"] as const).map((what) => payments.due({ for: what, upToLedger, limit: READ_AT_ONCE })),
      );
      const due = found.flat().slice(0, READ_AT_ONCE).filter(isOwn);
      if (due.length === 0) return;
      const entries = await Promise.race([readEntries(due), stopped.promise]);
      if (entries === undefined) return;
      const { closeTime } = head();
      await exclusive(async () => {
        const state = await events.watcherState();
        const news = new Map<string, Pick<StoredPayment, "reading">>();
        for (const { id } of due) {
          const [row, read] = [await payments.get(id), entries.get(id)];
          if (row?.due !== undefined && row.due.for !== "settling" && read !== undefined) {
            news.set(id, { reading: readAgain(row, read, closeTime) });
          }
        }
        await commit(lease, await tell(state!, concernedBy(due.filter(({ id }) => news.has(id))), news));
      });
    },
    async owedEvents(lease) {
      const isAtEnd = await steps(lease, STEPS_AT_ONCE);
      const owing = isAtEnd ? await payments.owing({ limit: OWED_AT_ONCE }) : [];
      if (owing.length === 0) return [];
      const { epoch } = (await events.watcherState())!;
      const added: NewEvent[] = [];
      for (const row of owing) {
        const { ledger } = row.owes!;
        const before = added.filter((one) => one.ledger === ledger).length;
        added.push(ownEvent(row, { epoch, index: await nextIndex(epoch, ledger) + before, knownAt: head().closeTime }));
      }
      return added;
    },
    stop() {
      isStopped = true;
      stopped.resolve(undefined);
    },
  };

  /** The first free index among the events of the gateway's own in a ledger. */
  async function nextIndex(epoch: number, ledger: number): Promise<number> {
    const height = heightOf(epoch, ledger);
    const filter = { types: [...OWN_EVENT_TYPES], fromHeight: height, toHeight: height };
    const [newest] = await events.read({ filter, order: "desc", limit: 1 });
    return newest === undefined ? 0 : parseEventId(newest.id)!.index + 1;
  }
}

/** The gateway does not follow a former contract. Its payments are derived again once the gateway has that contract again. */
function ofFormerContract({ due: _, owes: __, ...row }: StoredPayment): StoredPayment {
  return { ...row, state: "unknown" };
}

/** An event of the gateway's own comes after all events of the network in its ledger. */
function ownEvent(
  { id: of, owes, contractId, txHash, deviceHash, merchant, agent, amount, asset }: StoredPayment,
  { epoch, index, knownAt }: { epoch: number; index: number; knownAt: number },
): NewEvent {
  const { type, ledger, at } = owes!;
  return {
    id: formatEventId({ epoch, ledger, order: MAX_UINT32, index }),
    type,
    contractId,
    ledger,
    ledgerClosedAt: isoSeconds(at * 1_000),
    txHash,
    deviceHash,
    merchant,
    amount,
    ...(agent === undefined ? {} : { agent }),
    ...(asset === undefined ? {} : { asset }),
    knownAt,
    payment: { of },
  };
}

/** The ledger up to which the payments hold. */
export async function paymentsHoldTo({ events, payments }: Pick<Store, "events" | "payments">): Promise<number> {
  const state = await events.watcherState();
  const { last } = await events.bounds();
  const cursor = await payments.cursor();
  if (state === undefined) return 0;
  if (cursor === undefined) return last === 0 ? state.scannedLedger : 0;
  const { epoch, sequence, latestLedger, renewal } = cursor;
  if (epoch !== state.epoch) return 0;
  return sequence >= last && renewal === undefined ? state.scannedLedger : latestLedger;
}

function openGaps(state: WatcherState, paymentEscrow: string): PaymentsCursor["gaps"] {
  return state.gaps.filter(({ contractIds }) => contractIds.includes(paymentEscrow))
    .map(({ epoch, fromLedger, toLedger }) => ({ epoch, fromLedger, toLedger }));
}

/**
 * The cursor after a change of gaps, epoch or contract: which payments may have another state now. For another contract
 * the projection begins again.
 */
function withRenewal(state: WatcherState, before: PaymentsCursor, paymentEscrow: string): PaymentsCursor {
  const gaps = openGaps(state, paymentEscrow);
  const isSame = before.contractId === paymentEscrow;
  const cursor = isSame ? before : { ...before, ...BEGINNING, contractId: paymentEscrow };
  const isNew = !isSame || cursor.epoch !== state.epoch;
  if (!isNew && isDeepStrictEqual(gaps, cursor.gaps)) return cursor;
  const isWithin = (gap: typeof gaps[number]) => (other: typeof gaps[number]) =>
    other.epoch === gap.epoch && other.fromLedger <= gap.fromLedger && other.toLedger >= gap.toLedger;
  const isOpened = !gaps.every((gap) => cursor.gaps.some(isWithin(gap)));
  const states: PaymentState[] = isNew || isOpened ? ["pending", "unknown"] : ["unknown"];
  const known = new Set([...states, ...cursor.renewal?.states ?? []]);
  const settledLedger = isNew ? 0 : cursor.settledLedger;
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
