import { heightOf, heightOfEvent, type LoggedEvent } from "../../store/event.ts";
import type { EventStore, WatcherState } from "../../store/store.ts";
import type { PaymentClaim, StoredPayment } from "../../store/payment.ts";
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
  paymentEscrow: string;
  /** The shortest life of a temporary entry, in ledgers. */
  shortestLife(): Promise<number>;
}

const PAGE = 1_000;
/** Late events are at the log's end, so the next claim in ledger order is one of several in the log's order. */
const MOST_CLAIMS = 20;

/**
 * Tells the payments of a merchant from its last claim before a change up to its first claim after it, from the log. A claim
 * decides all earlier payments, so the change concerns no others.
 */
export async function retell(
  parts: RetellingParts,
  state: WatcherState,
  concerned: Concerned,
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
  const history = {
    events: await Promise.all([...(last === undefined ? [] : [last]), ...told].map((event) => ruleEvent(parts, event))),
    gaps: gapsOf(state, epoch, parts.paymentEscrow, { isCut: last === undefined && forgotten > 0 }),
    settledLedger: state.settledLedger,
    isFormer: epoch < state.epoch,
  };
  const states = paymentStates(history);
  const byId = new Map(told.map((event) => [event.id, event]));
  return told.flatMap((event) => {
    const state = states.get(event.id);
    return state === undefined ? [] : [storedPayment(event, state, byId)];
  });
}

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

async function ruleEvent(
  { shortestLife }: RetellingParts,
  event: LoggedEvent,
): Promise<MerchantHistory["events"][number]> {
  const { id, ledger, txHash, payment = {} } = event;
  const amount = BigInt(event.amount ?? 0);
  if (event.type === "payment.claimed") return { kind: "claimed", id, ledger, txHash, amount, taken: payment.taken };
  const endLedger = payment.endLedger ?? ledger + await shortestLife() - 1;
  const at = unixSeconds(event.ledgerClosedAt);
  return { kind: "authorised", id, ledger, at, txHash, amount, endLedger, slot: payment.slot };
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

function storedPayment(event: LoggedEvent, told: PaymentState, byId: Map<string, LoggedEvent>): StoredPayment {
  const { id, contractId, ledger, txHash, asset, payment = {} } = event;
  const row: StoredPayment = {
    id,
    // An entry that ended stays pending until its end is an event of the log.
    state: told.state === "ended" ? "pending" : told.state,
    contractId,
    ledger,
    authorizedAt: unixSeconds(event.ledgerClosedAt),
    txHash,
    deviceHash: event.deviceHash!,
    merchant: event.merchant!,
    amount: event.amount!,
  };
  if (payment.agent !== undefined) row.agent = payment.agent;
  if (asset !== undefined) row.asset = asset;
  if (payment.slot !== undefined) row.slot = payment.slot;
  if (payment.endLedger !== undefined) row.expiresAtLedger = payment.endLedger;
  if (told.state === "ended") row.endedAtLedger = told.ledger;
  if (told.state === "claimed") row.claim = claimOf(byId.get(told.claimId)!);
  return row;
}

function claimOf({ id: eventId, txHash, ledger, ledgerClosedAt, asset }: LoggedEvent): PaymentClaim {
  const claim = { eventId, txHash, ledger, claimedAt: unixSeconds(ledgerClosedAt) };
  return asset === undefined ? claim : { ...claim, asset };
}
