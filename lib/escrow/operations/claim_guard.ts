import type { CallGuard } from "../../stellar/transactions/call_guard.ts";
import type { AssetList } from "../assets/asset_list.ts";
import type { EscrowEvent, EscrowLog } from "../assets/escrow_log.ts";
import { heldInOthers, type Holdings, UNKNOWN_ASSET } from "../assets/holdings.ts";
import type { EscrowReads, PendingPaymentAnswer } from "../reads/reads.ts";
import { pendingIndexKey } from "../reads/storage_keys.ts";
import { inWords, refusal } from "./asset_guard.ts";

/** Who claims what. */
export interface ClaimCall {
  merchant: string;
  asset: string;
  param: "source" | "xdr";
}

/**
 * Guards a claim: the contract pays all that is pending in the one asset that it is told, whatever it was authorised in.
 * Payments in an asset that is not dealt in do not hold back a claim of others: anybody can authorise such payments past
 * the gateway. Neither do those that the log does not know.
 */
export function claimGuard(
  { merchant, asset, param }: ClaimCall,
  { log, assets, reads, paymentEscrow }: {
    log: EscrowLog;
    assets: Pick<AssetList, "has">;
    reads: Pick<EscrowReads, "pending">;
    paymentEscrow: string;
  },
): CallGuard {
  return {
    keys: [pendingIndexKey(paymentEscrow, merchant)],
    async check([pendingIndex]) {
      if (pendingIndex === undefined) return;
      await log.reaches(pendingIndex.lastModifiedLedgerSeq);
      const authorized = await log.unclaimed(merchant);
      if (authorized.every((event) => event.asset === undefined || event.asset === asset)) return;
      // What has expired is not claimed: only the ledger knows what is left.
      const { payments } = await reads.pending(merchant);
      if (payments === null) return;
      const pending = assetsOf(payments, authorized);
      const others = heldInOthers(pending, asset);
      const isOnlyOthers = !pending.has(asset) && !pending.has(UNKNOWN_ASSET);
      const held = isOnlyOthers ? others : others.filter(([other]) => assets.has(other));
      if (held.length === 0) return;
      const own = pending.get(asset);
      const [[other] = [""]] = held;
      throw refusal(
        param,
        "asset",
        own === undefined && held.length === 1
          ? `${other}, which the merchant's payments were authorised in`
          : `the one that all of the merchant's payments were authorised in, and ${
            inWords([...pending].filter(([known]) => known !== UNKNOWN_ASSET))
          } are pending: one claim would pay all of it in one asset`,
        asset,
        "asset_mismatch",
      );
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

/** What the ledger keeps of a payment, and its event says too. */
function paymentKey(
  { deviceHash, amount, authorizedAt }: { deviceHash?: string; amount?: string; authorizedAt: number },
): string {
  return `${deviceHash} ${amount} ${authorizedAt}`;
}
