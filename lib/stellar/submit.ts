import { GatewayError } from "../errors.ts";
import type { Wait } from "./clock.ts";
import type { ContractCall } from "./contract_call.ts";
import type { EntryReader } from "./entries.ts";
import type { VettedEnvelope } from "./envelope.ts";
import { believed } from "./freshness.ts";
import type { LedgerWait } from "./ledger_wait.ts";
import { nodeXdr } from "./node_xdr.ts";
import { accountSequence, networkSeconds } from "./prepare.ts";
import { type LedgerFailure, outcomeUnknown, rejection, TRAPPED } from "./rejections.ts";
import { diagnosticEvents, resultCode } from "./results.ts";
import { type RpcClient, RpcError, type TransactionAnswer } from "./rpc.ts";
import type { LedgerTip } from "./tip.ts";

/** A transaction that was applied and succeeded. */
export interface Confirmed {
  hash: string;
  ledger: number;
}

export interface SubmitParts {
  rpc: RpcClient;
  entries: EntryReader;
  tip: LedgerTip;
  ledgers: LedgerWait;
  now: () => number;
  wait: Wait;
  /** How long a submit waits for its confirmation. */
  submitTimeoutMs: number;
  /** Notes the envelope durably; resolves before anything is sent. */
  noteSubmission(note: { hash: string; validUntil: number }): Promise<void>;
  /** What it means that an invocation trapped. */
  explainFailure(call: ContractCall | undefined, failure: LedgerFailure): Promise<GatewayError>;
}

/** Core lags the node just after a confirmation: the account's next sequence number is tried again this often. */
const LEDGERS_FOR_BAD_SEQUENCE = 2;
/** Far more than a ledger takes; a network that closes only on demand would be waited for in vain. */
const NEXT_LEDGER_MS = 10_000;
const FIRST_RESEND_MS = 1_000;
const LONGEST_RESEND_MS = 8_000;
const LAG_PAUSE_MS = 250;
const FAILED_ASKS_IN_A_ROW = 5;

type Sent = { kind: "accepted" | "later" } | { kind: "rejected"; code: string } | { kind: "unknown"; cause: unknown };

async function send(rpc: RpcClient, envelope: VettedEnvelope): Promise<Sent> {
  try {
    const { status, errorResultXdr } = await rpc.sendTransaction(envelope.xdr);
    if (status === "PENDING" || status === "DUPLICATE") return { kind: "accepted" };
    if (status === "TRY_AGAIN_LATER") return { kind: "later" };
    if (errorResultXdr === undefined) return { kind: "rejected", code: "ERROR" };
    return { kind: "rejected", code: nodeXdr("errorResultXdr", () => resultCode(errorResultXdr)) };
  } catch (cause) {
    if (cause instanceof RpcError && (cause.code === -32602 || cause.code === -32600)) {
      throw new GatewayError("invalid_request", `the RPC node refused the envelope: ${cause.message}`, { cause });
    }
    return { kind: "unknown", cause };
  }
}

/** The failure of an applied transaction as the caller is told of it. */
export async function failureError(
  parts: Pick<SubmitParts, "explainFailure">,
  hash: string,
  call: ContractCall | undefined,
  answer: TransactionAnswer,
): Promise<GatewayError> {
  const ledger = answer.ledger!;
  const { resultXdr } = answer;
  const code = resultXdr === undefined ? "txFailed" : nodeXdr("resultXdr", () => resultCode(resultXdr));
  if (code !== TRAPPED) return rejection(code, hash, ledger);
  const events = nodeXdr("resultMetaXdr", () => diagnosticEvents(answer));
  return await parts.explainFailure(call, { hash, ledger, code, diagnosticEvents: events });
}

/**
 * Sends a vetted envelope and waits until the network has confirmed it.
 * @throws {GatewayError} `invalid_request` when the network rejects it for its own sake, what `explainFailure` says when
 * a contract refused it, `upstream_error` with the hash in message and `Location` when the outcome is not known in time
 */
export async function sendAndConfirm(parts: SubmitParts, envelope: VettedEnvelope): Promise<Confirmed> {
  const { now, wait, rpc, tip } = parts;
  const { hash } = envelope;
  const endsAtMs = now() + parts.submitTimeoutMs;
  const remainingMs = () => Math.max(0, endsAtMs - now());
  if (networkSeconds(parts) > envelope.validUntil) {
    return await settled(parts, envelope) ?? fail(rejection("txTooLate", hash));
  }
  await parts.noteSubmission({ hash, validUntil: envelope.validUntil });

  let accepted = false;
  let resendAtMs = now();
  let resendPauseMs = FIRST_RESEND_MS;
  let badSequences = 0;
  let failedAsks = 0;
  let why = "it has not been confirmed in time";
  while (true) {
    if (!accepted && now() >= resendAtMs) {
      const sent = await send(rpc, envelope);
      resendAtMs = now() + resendPauseMs;
      resendPauseMs = Math.min(LONGEST_RESEND_MS, resendPauseMs * 2);
      if (sent.kind === "accepted") accepted = true;
      if (sent.kind === "later") why = "the network is too busy to take it in";
      if (sent.kind === "unknown") why = "the RPC node did not say whether it was taken in";
      if (sent.kind === "rejected") {
        const confirmed = await afterRejection(parts, envelope, sent.code, badSequences);
        if (confirmed !== undefined) return confirmed;
        badSequences += 1;
        await parts.ledgers.after(tip.sequence, Math.min(remainingMs(), NEXT_LEDGER_MS));
        resendAtMs = now();
        if (remainingMs() > 0) continue;
      }
    }
    const answer = await rpc.getTransaction(hash).catch((cause) => {
      failedAsks += 1;
      if (failedAsks >= FAILED_ASKS_IN_A_ROW) throw outcomeUnknown(hash, "the RPC node fails", cause);
      return undefined;
    });
    if (answer !== undefined) {
      failedAsks = 0;
      const confirmed = await outcome(parts, envelope, answer);
      if (confirmed !== undefined) return confirmed;
    }
    if (remainingMs() === 0) throw outcomeUnknown(hash, why);
    const untilResendMs = accepted ? Infinity : Math.max(0, resendAtMs - now());
    const pauseMs = Math.min(remainingMs(), untilResendMs);
    if (answer === undefined || answer.latestLedger < tip.sequence) await wait(Math.min(pauseMs, LAG_PAUSE_MS));
    else await parts.ledgers.after(answer.latestLedger, pauseMs);
  }
}

/** The confirmation an answer speaks of, undefined while there is none. Throws for a transaction that failed or died. */
async function outcome(
  parts: SubmitParts,
  { hash, validUntil, call }: VettedEnvelope,
  answer: TransactionAnswer,
): Promise<Confirmed | undefined> {
  if (answer.status !== "NOT_FOUND") parts.tip.observe(answer.ledger!);
  if (answer.status === "SUCCESS") return { hash, ledger: answer.ledger! };
  if (answer.status === "FAILED") throw await failureError(parts, hash, call, answer);
  const current = answer.latestLedger >= parts.tip.sequence;
  if (current && answer.latestLedgerCloseTime > validUntil) throw rejection("txTooLate", hash);
  return undefined;
}

/** Asks once, of a node that does not lag, whether the transaction has been applied already. */
async function settled(parts: SubmitParts, envelope: VettedEnvelope): Promise<Confirmed | undefined> {
  const answer = await believed(parts, () => parts.rpc.getTransaction(envelope.hash));
  if (answer.status === "NOT_FOUND") return undefined;
  return await outcome(parts, envelope, answer);
}

/**
 * What a rejection at sending means: an envelope applied already is rejected too, so the node is asked for its hash
 * first. Undefined: the sequence number is the account's next one, and core will see that with the next ledger.
 */
async function afterRejection(
  parts: SubmitParts,
  envelope: VettedEnvelope,
  code: string,
  badSequences: number,
): Promise<Confirmed | undefined> {
  const { hash, source, sequence } = envelope;
  try {
    // The account first: had it been read after, a ledger in between could make an applied envelope look new.
    const held = code === "txBadSeq" ? await accountSequence(parts.entries, source) : undefined;
    const confirmed = await settled(parts, envelope);
    if (confirmed !== undefined) return confirmed;
    if (held !== undefined && held + 1n === sequence && badSequences < LEDGERS_FOR_BAD_SEQUENCE) return undefined;
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code !== "upstream_error") throw cause;
    throw outcomeUnknown(hash, `the network answered ${code}, and the RPC node did not say why`, cause);
  }
  throw rejection(code, hash);
}

function fail(error: GatewayError): never {
  throw error;
}
