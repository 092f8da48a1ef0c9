import { ALARM_DAYS, expiredOf } from "../../lib/escrow/payments/payments_condition.ts";
import type { Head } from "../../lib/stellar/head.ts";
import type { Store } from "../../lib/store/store.ts";
import { fail, type Finding, ok, skip } from "./findings.ts";

/** Reports payments of this gateway's API keys that ended unclaimed. */
export async function expiredFinding(
  { head, store }: { head: Pick<Head, "networkSeconds">; store: Store | undefined },
): Promise<Finding> {
  if (store === undefined) return skip("expired payments", "there is no store yet");
  const { payments, last } = await expiredOf(store, head.networkSeconds());
  if (last === null) return ok("expired payments", `none in the last ${ALARM_DAYS} days that is not acknowledged`);
  return fail(
    "expired payments",
    `${payments} ended unclaimed, the last of ${last.amount} to ${last.merchant} (${last.id})`,
    "the merchants cannot collect them any more: see docs/get-paid.md, then gateway payments acknowledge",
  );
}
