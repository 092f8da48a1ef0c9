import { GatewayError } from "../../errors.ts";
import type { CallGuard, CallInEnvelope, ContractCall } from "./contract_call.ts";
import type { EntryReader } from "../entries.ts";
import type { CheckedEnvelope } from "./envelope.ts";
import type { Outcome, Submitter } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { endedBefore, foundOf, outcomeIn, type OutcomeParts } from "./outcome.ts";
import { readAccount } from "./prepare.ts";
import { outcomeUnknown, rejection, UNNAMED } from "./rejections.ts";
import { resultCode } from "./results.ts";
import type { RpcClient } from "../rpc/client.ts";
import { RpcError } from "../rpc/json_rpc.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";

export interface SubmitParts extends OutcomeParts {
  entries: EntryReader;
  /** The guard of this call, undefined for none. */
  guardOf(call: CallInEnvelope): CallGuard | undefined;
  /** How long a submit waits for confirmation. */
  submitTimeoutMs: number;
  /** Equal for two calls that do the same. */
  digestOf(call: ContractCall): string;
  /** Called for a hash that may be applied although its sender got a rejection. */
  keepUnresolved(hash: string): Promise<void>;
}

/** Core's answers until it sees the ledger that created the account, or used its last number. */
const OF_ACCOUNT = ["txNoAccount", "txBadSeq"];
/**
 * Core lags the node after a confirmation. An envelope that fits the node's account is resent for this many ledgers.
 */
const LEDGERS_FOR_ACCOUNT = 2;
/** Far longer than a ledger takes. A network that closes ledgers only on demand ends no wait. */
const NEXT_LEDGER_MS = 10_000;
const FIRST_RESEND_MS = 1_000;
const LONGEST_RESEND_MS = 8_000;
const LAG_PAUSE_MS = 250;
const LATE_PAUSE_MS = 1_000;
const FAILED_ASKS_IN_A_ROW = 5;

/** The state of one submit. */
interface Progress {
  endsAtMs: number;
  /**
   * This gateway sent it before, or got no answer in this submit. So it may be in a ledger that the node does not show
   * yet.
   */
  mayBeTaken: boolean;
  /** The network has it, or would refuse it now. Either way there is no resend. */
  accepted: boolean;
  resendAtMs: number;
  resendPauseMs: number;
  /** How many ledgers this submit waited for core to see the account. */
  ledgersForAccount: number;
  /** The network rejected it although it may have accepted it before. */
  isDoubted: boolean;
  /**
   * A replacement envelope needs the same sequence number. So the gateway may report a rejection with "prepare again"
   * although this one may still be applied.
   */
  isIntent: boolean;
  /** A send got no answer, and no outcome is known since. A copy may wait in the network. */
  mayBeWaiting: boolean;
  /** One answer after its time bound did not find it. */
  seemsLate: boolean;
  failedAsks: number;
  /** Why the outcome is unknown. */
  why: string;
}

/**
 * Sends a checked envelope and waits until the network confirms or rejects it. An envelope that this gateway sent
 * before gets its earlier outcome, even from a node that has pruned it.
 * @throws {GatewayError} `upstream_error` with the hash in message and `Location` when the outcome is not known in
 * time, `invalid_request` when it cannot be known any more
 */
export async function sendAndConfirm(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  { isIntent, submitter }: { isIntent: boolean; submitter?: Submitter } = { isIntent: false },
): Promise<Outcome> {
  const { hash, innerHash, validUntil, source } = envelope;
  // Its inner transaction may have been sent alone, or in another fee bump.
  const [noted, ofInner] = await Promise.all([...new Set([hash, innerHash])].map(parts.submissionLog.get));
  if (noted !== undefined && submitter !== undefined) {
    await parts.submissionLog.recordSubmitter({ hash, source }, submitter);
  }
  if (noted?.outcome?.ledger !== undefined) return noted.outcome;
  const before = [noted, ofInner].filter((note) => note !== undefined);
  const mayBeWaiting = before.some(({ outcome }) => outcome === undefined);
  // Not by our clock: if that is ahead, it would end an envelope that others may be sending.
  const isLate = parts.head.closeTime > validUntil;
  const ledger = noted !== undefined || isLate ? await parts.submissionLog.ledgerOf(hash) : undefined;
  if (ledger !== undefined) return { status: "success", ledger };
  if (isLate) {
    const ended = await endedBefore(parts, envelope, "txTooLate");
    if (ended !== undefined) return ended;
    if (before.length === 0) return { status: "rejected", error: rejection("txTooLate", hash) };
  } else {
    const ended = await guarded(parts, envelope, mayBeWaiting);
    if (ended !== undefined) return ended;
    await note(parts, envelope, submitter);
  }
  const progress: Progress = {
    endsAtMs: parts.clock.monotonicMs() + parts.submitTimeoutMs,
    mayBeTaken: before.length > 0,
    accepted: isLate,
    resendAtMs: -Infinity,
    resendPauseMs: FIRST_RESEND_MS,
    ledgersForAccount: 0,
    isDoubted: false,
    isIntent,
    mayBeWaiting,
    seemsLate: false,
    failedAsks: 0,
    why: "it has not been confirmed in time",
  };
  try {
    return await untilEnded(parts, envelope, progress);
  } catch (unknown) {
    // Another submit may have stored its own rejection meanwhile, which is not this outcome.
    if (!isLate) await note(parts, envelope, submitter).catch(() => {});
    throw unknown;
  }
}

/** @throws {GatewayError} `upstream_error` when its outcome is not known in time */
async function untilEnded(parts: SubmitParts, envelope: CheckedEnvelope, progress: Progress): Promise<Outcome> {
  while (true) {
    const sendNow = !progress.accepted && parts.clock.monotonicMs() >= progress.resendAtMs;
    const refused = sendNow ? await sendOnce(parts, envelope, progress) : undefined;
    if (refused !== undefined) return refused;
    const answer = await ask(parts, envelope, progress);
    const ended = answer && await outcomeIn(parts, envelope, answer);
    // One "not found" does not prove that no ledger has it.
    if (ended?.ledger !== undefined || (ended !== undefined && progress.seemsLate)) return ended;
    progress.seemsLate = ended !== undefined;
    await pause(parts, envelope.hash, progress, answer);
  }
}

/**
 * Runs the guard of this call. An envelope that was applied before gets its earlier outcome, whatever the ledger holds
 * now.
 * @throws {GatewayError} the guard's error; `upstream_error` when it was sent before and may be applied
 */
async function guarded(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  mayBeWaiting: boolean,
): Promise<Outcome | undefined> {
  const { call, authorisers } = envelope;
  try {
    const guard = parts.guardOf({ call, authorisers, param: "xdr" });
    if (guard !== undefined) await guard.check((await parts.entries.read(guard.keys, { fresh: true })).entries);
    return undefined;
  } catch (refusal) {
    if (!(refusal instanceof GatewayError) || refusal.retry !== "never") throw refusal;
    const ended = await endedBefore(parts, envelope, "refused");
    if (ended !== undefined) return ended;
    if (!mayBeWaiting) throw refusal;
    throw outcomeUnknown(envelope.hash, `it was sent before, and would be refused now (${refusal.message})`, refusal);
  }
}

/**
 * Stores the inner transaction of a fee bump beside the outer one, because clients may ask for and send it by its own
 * hash.
 */
async function note(
  { submissionLog, digestOf }: SubmitParts,
  envelope: CheckedEnvelope,
  submitter: Submitter | undefined,
): Promise<void> {
  const { hash, innerHash, validUntil, source, call } = envelope;
  const about = { validUntil, source, operation: digestOf(call) };
  const inner = { hash: innerHash, ...about };
  const notes = hash === innerHash
    ? [{ ...inner, submitter }]
    : [{ hash, inner: innerHash, submitter, ...about }, inner];
  await Promise.all(notes.map((one) => submissionLog.record(one)));
}

/**
 * Sends the envelope once and updates `progress`. Returns the outcome when the network rejects it, or when it had one
 * before.
 */
async function sendOnce(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  progress: Progress,
): Promise<Outcome | undefined> {
  const sent = await send(parts.rpc, envelope);
  progress.resendAtMs = parts.clock.monotonicMs() + progress.resendPauseMs;
  progress.resendPauseMs = Math.min(LONGEST_RESEND_MS, progress.resendPauseMs * 2);
  if (sent.kind === "accepted") progress.accepted = true;
  if (sent.kind === "later") progress.why = "the network is too busy to accept it";
  if (sent.kind === "unknown") {
    progress.mayBeTaken = progress.mayBeWaiting = true;
    progress.why = "the RPC node did not report whether it was accepted";
  }
  return sent.kind === "rejected" ? await afterRejection(parts, envelope, sent, progress) : undefined;
}

type Sent = { kind: "accepted" | "later" | "unknown" } | Rejected;

interface Rejected {
  kind: "rejected";
  code: string;
  /** The error for its sender, when the code does not say it. */
  error?: GatewayError;
}

async function send(rpc: RpcClient, envelope: CheckedEnvelope): Promise<Sent> {
  try {
    const { status, errorResultXdr } = await rpc.sendTransaction(envelope.xdr);
    if (status === "PENDING" || status === "DUPLICATE") return { kind: "accepted" };
    if (status === "TRY_AGAIN_LATER") return { kind: "later" };
    if (errorResultXdr === undefined) return { kind: "rejected", code: UNNAMED };
    return { kind: "rejected", code: nodeXdr("errorResultXdr", () => resultCode(errorResultXdr)) };
  } catch (cause) {
    if (cause instanceof RpcError && (cause.kind === "refused" || cause.kind === "limit")) {
      const error = new GatewayError("invalid_request", "the RPC node refused the envelope as malformed", {
        param: "xdr",
        cause,
      });
      return { kind: "rejected", code: UNNAMED, error };
    }
    if (!isUpstreamFault(cause)) throw cause;
    return { kind: "unknown" };
  }
}

/**
 * Returns the outcome of a rejected send. Also an envelope that was applied before is rejected, and gets its earlier
 * outcome. Undefined when the submit goes on, in one of three cases. The number is the account's next one: this waits
 * for core's next ledger. A copy may still be applied, so "prepare again" could pay twice. It is too late to resend,
 * and a later ledger shows the outcome.
 */
async function afterRejection(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  { code, error: named }: Rejected,
  progress: Progress,
): Promise<Outcome | undefined> {
  const { hash, source, sequence } = envelope;
  // The account first: read later, a ledger in between could make an applied envelope look new.
  const { sequence: current } = !OF_ACCOUNT.includes(code)
    ? { sequence: undefined }
    : await readAccount(parts.entries, source).catch((cause) => {
      throw outcomeUnknown(hash, `the network answered ${code}, and no RPC node returns the account`, cause);
    });
  const before = await endedBefore(parts, envelope, code);
  if (before !== undefined) return before;
  if (code === "txTooLate" && progress.mayBeTaken) {
    progress.accepted = true;
    return undefined;
  }
  // One "not found" is not enough for an envelope that may be applied: look it up and resend it.
  if (progress.mayBeTaken && !progress.isDoubted) {
    progress.isDoubted = true;
    return undefined;
  }
  const isNext = current !== undefined && current + 1n === sequence;
  if (!isNext || progress.ledgersForAccount >= LEDGERS_FOR_ACCOUNT) {
    const isUsed = current !== undefined && current >= sequence;
    const error = named ?? rejection(code, hash);
    const leadsOn = progress.isIntent && error.retry === "prepare_again";
    // For any reason: a waiting copy may be at a node with another view, or have other signatures.
    const mayBeApplied = progress.mayBeWaiting && !isUsed;
    if (mayBeApplied && !leadsOn) {
      progress.why = `it was rejected (${code}) after a send without an answer, and may still be applied`;
      return undefined;
    }
    if (mayBeApplied) await parts.keepUnresolved(hash);
    return { status: "rejected", error };
  }
  progress.ledgersForAccount += 1;
  await parts.head.wait(
    parts.head.sequence + 1,
    Math.min(NEXT_LEDGER_MS, Math.max(0, progress.endsAtMs - parts.clock.monotonicMs())),
  );
  progress.resendAtMs = parts.clock.monotonicMs();
  return undefined;
}

/** Asks for the outcome. Undefined when the node fails, up to five times in a row. */
async function ask(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  progress: Progress,
): Promise<TransactionAnswer | undefined> {
  try {
    const answer = await foundOf(parts.rpc, envelope);
    progress.failedAsks = 0;
    return answer;
  } catch (cause) {
    if (!isUpstreamFault(cause)) throw cause;
    progress.failedAsks += 1;
    if (progress.failedAsks >= FAILED_ASKS_IN_A_ROW) throw outcomeUnknown(envelope.hash, "the RPC node fails", cause);
    return undefined;
  }
}

/** Waits until the next send or look-up. @throws {GatewayError} when the time for the submit is over */
async function pause(
  { clock: { monotonicMs, wait }, head }: SubmitParts,
  hash: string,
  { endsAtMs, accepted, resendAtMs, seemsLate, why }: Progress,
  answer: TransactionAnswer | undefined,
): Promise<void> {
  const remainingMs = endsAtMs - monotonicMs();
  if (remainingMs <= 0) throw outcomeUnknown(hash, why);
  const pauseMs = accepted ? remainingMs : Math.max(0, Math.min(remainingMs, resendAtMs - monotonicMs()));
  // A lagging or failing node may know more in a moment. A current one learns no more before the next ledger.
  if (seemsLate) await wait(Math.min(remainingMs, LATE_PAUSE_MS));
  else if (answer === undefined || answer.latestLedger < head.sequence) await wait(Math.min(pauseMs, LAG_PAUSE_MS));
  else await head.wait(answer.latestLedger + 1, pauseMs);
}

function isUpstreamFault(error: unknown): boolean {
  return error instanceof RpcError || error instanceof GatewayError;
}
