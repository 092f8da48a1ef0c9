import { TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import { Accounts } from "./accounts.ts";
import { ASSET, PASSPHRASE } from "./chain.ts";
import type { Answered, Client } from "./client.ts";
import { NOBODY, START_MS } from "./world.ts";

/** A payment that somebody means to make once. */
export interface PaymentIntent {
  /** No two are of the same. */
  amount: string;
  source: string;
  /** What its payer was told is its success. */
  told?: string;
  /** Transactions that were said to have failed for good, by hash. */
  saidFailed: Set<string>;
  /** Nobody is at it for now. */
  isAsleep?: boolean;
  /** Since when somebody is, the world's ms. */
  awakeMs: number;
}

/** No two intents of a world are of the same amount. */
const FIRST_AMOUNT = 1_000;
/** What an envelope is valid for, what a clock may be off that is taken for right, and half a minute for answers that are old. */
const VALID_MS = 390_000;
/** How often a payer forgets what it had, sleeps for minutes, or does not hear an answer. */
const RATES = { crashed: 0.08, overslept: 0.03, deaf: 0.1, doubled: 0.2, asksStatus: 0.4 };

/** One who pays, again and again, each time until it was told that the payment was made: always under the same key. */
export class Payer {
  readonly intents: PaymentIntent[] = [];
  /** Ledgers in which it was told by a gateway that something was confirmed. */
  readonly confirmed: { ledger: number; machine: string; answeredMs: number }[] = [];
  /** All is well from now on, and no more payments are begun. */
  isOver = false;

  constructor(readonly client: Client, readonly number: number) {}

  /** One payment after another, until told to end. */
  async live(): Promise<void> {
    const { world } = this.client.site;
    for (let n = 0; !this.isOver; n++) {
      const amount = String(FIRST_AMOUNT * (this.number + 1) + n);
      const intent = {
        amount,
        source: Accounts.address(this.number),
        awakeMs: world.nowMs,
        saidFailed: new Set<string>(),
      };
      this.intents.push(intent);
      const isDoubled = world.chance(RATES.doubled);
      await Promise.all(Array.from({ length: isDoubled ? 2 : 1 }, () => this.#pay(intent)));
      await this.#pause(0, 10_000);
    }
  }

  async #pay(intent: PaymentIntent): Promise<void> {
    const { world } = this.client.site;
    while (intent.told === undefined) {
      const prepared = await this.#ask("/v1/transactions/prepare", intent, operationOf(intent));
      if (prepared?.status === 200) {
        if (prepared.body.status === "success") return this.#heed(intent, prepared.body.hash);
        this.#checkValidity(intent, prepared.body.validUntil);
        if (this.#may(RATES.overslept)) await this.#sleep(intent);
        if (!this.#may(RATES.crashed)) {
          const submitted = await this.#ask("/v1/transactions/submit", intent, { xdr: signed(prepared.body.xdr) });
          if (submitted?.status === 200) return this.#heedAnswer(intent, submitted);
          if (isSaidLate(submitted)) intent.saidFailed.add(prepared.body.hash);
          if (world.chance(RATES.asksStatus)) await this.#askStatus(intent, prepared.body.hash);
        }
      }
      await this.#pause(50, 6_000);
    }
  }

  async #ask(path: string, { amount }: PaymentIntent, body: unknown) {
    const answered = await this.client.ask("POST", path, { body, intent: `pay-${amount}` });
    return this.#may(RATES.deaf) ? undefined : answered;
  }

  #may(rate: number): boolean {
    return !this.isOver && this.client.site.world.chance(rate);
  }

  async #sleep(intent: PaymentIntent): Promise<void> {
    intent.isAsleep = true;
    await this.#pause(200_000, 400_000);
    intent.isAsleep = false;
    intent.awakeMs = this.client.site.world.nowMs;
  }

  async #askStatus({ saidFailed }: PaymentIntent, hash: string): Promise<void> {
    const answered = await this.client.ask("GET", `/v1/transactions/${hash}`);
    const isFailed = answered?.status === 200 && answered.body.status === "failed";
    if (isFailed || answered?.body.transactionError === "txTooLate") saidFailed.add(hash);
  }

  #checkValidity({ amount }: PaymentIntent, validUntil: number): void {
    const { site } = this.client;
    const inMs = validUntil * 1_000 - START_MS - site.world.nowMs;
    if (inMs > VALID_MS) {
      site.faults.push(`payment ${amount} is prepared for ${Math.round(inMs / 1_000)} s at ${site.world.nowMs}`);
    }
  }

  #heedAnswer(intent: PaymentIntent, { body: { hash, ledger }, machine }: Answered): void {
    this.confirmed.push({ ledger, machine, answeredMs: this.client.site.world.nowMs });
    this.#heed(intent, hash);
  }

  #heed(intent: PaymentIntent, hash: string): void {
    this.client.site.world.note(`payment ${intent.amount} is told ${hash.slice(0, 8)}`);
    intent.told = hash;
  }

  #pause(fromMs: number, toMs: number): Promise<void> {
    const { world } = this.client.site;
    return world.pass(world.random.between(fromMs, toMs), NOBODY);
  }
}

/** Told that it is over by its time, or refused for that. */
function isSaidLate(submitted: Answered | undefined): boolean {
  const { transactionError, message = "" } = submitted?.body?.error ?? {};
  return transactionError === "txTooLate" || message.includes("bounded in time");
}

function operationOf({ amount, source }: PaymentIntent) {
  const deviceHash = "1".padStart(64, "0");
  return {
    source,
    operation: { kind: "authorize", deviceHash, merchant: source, asset: ASSET, amount, nonce: amount },
  };
}

/** The network does not look at signatures here, and the gateway only whether there is one. */
function signed(envelope: string): string {
  const transaction = TransactionBuilder.fromXdr(envelope, PASSPHRASE);
  const signature = new xdr.DecoratedSignature({ hint: new Uint8Array(4), signature: new Uint8Array(64) });
  transaction.addDecoratedSignature(signature);
  return transaction.toXdr();
}
