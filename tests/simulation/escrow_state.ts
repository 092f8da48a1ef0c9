import { Accounts } from "./accounts.ts";
import { type Dice } from "./world.ts";

/** A payment in the escrow contract, from its authorisation to its claim or its end. */
export interface TruePayment {
  txHash: string;
  merchant: string;
  deviceHash: string;
  amount: bigint;
  slot: number;
  ledger: number;
  /** Close time of its ledger, Unix seconds: the contract writes it into the entry. */
  at: number;
  /** The last ledger of its entry's life, since each ledger in which somebody changed that. */
  ends: { since: number; endLedger: number }[];
  claim?: TrueClaim;
}

/** A claim, which takes all payments of its merchant that live. */
export interface TrueClaim {
  txHash: string;
  merchant: string;
  ledger: number;
  amount: bigint;
  taken: TruePayment[];
  /** Entries of the merchant that had ended. */
  ended: TruePayment[];
}

/** How people use the contract in one world. */
export interface Habits {
  /** The shortest life of a temporary entry, in ledgers: short, so that payments end within the world. */
  life: number;
  /** How often in a ledger a merchant claims, and somebody extends a payment. */
  claims: number;
  extends: number;
  /** Of sixteen transactions so many show their metadata. */
  shown: number;
}

export function drawHabits(dice: Dice): Habits {
  return {
    life: dice.integer(6, 30),
    claims: dice.random.pick([0, 0.03, 0.1, 0.3]),
    extends: dice.random.pick([0, 0.1, 0.3]),
    shown: dice.random.pick([0, 8, 16]),
  };
}

const MERCHANTS = 2;
/** The accounts of payers have smaller numbers. */
const FIRST_MERCHANT = 100;

/** Several pay the same merchant. */
export function merchantOf(payer: number): string {
  return Accounts.address(FIRST_MERCHANT + payer % MERCHANTS);
}

/** The truth about the escrow contract in one life of the network. */
export class EscrowState {
  readonly payments: TruePayment[] = [];
  readonly #funded: { ledger: number; deviceHash: string; amount: bigint }[] = [];
  readonly claims: TrueClaim[] = [];
  /** The contract's `PendingIndex` of each merchant, since each ledger in which it changed. */
  readonly #indexes = new Map<string, { since: number; index: number }[]>();

  constructor(readonly habits: Habits, readonly dice: Dice) {}

  fund(deviceHash: string, amount: bigint, ledger: number): void {
    this.#funded.push({ deviceHash, amount, ledger });
  }

  authorize(made: Omit<TruePayment, "slot" | "ends" | "claim">): void {
    const { merchant, ledger } = made;
    const slot = this.index(merchant, Infinity) + 1;
    this.#setIndex(merchant, ledger, slot);
    this.payments.push({ ...made, slot, ends: [{ since: ledger, endLedger: ledger + this.habits.life - 1 }] });
  }

  /** Some merchants claim. */
  claimSome(ledger: number, nextHash: () => string): TrueClaim[] {
    const merchants = [...this.#indexes.keys()].filter(() => this.dice.chance(this.habits.claims));
    return merchants.flatMap((merchant) => {
      const open = this.payments.filter((one) => one.merchant === merchant && one.claim === undefined);
      const taken = open.filter((one) => endOf(one, ledger) >= ledger);
      // The contract refuses to claim nothing.
      if (taken.length === 0) return [];
      const amount = taken.reduce((sum, one) => sum + one.amount, 0n);
      const ended = open.filter((one) => endOf(one, ledger) < ledger);
      const claim = { txHash: nextHash(), merchant, ledger, amount, taken, ended };
      for (const one of taken) one.claim = claim;
      this.claims.push(claim);
      this.#setIndex(merchant, ledger, 0);
      return [claim];
    });
  }

  /** Now and then somebody extends a payment, as anybody may. */
  extendOne(ledger: number): void {
    const living = this.payments.filter((one) => one.claim === undefined && endOf(one, ledger) >= ledger);
    if (living.length === 0 || !this.dice.chance(this.habits.extends)) return;
    const { ends } = this.dice.random.pick(living);
    ends.push({ since: ledger, endLedger: ends.at(-1)!.endLedger + this.dice.integer(1, this.habits.life) });
  }

  /** `PendingIndex(merchant)` as of a ledger. */
  index(merchant: string, ledger: number): number {
    return this.#indexes.get(merchant)?.findLast(({ since }) => since <= ledger)?.index ?? 0;
  }

  #setIndex(merchant: string, ledger: number, index: number): void {
    this.#indexes.set(merchant, [...this.#indexes.get(merchant) ?? [], { since: ledger, index }]);
  }

  /** The payment in a slot as of a ledger, also one that has ended. */
  inSlot(merchant: string, slot: number, ledger: number): TruePayment | undefined {
    const last = this.payments.findLast((one) =>
      one.merchant === merchant && one.slot === slot && one.ledger <= ledger
    );
    return (last?.claim?.ledger ?? Infinity) <= ledger ? undefined : last;
  }

  /** The contract's balance of a card as of a ledger. */
  balance(deviceHash: string, ledger: number): bigint {
    const isOne = (one: { deviceHash: string; ledger: number }) =>
      one.deviceHash === deviceHash && one.ledger <= ledger;
    return sum(this.#funded.filter(isOne)) - sum(this.payments.filter(isOne));
  }

  /** The amount that the contract holds as of a ledger. Payments that have ended stay in it. */
  held(ledger: number): bigint {
    const isOne = (one: { ledger: number }) => one.ledger <= ledger;
    return sum(this.#funded.filter(isOne)) - sum(this.claims.filter(isOne));
  }
}

/** The last ledger of its entry's life, as of a ledger. */
export function endOf({ ends }: TruePayment, ledger: number): number {
  return ends.findLast(({ since }) => since <= ledger)!.endLedger;
}

/** Whether its entry is there in a ledger. */
export function livesIn(payment: TruePayment, ledger: number): boolean {
  const { claim } = payment;
  return payment.ledger <= ledger && (claim === undefined || claim.ledger > ledger) && endOf(payment, ledger) >= ledger;
}

function sum(all: { amount: bigint }[]): bigint {
  return all.reduce((total, { amount }) => total + amount, 0n);
}
