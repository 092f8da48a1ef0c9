import { GatewayError } from "../../errors.ts";
import type { ContractCall } from "./contract_call.ts";
import type { EntryReader } from "../entries.ts";
import type { CallGuard, CallInEnvelope } from "./call_guard.ts";
import type { CheckedEnvelope } from "./envelope.ts";
import type { Outcome } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { endedBefore, foundOf, outcomeIn, type OutcomeParts } from "./outcome.ts";
import { accountSequence } from "./prepare.ts";
import { outcomeUnknown, rejection, UNNAMED } from "./rejections.ts";
import { resultCode } from "./results.ts";
import type { RpcClient } from "../rpc/client.ts";
import { RpcError } from "../rpc/json_rpc.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";

export interface SubmitParts extends OutcomeParts {
  entries: EntryReader;
  /** What has to hold before this call is sent; undefined: nothing. */
  guardOf(call: CallInEnvelope): CallGuard | undefined;
  /** How long a submit waits for its confirmation. */
  submitTimeoutMs: number;
  /** Alike for two calls that do the same. */
  digestOf(call: ContractCall): string;
  /** Told of one that may be applied though its sender is told that it was turned down. */
  keepUntold(hash: string): Promise<void>;
}

/** What core answers as long as it does not know of the ledger that has created the account, or used its last number. */
const OF_ACCOUNT = ["txNoAccount", "txBadSeq"];
/** Core lags the node just after a confirmation: what is right for the account as the node has it is tried again this often. */
const LEDGERS_FOR_ACCOUNT = 2;
/** Far more than a ledger takes; a network that closes only on demand would be waited for in vain. */
const NEXT_LEDGER_MS = 10_000;
const FIRST_RESEND_MS = 1_000;
const LONGEST_RESEND_MS = 8_000;
const LAG_PAUSE_MS = 250;
const SECOND_LOOK_MS = 1_000;
const FAILED_ASKS_IN_A_ROW = 5;

/** How far one submit has come. */
interface Progress {
  endsAtMs: number;
  /** It was sent from here before, in this submit without an answer, so it may be in a ledger that the node has not seen yet. */
  mayBeTaken: boolean;
  /** The network has it, or would not take it any more: it need not be sent again. */
  accepted: boolean;
  resendAtMs: number;
  resendPauseMs: number;
  /** How many ledgers it was waited for core to see the account as the node has it. */
  ledgersForAccount: number;
  /** It was turned down when it may have been taken before. */
  isDoubted: boolean;
  /**
   * Another is made in its place only with the same sequence number: it may be called rejected, where that says to prepare
   * again, and be applied all the same.
   */
  isIntent: boolean;
  /** It was sent without an answer, and no end of it was told since: a copy may wait somewhere for its ledger. */
  mayBeWaiting: boolean;
  /** It was not found when its time was over, once. */
  seemsLate: boolean;
  failedAsks: number;
  /** Why there is no outcome yet. */
  why: string;
}

/**
 * Sends a vetted envelope and waits until the network has confirmed or refused it. One that was sent from here before ends
 * as it did then, however little the node remembers.
 * @throws {GatewayError} `upstream_error` with the hash in message and `Location` when the outcome is not known in time,
 * `invalid_request` when nobody can tell it any more
 */
export async function sendAndConfirm(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  isIntent = false,
): Promise<Outcome> {
  const { hash, innerHash, validUntil } = envelope;
  // Its inner transaction may have been sent by itself, or in another fee bump.
  const [noted, ofInner] = await Promise.all([...new Set([hash, innerHash])].map(parts.submissionLog.get));
  if (noted?.outcome?.ledger !== undefined) return noted.outcome;
  const before = [noted, ofInner].filter((note) => note !== undefined);
  const mayBeWaiting = before.some(({ outcome }) => outcome === undefined);
  // Not by a clock: one that is ahead would end before its time what others may be sending too.
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
    await note(parts, envelope);
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
    // Another may have noted meanwhile that it was turned down there, which is not what became of it.
    if (!isLate) await note(parts, envelope).catch(() => {});
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
    // That no ledger has it one answer is not enough to tell.
    if (ended?.ledger !== undefined || (ended !== undefined && progress.seemsLate)) return ended;
    progress.seemsLate = ended !== undefined;
    await pause(parts, envelope.hash, progress, answer);
  }
}

/**
 * Looks at what has to hold before this call is sent. An envelope that was applied before answers as it did then, whatever
 * has become of the ledger since. @throws {GatewayError} what the guard says; `upstream_error` where it was sent before and
 * may be applied all the same
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

/** The inner transaction of a fee bump beside the outer one: it may be asked for, and sent again, by its own hash. */
async function note({ submissionLog, digestOf }: SubmitParts, envelope: CheckedEnvelope): Promise<void> {
  const { hash, innerHash, validUntil, source, call } = envelope;
  const about = { validUntil, source, operation: digestOf(call) };
  const inner = { hash: innerHash, ...about };
  const notes = hash === innerHash ? [inner] : [{ hash, inner: innerHash, ...about }, inner];
  await Promise.all(notes.map((one) => submissionLog.record(one)));
}

/** Sends the envelope once and notes in `progress` what came of it; the outcome when it was refused, or had one before. */
async function sendOnce(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  progress: Progress,
): Promise<Outcome | undefined> {
  const sent = await send(parts.rpc, envelope);
  progress.resendAtMs = parts.clock.monotonicMs() + progress.resendPauseMs;
  progress.resendPauseMs = Math.min(LONGEST_RESEND_MS, progress.resendPauseMs * 2);
  if (sent.kind === "accepted") progress.accepted = true;
  if (sent.kind === "later") progress.why = "the network is too busy to take it in";
  if (sent.kind === "unknown") {
    progress.mayBeTaken = progress.mayBeWaiting = true;
    progress.why = "the RPC node did not say whether it was taken in";
  }
  return sent.kind === "rejected" ? await afterRejection(parts, envelope, sent, progress) : undefined;
}

type Sent = { kind: "accepted" | "later" | "unknown" } | Rejected;

interface Rejected {
  kind: "rejected";
  code: string;
  /** What its sender is told, where that is not the code. */
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
 * What a rejection at sending means. An envelope applied before is rejected too, and answers as it did then. Undefined:
 * the sequence number is the account's next one, core will see that with the next ledger, and that has been waited for;
 * a copy that waits may still be applied, and who was told to prepare again would do it twice; or it is too late to send it
 * again, and what became of it shows once a ledger behind its time is confirmed.
 */
async function afterRejection(
  parts: SubmitParts,
  envelope: CheckedEnvelope,
  { code, error: named }: Rejected,
  progress: Progress,
): Promise<Outcome | undefined> {
  const { hash, source, sequence } = envelope;
  // The account first: had it been read after, a ledger in between could make an applied envelope look new.
  const current = !OF_ACCOUNT.includes(code)
    ? undefined
    : await accountSequence(parts.entries, source).catch((cause) => {
      throw outcomeUnknown(hash, `the network answered ${code}, and the account can't be read`, cause);
    });
  const before = await endedBefore(parts, envelope, code);
  if (before !== undefined) return before;
  if (code === "txTooLate" && progress.mayBeTaken) {
    progress.accepted = true;
    return undefined;
  }
  // Of what may be there one answer that does not find it is not enough: it is asked for and sent once more.
  if (progress.mayBeTaken && !progress.isDoubted) {
    progress.isDoubted = true;
    return undefined;
  }
  const isNext = current !== undefined && current + 1n === sequence;
  if (!isNext || progress.ledgersForAccount >= LEDGERS_FOR_ACCOUNT) {
    const isUsed = current !== undefined && current >= sequence;
    const error = named ?? rejection(code, hash);
    const leadsOn = progress.isIntent && error.retry === "prepare_again";
    // Whatever it is turned down for: what waits may have come to a node with another view, or with other signatures.
    const mayBeApplied = progress.mayBeWaiting && !isUsed;
    if (mayBeApplied && !leadsOn) {
      progress.why =
        `it was turned down (${code}) after it had been sent without an answer, and may be applied all the same`;
      return undefined;
    }
    if (mayBeApplied) await parts.keepUntold(hash);
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

/** Asks for the outcome; undefined when the node fails, which is borne a few times in a row. */
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

/** Until it is time to send or to ask again. @throws {GatewayError} when the time for the whole submit is over */
async function pause(
  { clock: { monotonicMs, wait }, head }: SubmitParts,
  hash: string,
  { endsAtMs, accepted, resendAtMs, seemsLate, why }: Progress,
  answer: TransactionAnswer | undefined,
): Promise<void> {
  const remainingMs = endsAtMs - monotonicMs();
  if (remainingMs <= 0) throw outcomeUnknown(hash, why);
  const pauseMs = accepted ? remainingMs : Math.max(0, Math.min(remainingMs, resendAtMs - monotonicMs()));
  // A node that lags, or fails, may know better in a moment; one that is up to date knows no more before the next ledger.
  if (seemsLate) await wait(Math.min(remainingMs, SECOND_LOOK_MS));
  else if (answer === undefined || answer.latestLedger < head.sequence) await wait(Math.min(pauseMs, LAG_PAUSE_MS));
  else await head.wait(answer.latestLedger + 1, pauseMs);
}

function isUpstreamFault(error: unknown): boolean {
  return error instanceof RpcError || error instanceof GatewayError;
}
