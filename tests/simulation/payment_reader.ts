import type { Chain, Ledgers } from "./chain.ts";
import type { Client } from "./client.ts";
import { endOf, livesIn, type TruePayment } from "./escrow_state.ts";
import { Dice, NOBODY } from "./world.ts";

/** Apart from the dice of all else. */
const DICE = 16_000_000_061;
/** How often it asks for one payment of a list by its id, and what for else. */
const RATES = { asksForOne: 0.3 };
const QUESTIONS = ["", "", "&order=asc", "&state=expired", "&state=claimed", "&state=pending"];

/** A payment as a gateway shows it. */
interface ShownPayment {
  id: string;
  txHash: string;
  state: string;
  claim: { txHash: string; ledger: number } | null;
}

/** A client that reads payments again and again. */
export class PaymentReader {
  isOver = false;
  readonly #dice: Dice;

  constructor(readonly client: Client) {
    this.#dice = new Dice(client.site.world.seed + DICE);
  }

  async live(): Promise<void> {
    while (!this.isOver) {
      await this.#look();
      await this.client.site.world.pass(this.#dice.random.between(200, 10_000), NOBODY);
    }
  }

  async #look(): Promise<void> {
    const question = this.#dice.random.pick(QUESTIONS);
    const answered = await this.client.ask("GET", `/v1/payments?limit=20${question}`);
    if (answered?.status !== 200) return;
    const shown = answered.body.payments as ShownPayment[];
    for (const one of shown) this.#check(one);
    for (const one of shown) this.#checkPending(one, answered.body.latestLedger);
    if (shown.length === 0 || !this.#dice.chance(RATES.asksForOne)) return;
    const { id } = this.#dice.random.pick(shown);
    const one = await this.client.ask("GET", `/v1/payments/${id}`);
    if (one?.status === 404) this.client.site.faults.push(`payment ${id} is in the list, and nowhere`);
    if (one?.status === 200) this.#check(one.body);
  }

  /** A gateway may not know a payment's end yet, but it never shows a wrong one. */
  #check({ id, txHash, state, claim }: ShownPayment): void {
    const { site: { chain, faults } } = this.client;
    const truth = chain.truthOf(txHash);
    if (truth === undefined) return void faults.push(`payment ${id} never happened`);
    // An earlier claim may not have been shown yet.
    const isTrue = state === "claimed"
      ? (truth.payment.claim?.ledger ?? Infinity) <= claim!.ledger
      : state !== "expired" || hasEnded(chain, truth);
    if (!isTrue) faults.push(`payment ${id} was ${state}, and is ${inWords(truth.payment)}`);
  }

  /** A list has all claims up to its ledger, but those that nodes left out or hold no more. */
  #checkPending({ id, txHash, state }: ShownPayment, latestLedger: number): void {
    const { site: { chain, climate, faults } } = this.client;
    const { payment, life } = chain.truthOf(txHash) ?? {};
    const { claim } = payment ?? {};
    const isPruned = climate.misfortunes.some(([what]) => what === "prune");
    if (state !== "pending" || claim === undefined || life !== chain.ledgers || isPruned) return;
    if (claim.ledger > latestLedger || chain.withheld.has(claim.txHash)) return;
    faults.push(`payment ${id} was pending in ledger ${latestLedger}, and is ${inWords(payment!)}`);
  }
}

/** Whether it has come to its end unclaimed. */
export function hasEnded({ ledgers }: Chain, { payment, life }: { payment: TruePayment; life: Ledgers }): boolean {
  const { latest } = life === ledgers ? ledgers : life;
  return payment.claim === undefined && !livesIn(payment, latest);
}

export function inWords(payment: TruePayment): string {
  const { ledger, claim } = payment;
  const end = endOf(payment, Infinity);
  return `of ledgers ${ledger} to ${end}, ${claim === undefined ? "not claimed" : `claimed in ${claim.ledger}`}`;
}
