import { GatewayError, type Retry } from "../../errors.ts";
import type { ContractCall } from "./contract_call.ts";
import {
  calledIn,
  type CheckedEnvelope,
  checkEnvelope,
  LONGEST_VALIDITY_SECONDS,
  requireNearBound,
} from "./envelope.ts";
import { type LookedUpEnvelopes, lookUpEnvelopes } from "./envelope_lookup.ts";
import { askNewest } from "../fresh_read.ts";
import type { Outcome, Submitter } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { hasForgotten, isOver, outcomeOf, tooLate } from "./outcome.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import { type BuiltTransaction, type PrepareParts, prepareTransaction, readAccount, type Widen } from "./prepare.ts";
import { type LookupParts, lookUpTransaction } from "./transaction_lookup.ts";
import { sendAndConfirm, type SubmitParts } from "./submit.ts";

/** A transaction that was applied with success. */
export interface Confirmed {
  hash: string;
  ledger: number;
}

/** The state of a transaction. */
export interface TransactionStatus {
  hash: string;
  /** `failed`: applied without success, or in no ledger in time. `rejected`: the network refused it. */
  status: "pending" | "success" | "failed" | "rejected";
  ledger?: number;
  /** Why it failed or was rejected, as text. */
  error?: string;
  /** The fields of its submit's error, as in `GatewayError`. */
  contractError?: string;
  transactionError?: string;
  reason?: string;
  retry?: Retry;
}

/** The caller's facts about an envelope. */
export interface Checked {
  /** An intent is stored for it. A replacement envelope then needs the same sequence number. */
  isIntent: boolean;
  submitter?: Submitter;
}
export type OnChecked = (envelope: CheckedEnvelope) => Promise<Checked>;

export interface Transactions {
  /** Builds an unsigned envelope for one call; see `prepareTransaction`. */
  prepare(source: string, call: ContractCall, widen?: Widen): Promise<BuiltTransaction>;
  /**
   * Checks, sends and confirms a signed envelope; see `checkEnvelope` and `sendAndConfirm`. A submit of the same
   * envelope joins the one under way, and the outcome needs no waiting client. `onChecked` runs before the send and
   * stops it by rejecting. `beforeNoted` runs before the log stores the success and stops that by rejecting. After that
   * no job asks for the outcome again.
   * @throws {GatewayError} `invalid_request` when the network rejects it, what `explainFailure` returns when a contract
   * refused it, `upstream_error` when its outcome is not known in time
   */
  submit(
    envelopeXdr: string,
    onChecked?: OnChecked,
    beforeNoted?: (confirmed: Confirmed) => Promise<void>,
  ): Promise<Confirmed>;
  /**
   * The state of a transaction. For a transaction that this gateway sent, it is `pending` until a ledger closed after
   * its time bound. The submission log keeps its outcome.
   * @param beforeNoted as in `submit`
   * @throws {GatewayError} `not_found` for a hash that neither the node nor this gateway knows
   */
  status(hash: string, beforeNoted?: (hash: string) => Promise<void>): Promise<TransactionStatus>;
  /**
   * Reads the account, not from the cache. If a time bound has passed by network time alone, it asks a node for its
   * newest ledger first.
   */
  account(address: string, validUntil?: number): Promise<AccountAsOf>;
  /** See `lookUpEnvelopes`. */
  lookUp(envelopes: { hash: string; sinceLedger?: number }[], ledger: number): Promise<LookedUpEnvelopes>;
  /** Whether the network rejected the last send of this transaction from this gateway. */
  wasRejected(hash: string): Promise<boolean>;
}

/** An account as of one ledger. */
export interface AccountAsOf {
  ledger: number;
  /** The last number that it used, undefined for no such account. */
  sequence: bigint | undefined;
  /** When a ledger not above `ledger` closed, Unix seconds (0 when unknown). */
  closedAt: number;
}

export interface TransactionsParts extends PrepareParts, SubmitParts, LookupParts {
  /** Why the gateway does not submit this call, undefined when it does. */
  refuseCall(call: ContractCall): string | undefined;
  /** Called when a submitted call ends; `error` is absent after a success. Must not throw. */
  onEnd?(call: ContractCall, error?: unknown): void;
  /** Called with problems that the operator should know. */
  onProblem?(message: string): void;
}

/** Creates the part that writes to the network: prepare, submit, and the state of a transaction. */
export function createTransactions(parts: TransactionsParts): Transactions {
  const { head, submissionLog, networkPassphrase, onProblem } = parts;
  const underWay = new Map<string, Promise<Confirmed>>();

  async function submitOnce(
    envelope: CheckedEnvelope,
    checked?: Checked,
    beforeNoted?: (confirmed: Confirmed) => Promise<void>,
  ): Promise<Confirmed> {
    const { hash, innerHash } = envelope;
    const inner = innerHash === hash ? undefined : await submissionLog.get(innerHash);
    const outcome = await sendAndConfirm(parts, envelope, checked);
    // A rejected fee bump proves nothing about its inner transaction if that was sent alone before.
    const isOfBoth = outcome.ledger !== undefined || inner === undefined || inner.outcome !== undefined;
    const hashes = isOfBoth ? new Set([hash, innerHash]) : [hash];
    if (outcome.status === "success") {
      const confirmed = { hash, ledger: outcome.ledger! };
      // No client waits for this: the node reports the same success.
      void recordOutcome(hashes, outcome, beforeNoted?.(confirmed));
      return confirmed;
    }
    await recordOutcome(hashes, outcome);
    throw outcome.error;
  }

  /** Never rejects: a later look-up finds an outcome that was not stored. */
  async function recordOutcome(hashes: Iterable<string>, outcome: Outcome, before?: Promise<void>): Promise<void> {
    try {
      await before;
      await Promise.all([...hashes].map((hash) => submissionLog.recordOutcome(hash, outcome)));
    } catch (error) {
      onProblem?.(`the outcome of a transaction could not be stored: ${(error as Error).message}`);
    }
  }

  /** Never rejects: the envelope is stored, and the client needs its outcome. */
  async function recordSubmitter({ hash, source }: CheckedEnvelope, { submitter }: Checked): Promise<void> {
    if (submitter === undefined) return;
    await submissionLog.recordSubmitter({ hash, source }, submitter)
      .catch((error) => onProblem?.(`the submitter of a transaction could not be stored: ${error.message}`));
  }

  /**
   * The outcome that the network or the log knows, undefined while the transaction may still be applied.
   * @throws {GatewayError} `not_found`
   */
  async function foundOut(
    hash: string,
    noted?: { validUntil: number; outcome?: Outcome },
  ): Promise<Outcome | undefined> {
    const ledger = await submissionLog.ledgerOf(hash);
    if (ledger !== undefined) return { status: "success", ledger };
    const lookup = lookUpTransaction(parts, hash);
    const answer = await lookup.first();
    if (answer.status !== "NOT_FOUND") return await saidOf(hash, answer);
    if (noted === undefined) throw new GatewayError("not_found", `transaction ${hash} is not known`);
    const ofInner = await foundOfInner(hash);
    if (ofInner?.ledger !== undefined) return ofInner;
    if (noted.outcome !== undefined) return noted.outcome;
    const { validUntil } = noted;
    const isForgotten = (one: TransactionAnswer) => hasForgotten(one, validUntil);
    const isLate = (answer.latestLedgerCloseTime ?? 0) > validUntil && isForgotten(answer);
    if (!isLate && !isOver(head, validUntil, answer)) return undefined;
    const again = await lookup.again(answer, isForgotten);
    if (again.status !== "NOT_FOUND") return await saidOf(hash, again);
    if (isForgotten(again)) {
      throw new GatewayError("not_found", `transaction ${hash} is older than what the RPC node holds`);
    }
    return isOver(head, validUntil, again) ? tooLate(hash) : undefined;
  }

  /** The inner transaction of a fee bump may have been applied alone. */
  async function foundOfInner(hash: string): Promise<Outcome | undefined> {
    const inner = await submissionLog.innerOf(hash);
    if (inner === undefined) return undefined;
    return await foundOut(inner, await submissionLog.get(inner)).catch((error) => {
      if (error instanceof GatewayError && error.code === "not_found") return undefined;
      throw error;
    });
  }

  /** The outcome in an answer that finds the transaction. */
  async function saidOf(hash: string, answer: TransactionAnswer): Promise<Outcome> {
    const { envelopeXdr } = answer;
    const call = envelopeXdr === undefined ? undefined : nodeXdr("envelopeXdr", () => calledIn(envelopeXdr));
    return await outcomeOf(parts, hash, call, answer);
  }

  return {
    prepare: (source, call, widen) => prepareTransaction(parts, source, call, widen),

    async submit(envelopeXdr, onChecked, beforeNoted) {
      const envelope = checkEnvelope(envelopeXdr, {
        networkPassphrase,
        refuseCall: parts.refuseCall,
      });
      let seconds = head.networkSeconds();
      // By a clock that is behind, a good time bound seems hours away.
      if (envelope.validUntil > seconds + LONGEST_VALIDITY_SECONDS) seconds = await head.certainTime();
      requireNearBound(envelope.validUntil, seconds);
      const checked = await onChecked?.(envelope);
      // The hash does not cover the signatures: other signatures make another attempt.
      const joined = underWay.get(envelope.xdr);
      if (joined !== undefined) return await joined.finally(() => checked && recordSubmitter(envelope, checked));
      const own = submitOnce(envelope, checked, beforeNoted).finally(() => underWay.delete(envelope.xdr));
      own.then(() => parts.onEnd?.(envelope.call), (error) => parts.onEnd?.(envelope.call, error));
      underWay.set(envelope.xdr, own);
      return await own;
    },

    async status(hash, beforeNoted) {
      const noted = await submissionLog.get(hash);
      // An outcome without a ledger may be out of date: another sender may have sent it again, or the node was wrong.
      const outcome = noted?.outcome?.ledger === undefined ? await foundOut(hash, noted) : noted.outcome;
      if (outcome === undefined) return { hash, status: "pending" };
      if (outcome !== noted?.outcome) {
        await recordOutcome([hash], outcome, outcome.status === "success" ? beforeNoted?.(hash) : undefined);
      }
      return statusOf(hash, outcome);
    },

    async account(address, validUntil = Infinity) {
      if (head.networkSeconds() > validUntil && head.closeTime <= validUntil) await askNewest(parts.rpc);
      const { sequence: closedLedger, closeTime } = head;
      const { ledger, sequence } = await readAccount(parts.entries, address);
      return { ledger, sequence, closedAt: closedLedger <= ledger ? closeTime : 0 };
    },

    lookUp: (envelopes, ledger) => lookUpEnvelopes(parts, envelopes, ledger),

    async wasRejected(hash) {
      return (await submissionLog.get(hash))?.outcome?.status === "rejected";
    },
  };
}

function statusOf(hash: string, { status, ledger, error }: Outcome): TransactionStatus {
  const found: TransactionStatus = { hash, status };
  if (ledger !== undefined) found.ledger = ledger;
  if (error === undefined) return found;
  const { message, contractError, transactionError, reason, retry } = error;
  // Undefined fields are left out.
  const why = Object.entries({ contractError, transactionError, reason }).filter(([, value]) => value !== undefined);
  return { ...found, error: message, ...Object.fromEntries(why), retry };
}
