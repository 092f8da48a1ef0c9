import type { Answered } from "./client.ts";
import { operationOf, Payer, type PaymentIntent, signed } from "./payer.ts";

/** How often a payer forgets what it had, sleeps for minutes, or does not hear an answer. */
const RATES = { crashed: 0.08, overslept: 0.03, deaf: 0.1, doubled: 0.2, asksStatus: 0.4 };

/** One who pays under a key of the payment's own, now and then twice at once. */
export class KeyedPayer extends Payer {
  protected override async pay(intent: PaymentIntent): Promise<void> {
    const isDoubled = this.client.site.world.chance(RATES.doubled);
    await Promise.all(Array.from({ length: isDoubled ? 2 : 1 }, () => this.#payOnce(intent)));
  }

  async #payOnce(intent: PaymentIntent): Promise<void> {
    const { world } = this.client.site;
    while (intent.told === undefined) {
      const prepared = await this.#ask("/v1/transactions/prepare", intent, operationOf(intent));
      if (prepared?.status === 200) {
        if (prepared.body.status === "success") return this.heed(intent, prepared.body.hash);
        this.checkValidity(intent, prepared.body.validUntil);
        if (this.may(RATES.overslept)) await this.sleep(intent);
        if (!this.may(RATES.crashed)) {
          const submitted = await this.#ask("/v1/transactions/submit", intent, { xdr: signed(prepared.body.xdr) });
          if (submitted?.status === 200) return this.heedAnswer(intent, submitted);
          if (isSaidLate(submitted)) intent.saidFailed.add(prepared.body.hash);
          if (world.chance(RATES.asksStatus)) await this.#askStatus(intent, prepared.body.hash);
        }
      }
      await this.pause(50, 6_000);
    }
  }

  async #ask(path: string, { amount }: PaymentIntent, body: unknown) {
    const answered = await this.client.ask("POST", path, { body, intent: `pay-${amount}` });
    return this.may(RATES.deaf) ? undefined : answered;
  }

  async #askStatus({ saidFailed }: PaymentIntent, hash: string): Promise<void> {
    const answered = await this.client.ask("GET", `/v1/transactions/${hash}`);
    const isFailed = answered?.status === 200 && answered.body.status === "failed";
    if (isFailed || answered?.body.transactionError === "txTooLate") saidFailed.add(hash);
  }
}

/** Told that it is over by its time, or refused for that. */
function isSaidLate(submitted: Answered | undefined): boolean {
  const { transactionError, message = "" } = submitted?.body?.error ?? {};
  return transactionError === "txTooLate" || message.includes("bounded in time");
}
