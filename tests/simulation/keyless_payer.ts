import type { Answered } from "./client.ts";
import { operationOf, Payer, type PaymentIntent, signed } from "./payer.ts";

/** How often it leaves before an answer, forgets what it has prepared, sleeps for minutes before it signs, or sends the same again. */
const RATES = { leaves: 0.15, crashed: 0.05, overslept: 0.02, resends: 0.4 };
/** How often one of those who lose keys begins with one, and then goes on without it. */
const KEYS = { begun: 0.5, lost: 0.4 };
/** So long it stays at least, and at most, where it leaves: longer than a submit takes mostly. */
const STAYS_MS = [0, 15_000] as const;

/**
 * One who pays without a key, and remembers nothing of what it has sent: where prepare warns, it asks for the transaction that
 * is named, until that has an end.
 */
export class KeylessPayer extends Payer {
  protected override async pay(intent: PaymentIntent): Promise<void> {
    const isKeyed = this.client.site.climate.losesKeys !== undefined && this.may(KEYS.begun);
    let key = isKeyed ? `pay-${intent.amount}` : undefined;
    while (intent.told === undefined) {
      const prepared = await this.#ask("POST", "/v1/transactions/prepare", operationOf(intent), key);
      if (prepared?.status === 200) {
        const { status, warning, xdr, hash, validUntil } = prepared.body;
        if (status === "success") return this.heed(intent, hash);
        this.checkValidity(intent, validUntil);
        if (warning !== undefined) await this.#askFor(intent, /[0-9a-f]{64}/.exec(warning)![0]);
        else await this.#submit(intent, hash, signed(xdr), key);
      }
      if (intent.told === undefined) await this.pause(50, 6_000);
      if (key !== undefined && this.may(KEYS.lost)) key = undefined;
    }
  }

  /** Until it is told how that ended, or begins again. */
  async #submit(intent: PaymentIntent, hash: string, xdr: string, key?: string): Promise<void> {
    if (this.may(RATES.overslept)) await this.sleep(intent);
    if (this.may(RATES.crashed)) return;
    // What was turned down is prepared again byte for byte within the same second.
    intent.saidFailed.delete(hash);
    while (true) {
      const submitted = await this.#ask("POST", "/v1/transactions/submit", { xdr }, key);
      if (submitted?.status === 200) return this.heedAnswer(intent, submitted);
      const isEnded = submitted !== undefined && submitted.body.error.retry !== "same";
      // With a key it may be applied all the same, and another in its place that uses the same sequence number is not.
      if (isEnded && key === undefined) intent.saidFailed.add(hash);
      if (isEnded || !this.may(RATES.resends)) return;
      await this.pause(50, 3_000);
    }
  }

  /** What nobody can tell any more is not made again: in the end somebody can. */
  async #askFor(intent: PaymentIntent, hash: string): Promise<void> {
    while (true) {
      const asked = await this.#ask("GET", `/v1/transactions/${hash}`);
      const status = asked?.status === 200 ? asked.body.status : "pending";
      if (status === "success") return this.heed(intent, hash);
      if (status === "failed") intent.saidFailed.add(hash);
      if (status !== "pending") return;
      await this.pause(500, 6_000);
    }
  }

  /** Now and then it leaves before the answer. */
  async #ask(method: string, path: string, body?: unknown, key?: string): Promise<Answered | undefined> {
    const leaving = new AbortController();
    const asking = this.client.ask(method, path, { body, intent: key, leaving });
    if (!this.may(RATES.leaves)) return await asking;
    const left = this.pause(...STAYS_MS).then(() => undefined);
    const answered = await Promise.race([asking, left]);
    if (answered === undefined) leaving.abort();
    return answered;
  }
}
