import type { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { ContractCall } from "./contract_call.ts";
import { type CheckedEnvelope, LONGEST_VALIDITY_SECONDS } from "./envelope.ts";
import type { EntryReader } from "../entries.ts";
import { freshRead } from "../fresh_read.ts";
import type { Head } from "../head.ts";
import type { Outcome, SubmissionLog } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { type LedgerFailure, outcomeForgotten, outcomeUnknown, rejection, TRAPPED } from "./rejections.ts";
import { resultCode } from "./results.ts";
import { readAccount } from "./prepare.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { CallOptions } from "../rpc/nodes.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";

export interface OutcomeParts {
  rpc: RpcClient;
  head: Head;
  clock: Clock;
  submissionLog: SubmissionLog;
  /** Explains a trapped invocation. */
  explainFailure(call: ContractCall | undefined, failure: LedgerFailure): Promise<GatewayError>;
}

/** The outcome in an answer whose `status` is not `NOT_FOUND`. */
export async function outcomeOf(
  parts: Pick<OutcomeParts, "explainFailure">,
  hash: string,
  call: ContractCall | undefined,
  answer: TransactionAnswer,
): Promise<Outcome> {
  const ledger = answer.ledger!;
  if (answer.status === "SUCCESS") return { status: "success", ledger };
  const { resultXdr, diagnosticEventsXdr: diagnosticEvents = [] } = answer;
  const code = resultXdr === undefined ? "txFailed" : nodeXdr("resultXdr", () => resultCode(resultXdr));
  if (code !== TRAPPED) return { status: "failed", ledger, error: rejection(code, hash, ledger) };
  const error = await parts.explainFailure(call, { hash, ledger, code, diagnosticEvents });
  return { status: "failed", ledger, error };
}

/** The outcome of an envelope that no ledger applied before its time bound. */
export function tooLate(hash: string): Outcome {
  return { status: "failed", error: rejection("txTooLate", hash) };
}

/**
 * Whether a transaction that the node does not find is dead: a ledger closed after its time bound, and the node shows
 * that ledger. The answer's own close time does not count: one wrong answer must not end a live transaction.
 */
export function isOver(
  head: Pick<Head, "sequence" | "closeTime">,
  validUntil: number,
  answer: TransactionAnswer,
): boolean {
  return answer.latestLedger >= head.sequence && head.closeTime > validUntil;
}

/** The genesis ledger holds no transactions: a node that holds all from the second on has pruned none. */
const FIRST_LEDGER_WITH_TRANSACTIONS = 2;

/**
 * Whether the node has pruned ledgers that may hold an envelope with this upper time bound (Unix seconds). For an
 * envelope made elsewhere it is not known since when it could be applied.
 */
export function hasForgotten(answer: TransactionAnswer, validUntil: number): boolean {
  return answer.oldestLedger > FIRST_LEDGER_WITH_TRANSACTIONS &&
    (answer.oldestLedgerCloseTime ?? 0) > validUntil - LONGEST_VALIDITY_SECONDS;
}

/** The outcome in an answer, undefined while there is none. */
export async function outcomeIn(
  parts: OutcomeParts,
  { hash, validUntil, call }: CheckedEnvelope,
  answer: TransactionAnswer,
): Promise<Outcome | undefined> {
  if (answer.status !== "NOT_FOUND") return await outcomeOf(parts, hash, call, answer);
  return isOver(parts.head, validUntil, answer) && !hasForgotten(answer, validUntil) ? tooLate(hash) : undefined;
}

/**
 * The earlier outcome of an envelope that the network would refuse now; undefined when it was not applied.
 * @throws {GatewayError} `upstream_error` with the hash when no current node answers; `invalid_request` when the
 * outcome cannot be known any more
 */
export async function endedBefore(
  parts: OutcomeParts & { entries: EntryReader },
  envelope: CheckedEnvelope,
  code: string,
): Promise<Outcome | undefined> {
  const { hash, innerHash, validUntil, source, sequence } = envelope;
  const answer = await freshRead(parts, (options) => foundOf(parts.rpc, envelope, options)).catch((cause) => {
    throw outcomeUnknown(
      hash,
      `it would be ${code} now, and the RPC node does not report whether it was applied`,
      cause,
    );
  });
  if (answer.status !== "NOT_FOUND" || !hasForgotten(answer, validUntil)) {
    return answer.status === "NOT_FOUND" ? undefined : await outcomeOf(parts, hash, envelope.call, answer);
  }
  const noted = (await parts.submissionLog.get(hash))?.outcome;
  if (noted !== undefined) return noted;
  const ofInner = (await parts.submissionLog.get(innerHash))?.outcome;
  if (ofInner?.ledger !== undefined) return ofInner;
  // An applied envelope has used its sequence number.
  const account = await readAccount(parts.entries, source).catch((cause) => {
    throw outcomeUnknown(hash, `it would be ${code} now, and no RPC node returns the account`, cause);
  });
  if ((account.sequence ?? 0n) >= sequence) throw outcomeForgotten(hash);
  const { head } = parts;
  return account.ledger >= head.sequence && isOver(head, validUntil, answer) ? tooLate(hash) : undefined;
}

/** The inner transaction of a fee bump may have been applied alone, or in another fee bump. */
export async function foundOf(
  rpc: RpcClient,
  { hash, innerHash }: CheckedEnvelope,
  options?: CallOptions,
): Promise<TransactionAnswer> {
  const answer = await rpc.getTransaction(hash, options);
  return answer.status === "NOT_FOUND" && innerHash !== hash ? await rpc.getTransaction(innerHash, options) : answer;
}
