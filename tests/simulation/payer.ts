import { TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import { Accounts } from "./accounts.ts";
import { ASSET, PASSPHRASE, PAYING_CARD } from "./chain.ts";
import type { Answered, Client } from "./client.ts";
import { merchantOf } from "./escrow_state.ts";
import { NOBODY, START_MS } from "./world.ts";

/** A payment that somebody means to make once. */
export interface PaymentIntent {
  /** No two are of the same. */
  amount: string;
  source: string;
  merchant: string;
  /** The payer's own name for it. */
  reference: string;
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
/** How often a payer looks for its payment afterwards. */
const LOOKS = 0.3;

/** One who pays, again and again, each time until it was told that the payment was made. */
export abstract class Payer {
  readonly intents: PaymentIntent[] = [];
  /** Ledgers in which it was told by a gateway that something was confirmed. */
  readonly confirmed: { ledger: number; machine: string; answeredMs: number }[] = [];
  /** All is well from now on, and no more payments are begun. */
  isOver = false;

  constructor(readonly client: Client, readonly number: number) {}

  /** Until it was told that this payment was made. */
  protected abstract pay(intent: PaymentIntent): Promise<void>;

  /** One payment after another, until told to end. */
  async live(): Promise<void> {
    const { world } = this.client.site;
    for (let n = 0; !this.isOver; n++) {
      const amount = String(FIRST_AMOUNT * (this.number + 1) + n);
      const intent = {
        amount,
        source: Accounts.address(this.number),
        merchant: merchantOf(this.number),
        reference: `order ${amount}`,
        awakeMs: world.nowMs,
        saidFailed: new Set<string>(),
      };
      this.intents.push(intent);
      await this.pay(intent);
      if (this.may(LOOKS)) await this.#lookForIt(intent);
      await this.pause(0, 10_000);
    }
  }

  /** The payment may not be there yet. No other payment is. */
  async #lookForIt({ reference, told }: PaymentIntent): Promise<void> {
    const { client } = this;
    const answered = await client.ask("GET", `/v1/payments?${new URLSearchParams({ reference })}`);
    for (const one of answered?.status === 200 ? answered.body.payments : []) {
      if (one.reference === reference && one.txHash === told) continue;
      client.site.faults.push(`${one.txHash} was shown as ${reference}, which is ${told}`);
    }
  }

  protected may(rate: number): boolean {
    return !this.isOver && this.client.site.world.chance(rate);
  }

  protected async sleep(intent: PaymentIntent): Promise<void> {
    intent.isAsleep = true;
    await this.pause(200_000, 400_000);
    intent.isAsleep = false;
    intent.awakeMs = this.client.site.world.nowMs;
  }

  protected checkValidity({ amount }: PaymentIntent, validUntil: number): void {
    const { site } = this.client;
    const inMs = validUntil * 1_000 - START_MS - site.world.nowMs;
    if (inMs > VALID_MS) {
      site.faults.push(`payment ${amount} is prepared for ${Math.round(inMs / 1_000)} s at ${site.world.nowMs}`);
    }
  }

  protected heedAnswer(intent: PaymentIntent, { body: { hash, ledger }, machine }: Answered): void {
    this.confirmed.push({ ledger, machine, answeredMs: this.client.site.world.nowMs });
    this.heed(intent, hash);
  }

  protected heed(intent: PaymentIntent, hash: string): void {
    this.client.site.world.note(`payment ${intent.amount} is told ${hash.slice(0, 8)}`);
    intent.told = hash;
  }

  protected pause(fromMs: number, toMs: number): Promise<void> {
    const { world } = this.client.site;
    return world.pass(world.random.between(fromMs, toMs), NOBODY);
  }
}

export function operationOf({ amount, source, merchant, reference }: PaymentIntent) {
  return {
    source,
    reference,
    operation: { kind: "authorize", deviceHash: PAYING_CARD, merchant, asset: ASSET, amount, nonce: amount },
  };
}

/** The network does not look at signatures here, and the gateway only whether there is one. */
export function signed(envelope: string): string {
  const transaction = TransactionBuilder.fromXdr(envelope, PASSPHRASE);
  const signature = new xdr.DecoratedSignature({ hint: new Uint8Array(4), signature: new Uint8Array(64) });
  transaction.addDecoratedSignature(signature);
  return transaction.toXdr();
}
