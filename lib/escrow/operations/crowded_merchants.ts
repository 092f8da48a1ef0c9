import type { FootprintTerms } from "../../stellar/transactions/spare_keys.ts";
import type { Operation } from "./operations.ts";

/** What a claim touches besides the payments: contracts and their code, the payments' count, who pays and who is paid. Measured. */
const OTHERS_TOUCHED = 6;
/** Nobody need look up the network's limits for fewer. */
const FEW = 100;

/**
 * Of how many payments the escrow contract can collect any: it goes through all places since the last claim, those whose
 * payment has expired, too, and only a claim begins anew. With more the merchant can never claim again.
 */
export function collectablePayments({ mostEntries }: FootprintTerms): number {
  return mostEntries - OTHERS_TOUCHED;
}

/**
 * Says who pays a merchant that the merchant can never claim it; undefined for other operations, and where there is
 * nothing to say or it can't be told.
 */
export function createMerchantWarnings({ paidSinceClaim, terms }: {
  /** How many payments a merchant was given since the last claim, expired or not; undefined where that can't be told. */
  paidSinceClaim(merchant: string): Promise<number | undefined>;
  terms: { read(): Promise<FootprintTerms> };
}): (operation: Operation) => Promise<string | undefined> {
  async function ofMerchant(merchant: string): Promise<string | undefined> {
    const paid = await paidSinceClaim(merchant) ?? 0;
    if (paid < FEW) return undefined;
    const most = collectablePayments(await terms.read());
    if (paid < most) return undefined;
    return `with this payment the merchant has ${
      paid + 1
    } since the last claim, expired ones counted, and of more than ` +
      `${most} the contract can never collect any again: what is paid is lost; pay another account of the merchant`;
  }

  return async function warning(operation) {
    return operation.kind === "authorize" ? await ofMerchant(operation.merchant).catch(() => undefined) : undefined;
  };
}
