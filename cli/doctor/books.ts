import type { Config } from "../../lib/config.ts";
import { lastSummary, troubling } from "../../lib/escrow/books/last_reconciliation.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Finding, ok, skip, warn } from "./findings.ts";

/** Reports the last reconciliation on the store. */
export async function booksFinding(
  { config: { paymentEscrow }, store }: { config: Config; store: Store | undefined },
): Promise<Finding> {
  const last = await (store && lastSummary(store.sharedState, paymentEscrow));
  if (last === undefined) return skip("books", "no reconciliation has run on this store yet");
  const { checkedAt, toLedger, count } = last;
  const at = `at ${checkedAt}, ledger ${toLedger}`;
  if (troubling(last) > 0) {
    return warn(
      "books",
      `the log and the contracts differ in ${troubling(last)} places (${at})`,
      "gateway reconcile lists them with their causes: see docs/books.md",
    );
  }
  if (count === 0) return ok("books", `the log and the contracts agree (${at})`);
  return skip("books", `the log lacks a part of the history, so ${count} places differ (${at}): see docs/books.md`);
}
