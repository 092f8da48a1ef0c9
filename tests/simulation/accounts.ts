import { Address, StrKey, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import { calledIn } from "../../lib/stellar/transactions/envelope.ts";
import type { Climate } from "./climate.ts";
import type { World } from "./world.ts";

/** An envelope that a node has taken in. */
interface Sent {
  hash: string;
  xdr: string;
  source: string;
  sequence: bigint;
  validUntil: number;
  /** Tells payments apart: no two are meant to be of the same amount. */
  amount: string;
  deviceHash: string;
  merchant: string;
}

/** A payment that a ledger took in. */
export interface Applied extends Sent {
  ledger: number;
  isSuccess: boolean;
}

export type SendVerdict = "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER" | "txBadSeq" | "txTooLate" | "txInsufficientFee";

/** The first ledger's number in the upper half, as on the real network. */
const FIRST_SEQUENCE = 1_000n << 32n;

/**
 * The accounts that pay, as the network knows them: each sequence number is used up by one envelope, in its time, or by
 * none. Contracts are not run here: whatever is called takes place, or fails by chance.
 */
export class Accounts {
  readonly applied: Applied[] = [];
  #waiting: Sent[] = [];

  constructor(readonly world: World, readonly passphrase: string, public climate: Climate["payments"]) {}

  becomeWell(): void {
    this.climate = { late: 0, never: 0, fails: 0, refuses: 0 };
  }

  /** An account by its number: nobody has its key, for signatures are not checked here. */
  static address(n: number): string {
    return StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(n + 1));
  }

  /** As of a ledger. */
  sequence(source: string, ledger: number): bigint {
    return this.applied.findLast((one) => one.source === source && one.ledger <= ledger)?.sequence ?? FIRST_SEQUENCE;
  }

  transaction(hash: string, fromLedger: number, toLedger: number): Applied | undefined {
    return this.applied.find((one) => one.hash === hash && one.ledger >= fromLedger && one.ledger <= toLedger);
  }

  /** A node is handed an envelope, while the newest ledger is this one. */
  send(envelope: string, latest: number, closeTime: number): { hash: string; verdict: SendVerdict } {
    const sent = this.#read(envelope);
    const { hash, source, sequence } = sent;
    if (this.climate.refuses > 0 && this.world.chance(this.climate.refuses)) {
      return { hash, verdict: "txInsufficientFee" };
    }
    const inQueue = this.#waiting.find((one) => one.source === source);
    if (inQueue?.hash === hash) return { hash, verdict: "DUPLICATE" };
    if (closeTime > sent.validUntil) return { hash, verdict: "txTooLate" };
    if (sequence !== this.sequence(source, latest) + 1n) return { hash, verdict: "txBadSeq" };
    if (inQueue !== undefined) return { hash, verdict: "TRY_AGAIN_LATER" };
    this.#waiting.push(sent);
    return { hash, verdict: "PENDING" };
  }

  /** A ledger closes: answers the payments in it. */
  close(ledger: number, closeTime: number): Applied[] {
    const { late, never, fails } = this.climate;
    const taken: Applied[] = [];
    this.#waiting = this.#waiting.filter((sent) => {
      if (closeTime > sent.validUntil || sent.sequence !== this.sequence(sent.source, ledger) + 1n) return false;
      if (this.world.chance(never)) return false;
      if (this.world.chance(late)) return true;
      const applied = { ...sent, ledger, isSuccess: !this.world.chance(fails) };
      this.applied.push(applied);
      taken.push(applied);
      return false;
    });
    return taken;
  }

  #read(envelope: string): Sent {
    const transaction = TransactionBuilder.fromXdr(envelope, this.passphrase);
    if (!("sequence" in transaction)) throw new TypeError("nobody here sends fee bumps");
    const [, card, merchant, , amount] = calledIn(envelope)!.args;
    if (amount?.type !== "scvI128" || card?.type !== "scvBytes") throw new TypeError("nobody here calls anything else");
    return {
      hash: xdr.encodeBytes(transaction.hash(), "hex"),
      xdr: envelope,
      source: transaction.source,
      sequence: BigInt(transaction.sequence),
      validUntil: Number(transaction.timeBounds!.maxTime),
      amount: String(amount.i128.lo),
      deviceHash: xdr.encodeBytes(card.bytes.value, "hex"),
      merchant: Address.fromScVal(merchant!).toString(),
    };
  }
}
