import { createEntryReader, type EntryReaderParts } from "../../stellar/entries.ts";
import { createContractCalls } from "../../stellar/transactions/contract_call.ts";
import type { RpcClient } from "../../stellar/rpc/client.ts";
import { createHeldReader } from "../assets/held.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { createEntrySource } from "../reads/reads_by_entries.ts";
import type { ReconcileParts } from "./reconcile.ts";

/** The reads of a reconciliation. */
export type BooksReaders = Pick<ReconcileParts, "entries" | "pending" | "held">;

/** Creates them for a program that is no gateway. */
export function createBooksReaders(
  parts: EntryReaderParts & { rpc: RpcClient; contracts: ContractIds; networkPassphrase: string },
): BooksReaders {
  const { contracts, contracts: { paymentEscrow } } = parts;
  const entries = createEntryReader(parts);
  return {
    entries,
    pending: createEntrySource({ entries, contracts }).pending,
    held: createHeldReader({ entries, calls: createContractCalls(parts), paymentEscrow }),
  };
}
