import { lastQuarterFrom } from "../../lib/escrow/payments/retelling.ts";
import { isOwnType, type LoggedEvent } from "../../lib/store/event.ts";
import type { StoredPayment } from "../../lib/store/payment.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { CONTRACTS, type Ledgers } from "./chain.ts";
import { endOf, livesIn, type TruePayment } from "./escrow_state.ts";
import type { Payer } from "./payer.ts";
import { hasEnded, inWords } from "./payment_reader.ts";
import type { Site } from "./site.ts";

/** A payment of the log beside its truth. */
interface Known {
  site: Site;
  state: WatcherState;
  row: StoredPayment;
  payment: TruePayment;
  life: Ledgers;
  /** Transactions of claims whose metadata the gateway knows. */
  shownClaims: Set<string>;
}

/** Each payment of the log is in the state that is true. */
export async function checkPaymentStates(
  site: Site,
  log: LoggedEvent[],
  state: WatcherState,
  broken: string[],
): Promise<void> {
  const ids = new Set(log.map(({ id }) => id));
  const shownClaims = new Set(log.filter(({ payment }) => payment?.taken !== undefined).map(({ txHash }) => txHash));
  for (const { id, txHash } of log.filter(({ type }) => type === "payment.authorized")) {
    const row = await site.store.payments.get(id);
    if (row === undefined) {
      broken.push(`payment ${id} is in the log only`);
      continue;
    }
    const { payment, life } = site.chain.truthOf(txHash)!;
    if (!mayBe({ site, state, row, payment, life, shownClaims })) {
      broken.push(`payment ${id} is ${inWords(payment)}, and told as ${JSON.stringify(row)}`);
    }
    if (row.expired !== undefined && !ids.has(row.expired.eventId)) broken.push(`${id} expired without an event`);
  }
}

function mayBe(known: Known): boolean {
  const { site, state, row, payment, life } = known;
  const isFormer = life !== site.chain.ledgers;
  switch (row.state) {
    case "claimed":
      return row.claim?.txHash === payment.claim?.txHash && row.claim?.ledger === payment.claim?.ledger;
    case "expired":
      return hasEnded(site.chain, known);
    case "pending":
      return !isFormer && livesIn(payment, life.latest);
    case "unknown":
      return isFormer || hasGapSince(state, payment.ledger) || isUndecided(known);
  }
}

function hasGapSince({ epoch, gaps }: WatcherState, ledger: number): boolean {
  return gaps.some((gap) =>
    gap.epoch === epoch && gap.toLedger >= ledger && gap.contractIds.includes(CONTRACTS.paymentEscrow)
  );
}

/** A claim came after the end as last read, and metadata is missing. So the gateway may not know about an extension. */
function isUndecided({ row, payment, life, shownClaims }: Known): boolean {
  const { claim } = payment;
  const next = claim ??
    life.escrow.claims.find(({ merchant, ledger }) => merchant === payment.merchant && ledger > payment.ledger);
  if (next === undefined || next.ledger <= row.expiresAtLedger) return false;
  return row.slot === undefined || !shownClaims.has(next.txHash);
}

/** The gateways' own events come once, and are true in their ledger. */
export function checkOwnEvents({ chain }: Site, log: LoggedEvent[], broken: string[]): void {
  const own = log.filter(({ type }) => isOwnType(type));
  const payments = new Map(log.map((event) => [event.id, event]));
  for (const [name, same] of Map.groupBy(own, ({ type, payment }) => `${type} of ${payment!.of}`)) {
    if (same.length > 1) broken.push(`${name} is in the log ${same.length} times`);
    const [{ type, ledger, txHash, merchant, deviceHash, amount, payment: facts }] = same as [LoggedEvent];
    const of = payments.get(facts!.of!);
    const isSame = of?.txHash === txHash && of.merchant === merchant && of.deviceHash === deviceHash &&
      of.amount === amount;
    if (!isSame) broken.push(`${name} is of another payment`);
    const { payment } = chain.truthOf(txHash) ?? {};
    if (payment === undefined) continue;
    const isTrue = type === "payment.expired"
      ? payment.claim === undefined && endOf(payment, Infinity) < ledger
      : livesIn(payment, ledger) &&
        ledger >= lastQuarterFrom({ ledger: payment.ledger, expiresAtLedger: endOf(payment, ledger) });
    if (!isTrue) broken.push(`${name} came with ledger ${ledger}; the payment is ${inWords(payment)}`);
  }
}

/** A payment that a gateway confirmed to its payer has the payer's reference. */
export async function checkReferences({ store }: Site, payers: Payer[], broken: string[]): Promise<void> {
  for (const { client: { keyId }, intents } of payers) {
    for (const { told, reference } of intents) {
      if (told === undefined) continue;
      const known = await store.references.ofKey(keyId, [told]);
      if (known.get(told) !== reference) broken.push(`${told} is named ${known.get(told)}, not ${reference}`);
    }
  }
}
