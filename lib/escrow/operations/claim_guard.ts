import type { CallGuard } from "../../stellar/transactions/contract_call.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { EscrowLog } from "../assets/escrow_log.ts";
import { heldInOthers, type Holdings, UNKNOWN_ASSET } from "../assets/holdings.ts";
import type { EscrowReads, PendingPaymentAnswer } from "../reads/reads.ts";
import { pendingIndexKey } from "../reads/storage_keys.ts";
import { refusal } from "./asset_guard.ts";

/** A merchant's claim. */
export interface ClaimCall {
  merchant: string;
  asset: string;
  param: "source" | "xdr";
}

/**
 * Guards a claim: the contract pays all pending payments in the claimed asset, also those authorised in another one.
 * Refuses the claim when no pending payment is in that asset, as far as the log knows. Otherwise the claim passes, and
 * payments in other assets raise an alarm (`bypass_movements.ts`). A refusal would harm the merchant: any agent can bypass
 * the gateway with a payment in another asset, and the merchant's payments would expire unclaimed.
 */
export function claimGuard(
  { merchant, asset, param }: ClaimCall,
  { log, reads, paymentEscrow }: { log: EscrowLog; reads: Pick<EscrowReads, "pending">; paymentEscrow: string },
): CallGuard {
  return {
    keys: [pendingIndexKey(paymentEscrow, merchant)],
    async check([pendingIndex]) {
      if (pendingIndex === undefined) return;
      await log.reaches(pendingIndex.lastModifiedLedgerSeq);
      const authorized = await log.unclaimed(merchant);
      if (authorized.every((event) => event.asset === undefined || event.asset === asset)) return;
      // A claim does not collect expired payments, and only the ledger shows which are left.
      const { payments } = await reads.pending(merchant);
      const pending = payments === null ? new Map() : assetsOf(payments, authorized);
      const others = heldInOthers(pending, asset);
      if (others.length === 0 || pending.has(asset) || pending.has(UNKNOWN_ASSET)) return;
      const names = others.map(([other]) => other).join(" or ");
      const be = `${names}, which the merchant's payments were authorised in`;
      throw refusal(param, "asset", be, asset, "asset_mismatch");
    },
  };
}

/** The amount of these payments in each asset, by the events of their authorisations. */
function assetsOf(payments: PendingPaymentAnswer[], authorized: LoggedEvent[]): Holdings {
  const events = Map.groupBy(
    authorized,
    (event) => paymentKey({ ...event, authorizedAt: Date.parse(event.ledgerClosedAt) / 1_000 }),
  );
  const found = new Map<string, bigint>();
  for (const payment of payments) {
    const { asset = UNKNOWN_ASSET } = events.get(paymentKey(payment))?.shift() ?? {};
    found.set(asset, (found.get(asset) ?? 0n) + BigInt(payment.amount));
  }
  return found;
}

/** The fields that a payment's entry and its event share. */
function paymentKey(
  { deviceHash, amount, authorizedAt }: { deviceHash?: string; amount?: string; authorizedAt: number },
): string {
  return `${deviceHash} ${amount} ${authorizedAt}`;
}
