import type { FootprintTerms } from "../../stellar/transactions/footprint.ts";
import type { EscrowReads } from "../reads/reads.ts";
import type { Operation } from "./operations.ts";

/**
 * How many cards of one wallet the contract can revoke. The device registry keeps a wallet's cards in a list. To revoke one
 * it reads the whole list, and writes each place from the card's place to the end. Both counts were measured.
 */
export interface RevocableCards {
  /** In a wallet with more cards, the contract can revoke none. */
  most: number;
  /** In a wallet with more cards, the oldest can be revoked only after newer ones. */
  inAnyOrder: number;
}

/** Entries that a revocation reads besides the list: the contract and its code, the list's length, the card. */
const OTHERS_READ = 4;
/** Entries that it writes besides the places after the card's: the list's length, the card, the list's last place. */
const OTHERS_WRITTEN = 3;
/** Entries that a claim needs besides the payments, measured: contracts and their code, the count, payer and receiver. */
const OTHERS_CLAIMED = 6;
/** Below this number of payments, the network's limits do not matter. */
const FEW = 100;

/** How many cards of one wallet can be revoked under the network's limits. */
export function revocableCards({ mostEntries, mostWrittenEntries }: FootprintTerms): RevocableCards {
  return { most: mostEntries - OTHERS_READ, inAnyOrder: mostWrittenEntries - OTHERS_WRITTEN + 1 };
}

/**
 * The most payments since the last claim with which a merchant can claim. The contract reads all their slots, also those of
 * expired payments, and only a claim starts again at the first slot. With more the merchant can never claim again.
 */
export function collectablePayments({ mostEntries }: FootprintTerms): number {
  return mostEntries - OTHERS_CLAIMED;
}

/**
 * Returns warnings for the signer of an operation that the gateway does not refuse. Undefined when there is none, or when a
 * read fails. Never rejects.
 */
export function createWarnings({ reads, terms }: {
  reads: Pick<EscrowReads, "card" | "walletSize" | "paidSinceClaim" | "ways">;
  /** The network's limits. */
  terms: { read(): Promise<FootprintTerms> };
}): (source: string, operation: Operation) => Promise<string | undefined> {
  /** For a wallet with too many cards to revoke them. */
  async function ofFullWallet(wallet: string): Promise<string | undefined> {
    const cards = await reads.walletSize(wallet) + 1;
    // Contracts with another storage may have another limit.
    if (reads.ways().walletDevices !== "entries") return undefined;
    const { most, inAnyOrder } = revocableCards(await terms.read());
    if (cards <= inAnyOrder) return undefined;
    const further = "Register further cards with another wallet";
    if (cards > most) {
      return `with this card the wallet has ${cards} cards, and of more than ${most} the contract can revoke none. ` +
        `revokeAgent, sweepEscrow and defundEscrow still work for each. ${further}`;
    }
    const late = cards - inAnyOrder;
    const oldest = late === 1 ? "oldest one" : `${late} oldest ones`;
    return `with this card the wallet has ${cards} cards, and its ${oldest} can be revoked only after newer ones. ` +
      `Of more than ${most} the contract can revoke none. ${further}`;
  }

  /** For a payment that the merchant can never claim. */
  async function ofFullMerchant(merchant: string): Promise<string | undefined> {
    const paid = await reads.paidSinceClaim(merchant) ?? 0;
    if (paid < FEW) return undefined;
    const most = collectablePayments(await terms.read());
    if (paid < most) return undefined;
    return `with this payment the merchant has ${paid + 1} since the last claim, expired ones included. Of more than ` +
      `${most} the contract can never collect any, so this payment is lost. Pay another account of the merchant`;
  }

  /**
   * For a revocation of a card with money in its escrow: the next wallet to register the card owns that money. The gateway
   * does not refuse it. Otherwise any wallet could block it with one unit of an asset that cannot be taken out, and only an
   * owner can revoke the agent.
   */
  async function ofGivenUpCard(deviceHash: string): Promise<string | undefined> {
    const { value: { balance, policy } } = await reads.card(deviceHash);
    if (balance <= 0n) return undefined;
    const spent = policy === undefined ? "" : `, and its agent ${policy.agent} can still pay with it`;
    return `the card's escrow still holds ${balance}. After the revocation any wallet can register the card and take that ` +
      `out${spent}. Do revokeAgent and sweepEscrow first`;
  }

  /** For a registration of a card with an agent: revocation keeps the agent, and any wallet can add one to an unowned card. */
  async function ofTakenOverCard(deviceHash: string, agent: string): Promise<string | undefined> {
    const { value: { policy } } = await reads.card(deviceHash);
    if (policy === undefined || policy.agent === agent) return undefined;
    return `the card already has an agent, ${policy.agent}, that can pay with the money in its escrow. Do revokeAgent ` +
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
