import type { CallGuard } from "../../stellar/transactions/call_guard.ts";
import type { EscrowEvent, EscrowLog } from "../assets/escrow_log.ts";
import { heldInOthers, type Holdings, UNKNOWN_ASSET } from "../assets/holdings.ts";
import type { EscrowReads, PendingPaymentAnswer } from "../reads/reads.ts";
import { pendingIndexKey } from "../reads/storage_keys.ts";
import { refusal } from "./asset_guard.ts";

/** The merchant and the asset of a claim. */
export interface ClaimCall {
  merchant: string;
  asset: string;
  param: "source" | "xdr";
}

/**
 * Guards a claim. The contract pays all pending payments in the one asset of the call, whatever they were authorised
 * in. Refused when nothing of it is known to be, or may be, in that asset. A claim that fits some of them passes and
 * raises an alert (`bypass_movements.ts`). Anybody can authorise a payment in another asset past the gateway. A refusal
 * would cost the merchant everything when the payments expire.
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
      // Expired payments are not claimed, and only the ledger knows which are left.
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

/** How much of these payments is in which asset, by the events of their authorisations. */
function assetsOf(payments: PendingPaymentAnswer[], authorized: EscrowEvent[]): Holdings {
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

/** The fields of a payment that both the ledger and its event have. */
function paymentKey(
  { deviceHash, amount, authorizedAt }: { deviceHash?: string; amount?: string; authorizedAt: number },
): string {
  return `${deviceHash} ${amount} ${authorizedAt}`;
}
