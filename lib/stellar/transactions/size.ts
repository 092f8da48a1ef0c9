import { xdr } from "@stellar/stellar-sdk/base";
import { nodeXdr } from "./node_xdr.ts";
import type { FootprintTerms } from "./reserved_keys.ts";

/** How far a transaction exceeds the network's limit. */
export interface Excess {
  /** Ledger entries that it would write, or read and write. */
  entries: number;
  most: number;
  /** A clause for an error message. */
  words: string;
}

/** The network's limit has never been lower. Up to this number no limit is read. */
const SMALL = 20;

/**
 * Reports a transaction that is larger than the network allows. A simulation does not, so the client would sign it in
 * vain. Undefined when it fits, or when the limits are not known.
 * @param transactionData base64 SorobanTransactionData
 */
export async function excessOf(
  transactionData: string,
  terms: { read(): Promise<FootprintTerms> },
): Promise<Excess | undefined> {
  const { readOnly, readWrite } = nodeXdr(
    "transactionData",
    () => xdr.SorobanTransactionData.fromXdr(transactionData, "base64"),
  ).resources.footprint;
  const touched = readOnly.length + readWrite.length;
  if (touched <= SMALL) return undefined;
  const limits = await terms.read().catch(() => undefined);
  if (limits === undefined) return undefined;
  if (readWrite.length > limits.mostWrittenEntries) {
    return exceeding("write", readWrite.length, limits.mostWrittenEntries);
  }
  return touched > limits.mostEntries ? exceeding("touch", touched, limits.mostEntries) : undefined;
}

function exceeding(verb: string, entries: number, most: number): Excess {
  return { entries, most, words: `it would ${verb} ${entries} ledger entries, where ${most} are allowed` };
}
