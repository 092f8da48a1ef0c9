import { xdr } from "@stellar/stellar-sdk/base";
import { nodeXdr } from "./node_xdr.ts";
import type { FootprintTerms } from "./reserved_keys.ts";

/** What one transaction would touch, and what the network lets one touch. */
export interface Excess {
  /** Ledger entries that it would write, or touch at all. */
  entries: number;
  most: number;
  /** Continues a message. */
  words: string;
}

/** The network never allowed a transaction fewer entries than this: below it nothing need be looked up. */
const SMALL = 20;

/**
 * Tells when a transaction is larger than the network takes, which its simulation does not: the envelope would be signed,
 * and rejected. Undefined when it fits, and when that can't be told.
 *
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
