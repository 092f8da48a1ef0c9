import type { z } from "zod";
import type { PublicPayment } from "../../escrow/payments/payment_reads.ts";
import type { KeyRecord } from "../../store/store.ts";
import { type ExportedList, exportedPages, type ReadPage, type RowPage } from "../exported_list.ts";
import type { Dependencies } from "../request_context.ts";
import type { paymentsQuery } from "../validation/payment_query.ts";

export const PAYMENT_FILE: ExportedList<PublicPayment> = {
  name: "payments",
  columns: [
    ...["id", "state", "authorizedAt", "amount", "amountUnits", "asset", "merchant", "deviceHash", "agent", "txHash"],
    ...["claimedAt", "claimTxHash", "claimAsset", "expiredAt", "expiresAt", "expiresAtLedger", "ledger"],
    ...["reference", "idempotencyKey"],
  ],
  rowOf(
    { id, state, authorizedAt, amount, asset, merchant, deviceHash, agent, txHash, claim, expired, ...more },
    inUnits,
  ) {
    const { expiresAt, expiresAtLedger, ledger, reference, idempotencyKey } = more;
    return {
      id,
      state,
      authorizedAt,
      amount,
      amountUnits: inUnits(amount, asset),
      asset,
      merchant,
      deviceHash,
      agent,
      txHash,
      claimedAt: claim?.claimedAt ?? null,
      claimTxHash: claim?.txHash ?? null,
      claimAsset: claim?.asset ?? null,
      expiredAt: expired?.expiredAt ?? null,
      expiresAt,
      expiresAtLedger,
      ledger,
      reference,
      idempotencyKey,
    };
  },
};

/** The pages of an export: all payments of the query, or `limit` of them. */
export function exportedPayments(
  { query, key }: { query: z.infer<typeof paymentsQuery>; key: Pick<KeyRecord, "id"> },
  { paymentReads, assets }: Pick<Dependencies, "paymentReads" | "assets">,
): AsyncGenerator<RowPage> {
  const { format: _, order, limit, cursor, ...filter } = query;
  const read: ReadPage<PublicPayment> = async (page) => {
    // A cursor holds the order of its list.
    const { payments, cursor } = await paymentReads.page({ keyId: key.id, filter, order, ...page });
    return { items: payments, cursor };
  };
  return exportedPages(PAYMENT_FILE, read, { assets, cursor, limit });
}
