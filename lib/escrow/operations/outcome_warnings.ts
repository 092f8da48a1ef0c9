import type { Transactions } from "../../stellar/transactions/transactions.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { type PrepareRequest, requestDigest } from "./prepare_operation.ts";

/** A submitted envelope whose outcome no client has received. */
export interface UnresolvedSubmission {
  hash: string;
  /** `operationDigest` of its call. */
  operation: string;
}

/** Each costs a call of the node, and a client in trouble may have sent many. */
const MOST_LOOKED_UP = 3;

/**
 * Warns a client that may do an operation twice: its source submitted the same one, and no client received the outcome. The
 * warning names the transaction to look up.
 */
export function createOutcomeWarnings({ contracts, status, unresolved, keepUnresolved }: {
  contracts: ContractIds;
  status: Transactions["status"];
  unresolved(source: string, operation: string): Promise<UnresolvedSubmission[]>;
  /** Keeps a submission that was applied among them, because the client may not receive the warning either. */
  keepUnresolved(hash: string): Promise<void>;
}): (request: PrepareRequest) => Promise<string | undefined> {
  return async function warning({ source, operation }) {
    const digest = requestDigest(contracts, { source, operation });
    const sent = await unresolved(source, digest);
    const same = sent.filter((submission) => submission.operation === digest);
    for (const [index, { hash }] of same.entries()) {
      const known = index < MOST_LOOKED_UP ? await status(hash, keepUnresolved).catch(() => undefined) : undefined;
      const where = `ask GET /v1/transactions/${hash} before you sign another`;
      if (known === undefined || known.status === "pending") {
        return `the same operation of this source was submitted in transaction ${hash}, and its outcome is not known: ${where}`;
      }
      if (known.status === "success") {
        return `the same operation of this source was submitted in transaction ${hash}, whose answer was lost, and it was ` +
          `applied in ledger ${known.ledger}: ${where}`;
      }
    }
    return undefined;
  };
}
