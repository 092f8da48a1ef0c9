/*
 * Derives the states of a merchant's payments. The contract keeps each payment in a temporary entry, in a slot that it uses
 * again after a claim. A claim takes all entries that still live, so it decides all earlier payments of its merchant.
 */

/** A payment of the merchant. */
export interface Authorisation {
  kind: "authorised";
  id: string;
  ledger: number;
  /** Close time of its ledger, Unix seconds. */
  at: number;
  txHash: string;
  amount: bigint;
  /** Undefined without metadata, and when its own transaction claimed it. */
  slot?: number;
  /** The last ledger of its entry's life, as last seen. Without metadata: of the shortest life that the network gives. */
  endLedger: number;
  /** The newest ledger that was read with its entry. */
  aliveAt?: number;
  /** The first ledger that was read without its entry. */
  absentAt?: number;
}

export interface Claim {
  kind: "claimed";
  id: string;
  ledger: number;
  txHash: string;
  amount: bigint;
  /** The living entries that its transaction removed or overwrote. Undefined without metadata. */
  taken?: TakenEntry[];
}

export interface TakenEntry {
  slot: number;
  /** The time in the entry: the close time of its payment's ledger, Unix seconds. */
  at: number;
}

/** The events of one merchant in one epoch. */
export interface MerchantHistory {
  /** In ledger order. From the last claim before the payments in question, or from the beginning of the epoch. */
  events: (Authorisation | Claim)[];
  /** The ledgers of which the log has no events, with those before its beginning. */
  gaps: { fromLedger: number; toLedger: number }[];
  /** No event up to this ledger comes late. */
  settledLedger: number;
  /** The network was reset since. */
  isFormer: boolean;
}

export type PaymentState =
  | { state: "pending" | "unknown" }
  | { state: "claimed"; claimId: string }
  /** Its entry ended unclaimed. `ledger`: the first one that is known to be without it. */
  | { state: "ended"; ledger: number };

/**
 * The state of each payment by its id. "Claimed" and "ended" are final, except when an event appears late or a gap is
 * filled. "Ended" is only told of settled ledgers without a gap since the entry was last seen.
 */
export function paymentStates(history: MerchantHistory): Map<string, PaymentState> {
  const states = new Map<string, PaymentState>();
  let open: Authorisation[] = [];
  let lastClaim = 0;
  for (const event of history.events) {
    if (event.kind === "authorised") {
      open.push(event);
      continue;
    }
    decide(history, event, open, lastClaim, states);
    open = [];
    lastClaim = event.ledger;
  }
  for (const payment of open) states.set(payment.id, unclaimed(history, payment));
  return states;
}

function unclaimed(history: MerchantHistory, payment: Authorisation): PaymentState {
  if (payment.absentAt !== undefined) return endedBefore(history, payment, payment.absentAt);
  return { state: history.isFormer || mayHideClaim(history, payment, Infinity) ? "unknown" : "pending" };
}

/** Decides all payments since the last claim before this one. */
function decide(
  history: MerchantHistory,
  claim: Claim,
  open: Authorisation[],
  lastClaim: number,
  states: Map<string, PaymentState>,
): void {
  const claimed = { state: "claimed", claimId: claim.id } as const;
  const left: Authorisation[] = [];
  let amount = 0n;
  const take = (payment: Authorisation) => {
    states.set(payment.id, claimed);
    amount += payment.amount;
  };
  const isShown = shownBy(claim, open);
  for (const payment of open) {
    const shown = isShown(payment);
    if (shown === true) take(payment);
    else if (shown === false) states.set(payment.id, endedBefore(history, payment, claim.ledger));
    else if (payment.absentAt !== undefined && payment.absentAt < claim.ledger) {
      states.set(payment.id, endedBefore(history, payment, payment.absentAt));
    } else if (claim.ledger <= payment.endLedger) take(payment);
    else left.push(payment);
  }
  const sum = left.reduce((sum, payment) => sum + payment.amount, 0n);
  const isComplete = isSettled(history, claim.ledger) && !isGap(history, lastClaim, claim.ledger);
  const areTaken = isComplete && claim.amount === amount + sum;
  const areEnded = isComplete && claim.amount === amount;
  for (const payment of left) {
    const ended = areEnded ? endedBefore(history, payment, claim.ledger) : { state: "unknown" as const };
    states.set(payment.id, areTaken ? claimed : ended);
  }
}

/** Whether the claim's transaction shows that it took a payment, or did not. Undefined: that is not known. */
function shownBy(claim: Claim, open: Authorisation[]): (payment: Authorisation) => boolean | undefined {
  const { txHash, taken } = claim;
  // A slot counts up again after a claim, so only together with the time it names one payment.
  const entries = new Set(taken?.map(({ slot, at }) => `${slot} ${at}`));
  const isNamed = ({ slot, at }: Authorisation) => entries.has(`${slot} ${at}`);
  const before = open.filter((payment) => payment.txHash !== txHash);
  const named = Map.groupBy(before.filter(isNamed), ({ at }) => at);
  const unnamed = Map.groupBy(before.filter(({ slot }) => slot === undefined), ({ at }) => at);
  const written = Map.groupBy(taken ?? [], ({ at }) => at);
  return (payment) => {
    if (payment.txHash === txHash) return true;
    if (taken === undefined) return undefined;
    if (payment.slot !== undefined) return isNamed(payment);
    const { at } = payment;
    const others = (written.get(at)?.length ?? 0) - (named.get(at)?.length ?? 0);
    if (others <= 0) return false;
    return others === unnamed.get(at)!.length ? true : undefined;
  };
}

/** The state of a payment whose entry is known to be gone at this ledger, and that no known claim took. */
function endedBefore(history: MerchantHistory, payment: Authorisation, ledger: number): PaymentState {
  if (mayHideClaim(history, payment, ledger)) return { state: "unknown" };
  if (!isSettled(history, ledger)) return { state: "pending" };
  // An entry that is gone before its end was taken by a claim that the log does not have.
  return ledger <= payment.endLedger ? { state: "unknown" } : { state: "ended", ledger };
}

/** Whether a gap may hide a claim of this payment up to a ledger. */
function mayHideClaim(history: MerchantHistory, { ledger, aliveAt }: Authorisation, toLedger: number): boolean {
  return isGap(history, aliveAt === undefined ? ledger : Math.max(ledger, aliveAt + 1), toLedger);
}

function isGap({ gaps }: MerchantHistory, fromLedger: number, toLedger: number): boolean {
  return gaps.some((gap) => gap.fromLedger <= toLedger && gap.toLedger >= fromLedger);
}

/** After a reset nothing comes late: the ledgers that were not settled are a gap. */
function isSettled({ settledLedger, isFormer }: MerchantHistory, ledger: number): boolean {
  return isFormer || ledger <= settledLedger;
}
