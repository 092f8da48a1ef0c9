import { isDeepStrictEqual } from "node:util";
import { heightOf, heightOfEvent, type LoggedEvent } from "../../store/event.ts";
import type { EventStore, WatcherState } from "../../store/store.ts";
import type { PaymentClaim, PaymentReading, PaymentStore, StoredPayment } from "../../store/payment.ts";
import { unixSeconds } from "../../store/codec.ts";
import { newestLedgerFirst } from "../assets/escrow_log.ts";
import { type MerchantHistory, type PaymentState, paymentStates } from "./payment_states.ts";

export const PAYMENT_EVENTS = ["payment.authorized", "payment.claimed"];

/** Payments of one merchant in one epoch whose states may have changed. */
export interface Concerned {
  merchant: string;
  epoch: number;
  /** Something changed in these ledgers. */
  fromLedger: number;
  toLedger: number;
}

export interface RetellingParts {
  events: Pick<EventStore, "read" | "bounds">;
  payments: Pick<PaymentStore, "get">;
  paymentEscrow: string;
  /** The shortest life of a temporary entry, in ledgers. */
  shortestLife(): Promise<number>;
}

/** News of payments beside the log's events, by their ids. */
export type News = ReadonlyMap<string, Pick<StoredPayment, "reading" | "isAnnounced" | "expired">>;

const PAGE = 1_000;
/** Late events are at the log's end, so the next claim in ledger order is one of several in the log's order. */
const MOST_CLAIMS = 20;

/**
 * Derives the payments of a merchant from its last claim before a change up to its first claim after it. A claim decides all
 * earlier payments, so the change concerns no others. Returns the rows that differ from those of the store.
 */
export async function retell(
  parts: RetellingParts,
  state: WatcherState,
  concerned: Concerned,
  news: News = new Map(),
): Promise<StoredPayment[]> {
  const { merchant, epoch, fromLedger, toLedger } = concerned;
  const [begin, end] = [heightOf(epoch, 0), heightOf(epoch + 1, 0) - 1];
  const [from, to] = [heightOf(epoch, fromLedger), heightOf(epoch, toLedger)];
  const claims = (fromHeight: number, toHeight: number, order: "asc" | "desc") =>
    ofEscrow(parts, { types: ["payment.claimed"], merchant, fromHeight, toHeight }, order, MOST_CLAIMS);
  const [last] = (await claims(begin, from - 1, "desc")).sort(newestLedgerFirst);
  const next = (await claims(to + 1, end, "asc")).sort(newestLedgerFirst).at(-1);
  const isClaimed = next !== undefined || (await claims(from, to, "asc")).length > 0;
  // Without a later claim, a change concerns only the payments that it names.
  const since = !isClaimed ? from : last === undefined ? begin : heightOfEvent(last);
  const until = next === undefined ? to : heightOfEvent(next);
  const found = await all(parts, { types: PAYMENT_EVENTS, merchant, fromHeight: since, toHeight: until });
  const inOrder = found.sort(newestLedgerFirst).reverse();
  const told = inOrder.slice(
    last === undefined ? 0 : inOrder.findIndex(({ id }) => id === last.id) + 1,
    next === undefined ? undefined : inOrder.findIndex(({ id }) => id === next.id) + 1,
  );
  const { forgotten } = await parts.events.bounds();
  const before = new Map<string, StoredPayment | undefined>();
  for (const { id, type } of told) if (type === "payment.authorized") before.set(id, await parts.payments.get(id));
  const isUnshown = told.some(({ type, payment }) => type === "payment.authorized" && payment?.endLedger === undefined);
  const shortestLife = isUnshown ? await parts.shortestLife() : 0;
  const known = (event: LoggedEvent): Known => {
    const { reading, isAnnounced, expired } = { ...before.get(event.id), ...news.get(event.id) };
    const endLedger = reading?.endLedger ?? event.payment?.endLedger ?? event.ledger + shortestLife - 1;
    return { reading, isAnnounced, expired, endLedger };
  };
  const history = {
    events: [...(last === undefined ? [] : [last]), ...told].map((event) => ruleEvent(event, known(event))),
    gaps: gapsOf(state, epoch, parts.paymentEscrow, { isCut: last === undefined && forgotten > 0 }),
    settledLedger: state.settledLedger,
    isFormer: epoch < state.epoch,
  };
  const states = paymentStates(history);
  const byId = new Map(told.map((event) => [event.id, event]));
  return told.flatMap((event) => {
    const state = states.get(event.id);
    if (state === undefined) return [];
    const row = storedPayment(event, state, known(event), { byId, isFormer: history.isFormer });
    return isDeepStrictEqual(row, before.get(event.id)) ? [] : [row];
  });
}

/** The facts of a payment beside its event. */
type Known = Pick<StoredPayment, "reading" | "isAnnounced" | "expired"> & { endLedger: number };

/** The events of the contract of now. */
async function ofEscrow(
  { events, paymentEscrow }: RetellingParts,
  filter: Parameters<EventStore["read"]>[0]["filter"],
  order: "asc" | "desc",
  limit: number,
): Promise<LoggedEvent[]> {
  return (await events.read({ filter, order, limit })).filter(({ contractId }) => contractId === paymentEscrow);
}

async function all(
  { events, paymentEscrow }: RetellingParts,
  filter: Parameters<EventStore["read"]>[0]["filter"],
): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  for (let after = 0;;) {
    const page = await events.read({ filter, after, order: "asc", limit: PAGE });
    found.push(...page.filter(({ contractId }) => contractId === paymentEscrow));
    if (page.length < PAGE) return found;
    after = page.at(-1)!.sequence;
  }
}

function ruleEvent(event: LoggedEvent, { reading, endLedger }: Known): MerchantHistory["events"][number] {
  const { id, ledger, txHash, payment = {} } = event;
  const amount = BigInt(event.amount ?? 0);
  if (event.type === "payment.claimed") return { kind: "claimed", id, ledger, txHash, amount, taken: payment.taken };
  const { aliveAt, absentAt } = reading ?? {};
  const at = unixSeconds(event.ledgerClosedAt);
  return { kind: "authorised", id, ledger, at, txHash, amount, endLedger, slot: payment.slot, aliveAt, absentAt };
}

/** The ledgers of an epoch whose events of the contract are missing, with those before its first. */
export function gapsOf(
  { gaps, epoch: now, contracts, formerEpochs }: WatcherState,
  epoch: number,
  paymentEscrow: string,
  { isCut }: { isCut: boolean },
): MerchantHistory["gaps"] {
  const former = formerEpochs.find((one) => one.epoch === epoch);
  const beginning = (epoch === now ? contracts[paymentEscrow]?.fromLedger : former?.fromLedger) ?? 1;
  return [
    ...(beginning > 1 || isCut ? [{ fromLedger: 0, toLedger: beginning - 1 }] : []),
    ...gaps.filter((gap) => gap.epoch === epoch && gap.contractIds.includes(paymentEscrow)),
  ];
}

function storedPayment(
  event: LoggedEvent,
  told: PaymentState,
  { reading, isAnnounced, expired, endLedger }: Known,
  { byId, isFormer }: { byId: Map<string, LoggedEvent>; isFormer: boolean },
): StoredPayment {
  const { id, contractId, ledger, txHash, asset, payment = {} } = event;
  const isExpired = expired !== undefined && told.state !== "claimed";
  // A payment that ended stays pending until its end is an event of the log. No event of a former epoch is appended.
  const ending = isFormer ? "unknown" : "pending";
  const row: StoredPayment = {
    id,
    state: isExpired ? "expired" : told.state === "ended" ? ending : told.state,
    contractId,
    ledger,
    authorizedAt: unixSeconds(event.ledgerClosedAt),
    txHash,
    deviceHash: event.deviceHash!,
    merchant: event.merchant!,
    amount: event.amount!,
    expiresAtLedger: endLedger,
  };
  if (payment.agent !== undefined) row.agent = payment.agent;
  if (asset !== undefined) row.asset = asset;
  if (payment.slot !== undefined) row.slot = payment.slot;
  if (reading !== undefined) row.reading = reading;
  if (isAnnounced) row.isAnnounced = true;
  if (expired !== undefined) row.expired = expired;
  if (told.state === "claimed") row.claim = claimOf(byId.get(told.claimId)!);
  if (isExpired || isFormer || told.state === "claimed") return row;
  if (told.state === "ended") {
    const { ledger } = told;
    const decided = [...byId.values()].find((one) => one.type === "payment.claimed" && one.ledger === ledger);
    row.owes = { type: "payment.expired", ledger, at: decided ? unixSeconds(decided.ledgerClosedAt) : reading!.at };
  } else if (told.state === "pending" && isExpiring(row) && !isAnnounced) {
    row.owes = { type: "payment.expiring", ledger: reading!.aliveAt!, at: reading!.at };
  }
  const due = told.state === "ended" ? undefined : dueOf(row);
  return due === undefined ? row : { ...row, due };
}

/** The first ledger of the last quarter between a payment's ledger and its end. */
export function lastQuarterFrom(
  { ledger, expiresAtLedger }: Pick<StoredPayment, "ledger" | "expiresAtLedger">,
): number {
  return ledger + Math.ceil((expiresAtLedger - ledger) * 3 / 4);
}

/** Whether its entry was read alive in its last quarter. */
function isExpiring(row: StoredPayment): boolean {
  const { aliveAt } = row.reading ?? {};
  return aliveAt !== undefined && aliveAt >= lastQuarterFrom(row);
}

/** Its entry is read in its last quarter and after its end. Once the entry is gone, that ledger has to settle. */
function dueOf(row: StoredPayment): StoredPayment["due"] {
  const { ledger = 0, absentAt } = row.reading ?? {};
  if (absentAt !== undefined) return row.state === "pending" ? { for: "settling", ledger: absentAt } : undefined;
  const from = lastQuarterFrom(row);
  return ledger < from ? { for: "last_quarter", ledger: from } : { for: "end", ledger: row.expiresAtLedger + 1 };
}

function claimOf({ id: eventId, txHash, ledger, ledgerClosedAt, asset }: LoggedEvent): PaymentClaim {
  const claim = { eventId, txHash, ledger, claimedAt: unixSeconds(ledgerClosedAt) };
  return asset === undefined ? claim : { ...claim, asset };
}

/** The reading after one more read of a payment's entry. `at`: close time of that ledger, Unix seconds. */
export function readAgain(
  { reading: before, expiresAtLedger }: StoredPayment,
  { ledger, endLedger }: { ledger: number; endLedger?: number },
  at: number,
): PaymentReading {
  if (endLedger !== undefined) return { ledger, aliveAt: ledger, endLedger, at };
  const absentAt = before?.absentAt ?? (ledger > expiresAtLedger ? ledger : undefined);
  // An entry that is gone before its end was claimed, and that event comes.
  if (absentAt === undefined) return { ...before, ledger, at: before?.at ?? at };
  return { ...before, ledger, absentAt, at: before?.absentAt === undefined ? at : before.at };
}
