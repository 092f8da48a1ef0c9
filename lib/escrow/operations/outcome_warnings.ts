import type { Transactions } from "../../stellar/transactions/transactions.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { contractCall, type Operation, operationDigest } from "./operations.ts";
import type { PrepareRequest } from "./prepare_operation.ts";

/** A submitted envelope with an unknown outcome. */
export interface UnresolvedSubmission {
  hash: string;
  /** `operationDigest` of its call. */
  operation: string;
}

/** A client in trouble sends one envelope after the other; each costs a question to the node. */
const MOST_LOOKED_AT = 3;

/**
 * A client that prepares an operation again after an unknown outcome may do it twice. If the same source has submitted
 * the same operation with an unknown outcome, `prepare` names that transaction.
 */
export function createOutcomeWarnings({ contracts, status, untold, keepUntold }: {
  contracts: ContractIds;
  status: Transactions["status"];
  untold(source: string, operation: string): Promise<UnresolvedSubmission[]>;
  /** Told of one that turned out to be applied: the warning may be lost, too. */
  keepUntold(hash: string): Promise<void>;
}): (request: PrepareRequest) => Promise<string | undefined> {
  return async function warning({ source, operation }) {
    const digest = requestDigest(contracts, { source, operation });
    const sent = await untold(source, digest);
    const same = sent.filter((submission) => submission.operation === digest);
    for (const [index, { hash }] of same.entries()) {
      const known = index < MOST_LOOKED_AT ? await status(hash, keepUntold).catch(() => undefined) : undefined;
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

/** `operationDigest` of what is asked for: what the gateway fills in tells nothing apart. */
export function requestDigest(contracts: ContractIds, { source, operation }: PrepareRequest): string {
  return operationDigest(contractCall(contracts, source, filledIn(operation)));
}

function filledIn(operation: Operation) {
  if (operation.kind === "authorize") return { ...operation, nonce: operation.nonce ?? "0" };
  return operation.kind === "registerAgent" ? { ...operation, expiresAt: operation.expiresAt ?? null } : operation;
}
