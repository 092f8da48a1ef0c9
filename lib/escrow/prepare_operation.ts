import type { PreparedTransaction } from "../stellar/prepare.ts";
import type { Transactions } from "../stellar/transactions.ts";
import type { ContractIds } from "./contract_errors.ts";
import type { Nonces } from "./nonces.ts";
import { contractCall, type Operation, type PreparedOperation } from "./operations.ts";

export interface PrepareRequest {
  /** The acting account, `G…`. */
  source: string;
  operation: Operation;
}

/** An unsigned envelope and what it will do. */
export type PreparedRequest = PreparedTransaction & { operation: PreparedOperation };

/** Prepares operations: fills in what was left open, and builds the envelope. */
export function createOperationPreparer({ contracts, transactions, nonces }: {
  contracts: ContractIds;
  transactions: Pick<Transactions, "prepare">;
  nonces: Nonces;
}): (request: PrepareRequest) => Promise<PreparedRequest> {
  async function prepared(source: string, operation: PreparedOperation): Promise<PreparedRequest> {
    const transaction = await transactions.prepare(source, contractCall(contracts, source, operation));
    return { ...transaction, operation };
  }

  return async function prepareOperation({ source, operation }) {
    if (operation.kind === "registerAgent") {
      return await prepared(source, { ...operation, expiresAt: operation.expiresAt ?? null });
    }
    if (operation.kind !== "authorize") return await prepared(source, operation);
    if (operation.nonce !== undefined) return await prepared(source, { ...operation, nonce: operation.nonce });
    const { nonce, giveBack } = await nonces.next(operation.deviceHash, source);
    try {
      return await prepared(source, { ...operation, nonce });
    } catch (error) {
      giveBack();
      throw error;
    }
  };
}
