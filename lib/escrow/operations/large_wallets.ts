import type { FootprintTerms } from "../../stellar/transactions/spare_keys.ts";
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

/** How many cards of one wallet can be revoked under the network's limits. */
export function revocableCards({ mostEntries, mostWrittenEntries }: FootprintTerms): RevocableCards {
  return { most: mostEntries - OTHERS_READ, inAnyOrder: mostWrittenEntries - OTHERS_WRITTEN + 1 };
}

/**
 * Says who registers a card what that means for revoking the wallet's cards; undefined for other operations, and where
 * there is nothing to say or it can't be told. It is no refusal: a card that can't be revoked can be emptied and shut.
 */
export function createWalletWarnings({ reads, terms }: {
  reads: Pick<EscrowReads, "walletSize" | "ways">;
  terms: { read(): Promise<FootprintTerms> };
}): (source: string, operation: Operation) => Promise<string | undefined> {
  async function ofWallet(wallet: string): Promise<string | undefined> {
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

  return async function warning(source, operation) {
    return operation.kind === "registerDevice" ? await ofWallet(source).catch(() => undefined) : undefined;
  };
}
