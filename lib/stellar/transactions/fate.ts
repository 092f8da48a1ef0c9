import { type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import type { EntryReader } from "../entries.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import type { Journal } from "./journal.ts";
import { hasForgotten, isOver } from "./outcome.ts";
import { readAccount } from "./prepare.ts";
import { outcomeForgotten } from "./rejections.ts";
import { type LookupParts, lookUpTransaction } from "./transaction_lookup.ts";

/** An envelope that was handed out: who may have sent it, where and when, is not known. */
export interface HandedOut {
  /** Of the (inner) transaction, hex. */
  hash: string;
  /** The account whose sequence number it uses, `G…`. */
  source: string;
  sequence: bigint;
  /** Its upper time bound, Unix seconds. */
  validUntil: number;
  /**
   * A ledger that had closed when it was handed out: it is in a later one, if in any. Undefined: a program before this one
   * has not kept it. No time says that, for by a clock that was ahead it would be one that is still to come.
   */
  sinceLedger: number | undefined;
}

/**
 * What can still become of an envelope. `open`: it may be applied. `refused`: as `open`, but the network has turned it
 * down, so another may be made in its place that uses the same sequence number: only one of the two can be applied.
 * `applied`: with success. `over`: it never will be.
 */
export type Fate = "open" | "refused" | "applied" | "over";

export interface FateParts extends LookupParts {
  entries: EntryReader;
  journal: Journal;
}

/**
 * Tells what can still become of an envelope, and never says `over` of one that may be in a ledger: by what was noted here,
 * by the log, by the node, and by the account's sequence number, which an envelope that was applied has used up.
 * @throws {GatewayError} `upstream_error` when the network can't be asked; `invalid_request` when nobody can tell any more
 */
export async function fateOf(parts: FateParts, envelope: HandedOut): Promise<Fate> {
  const { head, journal, entries } = parts;
  const { hash, source, sequence, validUntil } = envelope;
  const noted = (await journal.get(hash))?.outcome;
  if (noted?.ledger !== undefined) return noted.status === "success" ? "applied" : "over";
  if (await journal.ledgerOf(hash) !== undefined) return "applied";

  // The account first: read after, a ledger in between could make an applied envelope look new.
  const account = await readAccount(entries, source);
  const used = (account.sequence ?? 0n) >= sequence;
  const lookup = lookUpTransaction(parts, hash);
  const answer = await lookup.first();
  if (answer.status !== "NOT_FOUND") return answer.status === "SUCCESS" ? "applied" : "over";
  if (!used) {
    // Every ledger that could have taken it in is in what the account was read of.
    const wasNeverUsed = account.ledger >= head.sequence;
    return wasNeverUsed && isOver(head, validUntil, answer) ? "over" : noted === undefined ? "open" : "refused";
  }

  // Another transaction has its sequence number, if this one has not, which one answer is not enough to tell.
  const again = await lookup.again(answer, (one) => mayHaveForgotten(one, envelope));
  if (again.status !== "NOT_FOUND") return again.status === "SUCCESS" ? "applied" : "over";
  if (mayHaveForgotten(again, envelope)) throw outcomeForgotten(hash);
  return "over";
}

/** Whether the node holds not all of the ledgers that an envelope may be in. */
function mayHaveForgotten(answer: TransactionAnswer, { sinceLedger, validUntil }: HandedOut): boolean {
  if (sinceLedger !== undefined) return answer.oldestLedger > sinceLedger + 1;
  return hasForgotten(answer, validUntil);
}

/** An envelope (base64) that `prepareTransaction` made, and a ledger that had closed before. */
export function handedOut(
  envelopeXdr: string,
  { networkPassphrase, sinceLedger }: { networkPassphrase: string; sinceLedger: number | undefined },
): HandedOut {
  const transaction = TransactionBuilder.fromXdr(envelopeXdr, networkPassphrase) as Transaction;
  return {
    hash: xdr.encodeBytes(transaction.hash(), "hex"),
    source: transaction.source,
    sequence: BigInt(transaction.sequence),
    validUntil: Number(transaction.timeBounds!.maxTime),
    sinceLedger,
  };
}
