import type { FootprintTerms } from "../../stellar/transactions/reserved_keys.ts";
import type { EscrowReads } from "../reads/reads.ts";
import type { Operation } from "./operations.ts";

/**
 * How many cards of one wallet can be revoked. The device registry keeps a wallet's cards in a list. To remove one, it
 * reads the whole list and writes every place from the card's own on. Both counts were measured, and hold for every
 * place.
 */
export interface RevocableCards {
  /** Of more, the contract can revoke none. */
  most: number;
  /** Of more, the oldest can be revoked only after newer ones. */
  inAnyOrder: number;
}

/** A revocation also reads the contract and its code, the list's length and the card. */
const OTHERS_READ = 4;
/** It also writes the list's length, the card and the list's last place. */
const OTHERS_WRITTEN = 3;
/** A claim also touches contracts and their code, the payments' count, the payer and the merchant. Measured. */
const OTHERS_CLAIMED = 6;
/** With fewer payments the network's limits need no look-up. */
const FEW = 100;

/** How many cards of one wallet can be revoked under the network's limits. */
export function revocableCards({ mostEntries, mostWrittenEntries }: FootprintTerms): RevocableCards {
  return { most: mostEntries - OTHERS_READ, inAnyOrder: mostWrittenEntries - OTHERS_WRITTEN + 1 };
}

/**
 * With more payments than this, the escrow contract can collect none. A claim reads all places since the last claim,
 * expired ones included. With more the merchant can never claim again.
 */
export function collectablePayments({ mostEntries }: FootprintTerms): number {
  return mostEntries - OTHERS_CLAIMED;
}

/**
 * A warning before signing that is no reason to refuse; undefined when there is none, or it is unknown. Never rejects.
 */
export function createWarnings({ reads, paidSinceClaim, terms }: {
  reads: Pick<EscrowReads, "card" | "walletSize" | "ways">;
  /** How many payments a merchant got since the last claim, expired ones included; undefined when that is unknown. */
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
      return `with this card the wallet has ${cards}, and with more than ${most} the contract can revoke none. revokeAgent, ` +
        `sweepEscrow and defundEscrow still work for each; ${further}`;
    }
    const late = cards - inAnyOrder;
    return `with this card the wallet has ${cards}, and its ${
      late === 1 ? "oldest one" : `${late} oldest ones`
    } can be ` +
      `revoked only after newer ones. With more than ${most} the contract can revoke none; ${further}`;
  }

  /** The merchant can never claim this payment. */
  async function ofFullMerchant(merchant: string): Promise<string | undefined> {
    const paid = await paidSinceClaim(merchant) ?? 0;
    if (paid < FEW) return undefined;
    const most = collectablePayments(await terms.read());
    if (paid < most) return undefined;
    return `with this payment the merchant has ${
      paid + 1
    } since the last claim, expired ones included. With more than ` +
      `${most} the contract can never collect any again, and this payment is lost; pay another account of the merchant`;
  }

  /**
   * The device registry forgets the owner, the escrow contract keeps the money, and the next owner of the card owns it.
   * The gateway does not refuse this. Anybody can put a unit of a frozen asset into a card's escrow, and only an owner
   * can have the agent revoked.
   */
  async function ofGivenUpCard(deviceHash: string): Promise<string | undefined> {
    const { value: { balance, policy } } = await reads.card(deviceHash);
    if (balance <= 0n) return undefined;
    const spent = policy === undefined ? "" : `, and its agent ${policy.agent} can go on paying with it`;
    return `the card's escrow still holds ${balance}: anybody can register the card then, and take that out${spent}; ` +
      "revokeAgent and sweepEscrow come first";
  }

  /** A card that was given up keeps its agent, and anybody can register an agent for a card without an owner. */
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
