import { cardAt } from "./chain.ts";
import type { Client } from "./client.ts";
import { Dice, NOBODY } from "./world.ts";

/** Apart from the dice of all else. */
const DICE = 6_000_000_037;

/** A card as somebody was shown it. */
export interface ShownCard {
  askedMs: number;
  answeredMs: number;
  machine: string;
  /** Of which ledger the answer is, by what the card's escrow held. */
  ledger: number;
  /** The newest ledger that there was. */
  latest: number;
}

/** One who looks at cards, again and again. */
export class CardReader {
  readonly shown: ShownCard[] = [];
  isOver = false;
  readonly #dice: Dice;

  constructor(readonly client: Client, number: number) {
    this.#dice = new Dice(client.site.world.seed + number * DICE);
  }

  async live(): Promise<void> {
    const { world } = this.client.site;
    while (!this.isOver) {
      await this.look();
      await world.pass(this.#dice.random.between(20, 3_000), NOBODY);
    }
  }

  /** Answers whether it was shown one. */
  async look(): Promise<boolean> {
    const { world, chain } = this.client.site;
    const askedMs = world.nowMs;
    const answered = await this.client.ask("GET", `/v1/devices/${cardAt(this.#dice)}`);
    if (answered?.status !== 200) return false;
    const [ledger, latest] = [Number(answered.body.escrowBalance), chain.ledgers.latest];
    this.shown.push({ askedMs, answeredMs: world.nowMs, machine: answered.machine, ledger, latest });
    return true;
  }
}
