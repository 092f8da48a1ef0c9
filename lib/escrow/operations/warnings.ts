import type { FootprintTerms } from "../../stellar/transactions/reserved_keys.ts";
import type { EscrowReads } from "../reads/reads.ts";
import type { Operation } from "./operations.ts";

/**
 * How many cards of one wallet can be revoked. The device registry keeps them in a list: to take one out it reads the list
 * to its end and writes every place from the card's own on. Both counts were measured, and hold for every place.
 */
export interface RevocableCards {
  /** Of more, the contract can revoke none. */
  most: number;
  /** Of more, the oldest can be revoked only after newer ones. */
  inAnyOrder: number;
}

/** What a revocation reads besides the list: the contract and its code, the list's length, the card. */
const OTHERS_READ = 4;
/** What it writes besides the places after the card's: the list's length, the card, the list's last place. */
const OTHERS_WRITTEN = 3;
/** What a claim touches besides the payments: contracts and their code, the payments' count, who pays and who is paid. Measured. */
const OTHERS_CLAIMED = 6;
/** Nobody need look up the network's limits for fewer payments. */
const FEW = 100;

/** How many cards of one wallet can be revoked under the network's limits. */
export function revocableCards({ mostEntries, mostWrittenEntries }: FootprintTerms): RevocableCards {
  return { most: mostEntries - OTHERS_READ, inAnyOrder: mostWrittenEntries - OTHERS_WRITTEN + 1 };
}

/**
 * Of how many payments the escrow contract can collect any: it goes through all places since the last claim, those whose
 * payment has expired, too, and only a claim begins anew. With more the merchant can never claim again.
 */
export function collectablePayments({ mostEntries }: FootprintTerms): number {
  return mostEntries - OTHERS_CLAIMED;
}

/**
 * Says what to know before an operation is signed that is no reason to refuse it; undefined where there is nothing to say,
 * or it can't be told. Never rejects.
 */
export function createWarnings({ reads, paidSinceClaim, terms }: {
  reads: Pick<EscrowReads, "card" | "walletSize" | "ways">;
  /** How many payments a merchant was given since the last claim, expired or not; undefined where that can't be told. */
  paidSinceClaim(merchant: string): Promise<number | undefined>;
  /** The network's limits. */
  terms: { read(): Promise<FootprintTerms> };
}): (source: string, operation: Operation) => Promise<string | undefined> {
  /** A card that can't be revoked can still be emptied and shut. */
  async function ofFullWallet(wallet: string): Promise<string | undefined> {
    const cards = await reads.walletSize(wallet) + 1;
    // Contracts with another storage keep another list.
    if (reads.ways().walletDevices !== "entries") return undefined;
    const { most, inAnyOrder } = revocableCards(await terms.read());
    if (cards <= inAnyOrder) return undefined;
    const further = "register further cards with another wallet";
    if (cards > most) {
      return `with this card the wallet has ${cards}, and of more than ${most} the contract can revoke none; revokeAgent, ` +
        `sweepEscrow and defundEscrow still work for each: ${further}`;
    }
    const late = cards - inAnyOrder;
    return `with this card the wallet has ${cards}, and its ${
      late === 1 ? "oldest one" : `${late} oldest ones`
    } can be ` +
      `revoked only after newer ones; of more than ${most} the contract can revoke none: ${further}`;
  }

  /** The merchant can never claim this payment. */
  async function ofFullMerchant(merchant: string): Promise<string | undefined> {
    const paid = await paidSinceClaim(merchant) ?? 0;
    if (paid < FEW) return undefined;
    const most = collectablePayments(await terms.read());
    if (paid < most) return undefined;
    return `with this payment the merchant has ${
      paid + 1
    } since the last claim, expired ones counted, and of more than ` +
      `${most} the contract can never collect any again: what is paid is lost; pay another account of the merchant`;
  }

  /**
   * The device registry forgets the owner, the escrow contract keeps the money, and whoever registers the card next is its
   * owner. It is not refused: anybody can put a unit into the escrow of a card, of an asset that nobody can take out, and only
   * who owns a card can have its agent revoked.
   */
  async function ofGivenUpCard(deviceHash: string): Promise<string | undefined> {
    const { value: { balance, policy } } = await reads.card(deviceHash);
    if (balance <= 0n) return undefined;
    const spent = policy === undefined ? "" : `, and its agent ${policy.agent} can go on paying with it`;
    return `the card's escrow still holds ${balance}: anybody can register the card then, and take that out${spent}; ` +
      "revokeAgent and sweepEscrow come first";
  }

  /** A card that was given up keeps its agent, and anybody can register one for a card that nobody owns. */
  async function ofTakenOverCard(deviceHash: string, agent: string): Promise<string | undefined> {
    const { value: { policy } } = await reads.card(deviceHash);
    if (policy === undefined || policy.agent === agent) return undefined;
    return `the card has an agent already, ${policy.agent}, who can pay with what its escrow is funded with: revokeAgent comes ` +
      "before fundEscrow";
  }

  function warningsOf(source: string, operation: Operation): Promise<string | undefined>[] {
    switch (operation.kind) {
      case "registerDevice":
        return [ofFullWallet(source), ofTakenOverCard(operation.deviceHash, operation.agent)];
      case "revokeDevice":
        return [ofGivenUpCard(operation.deviceHash)];
      case "authorize":
        return [ofFullMerchant(operation.merchant)];
      default:
        return [];
    }
  }

  return async function warningOf(source, operation) {
    const all = await Promise.all(warningsOf(source, operation).map((warning) => warning.catch(() => undefined)));
    return all.filter((one) => one !== undefined).join("; ") || undefined;
  };
}
