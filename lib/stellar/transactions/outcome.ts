import type { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { ContractCall } from "./contract_call.ts";
import type { VettedEnvelope } from "./envelope.ts";
import { believed } from "../ledger/freshness.ts";
import { nodeXdr } from "./node_xdr.ts";
import { type LedgerFailure, outcomeUnknown, rejection, TRAPPED } from "./rejections.ts";
import { diagnosticEvents, resultCode } from "./results.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import type { LedgerView } from "../ledger/ledger_view.ts";

/** A transaction that was applied and succeeded. */
export interface Confirmed {
  hash: string;
  ledger: number;
}

export interface OutcomeParts {
  rpc: RpcClient;
  view: LedgerView;
  clock: Clock;
  /** What it means that an invocation trapped. */
  explainFailure(call: ContractCall | undefined, failure: LedgerFailure): Promise<GatewayError>;
}

/** The failure of an applied transaction as the caller is told of it. */
export async function failureError(
  parts: Pick<OutcomeParts, "explainFailure">,
  hash: string,
  call: ContractCall | undefined,
  answer: TransactionAnswer,
): Promise<GatewayError> {
  const { resultXdr } = answer;
  const ledger = answer.ledger!;
  const code = resultXdr === undefined ? "txFailed" : nodeXdr("resultXdr", () => resultCode(resultXdr));
  if (code !== TRAPPED) return rejection(code, hash, ledger);
  const events = nodeXdr("resultMetaXdr", () => diagnosticEvents(answer));
  return await parts.explainFailure(call, { hash, ledger, code, diagnosticEvents: events });
}

/**
 * The confirmation that an answer of the node speaks of, undefined while there is none.
 * @throws {GatewayError} for a transaction that failed, or that no ledger took in before its time bound
 */
export async function outcomeIn(
  parts: OutcomeParts,
  { hash, validUntil, call }: VettedEnvelope,
  answer: TransactionAnswer,
): Promise<Confirmed | undefined> {
  if (answer.status === "SUCCESS") return { hash, ledger: answer.ledger! };
  if (answer.status === "FAILED") throw await failureError(parts, hash, call, answer);
  // Not the answer's own close time: one wrong answer must not end what may still be applied.
  const { confirmed } = parts.view;
  if (answer.latestLedger >= confirmed.sequence && confirmed.closeTime > validUntil) throw rejection("txTooLate", hash);
  return undefined;
}

/**
 * Whether an envelope that the network would not take now has been applied before: it answers then as it did the first
 * time. Undefined when it has not.
 * @throws {GatewayError} `upstream_error` with the hash when a node that does not lag can't be asked
 */
export async function appliedBefore(
  parts: OutcomeParts,
  envelope: VettedEnvelope,
  code: string,
): Promise<Confirmed | undefined> {
  const { hash } = envelope;
  const answer = await believed(parts, () => parts.rpc.getTransaction(hash)).catch((cause) => {
    throw outcomeUnknown(hash, `it would be ${code} now, and the RPC node does not say whether it was applied`, cause);
  });
  return answer.status === "NOT_FOUND" ? undefined : await outcomeIn(parts, envelope, answer);
}
