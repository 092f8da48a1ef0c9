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
import type { Outcome } from "./submission_log.ts";
import { nodeXdr } from "./node_xdr.ts";
import { hasForgotten, isOver, outcomeOf, tooLate } from "./outcome.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import { type BuiltTransaction, type PrepareParts, prepareTransaction, readAccount, type Widen } from "./prepare.ts";
import { type LookupParts, lookUpTransaction } from "./transaction_lookup.ts";
import { sendAndConfirm, type SubmitParts } from "./submit.ts";

/** A transaction that was applied and succeeded. */
export interface Confirmed {
  hash: string;
  ledger: number;
}

/** What became of a transaction. */
export interface TransactionStatus {
  hash: string;
  /** `failed`: applied without success, or in no ledger in time. `rejected`: the network turned it down. */
  status: "pending" | "success" | "failed" | "rejected";
  ledger?: number;
  /** Why it failed or was rejected, for people. */
  error?: string;
  /** What the error of its submit says to a program: as in `GatewayError`. */
  contractError?: string;
  transactionError?: string;
  reason?: string;
  retry?: Retry;
}

/** Answers whether an intent was noted for it: then another is made in its place only with the same sequence number. */
export type OnChecked = (envelope: CheckedEnvelope) => Promise<{ isIntent: boolean }>;

export interface Transactions {
  /** Builds an unsigned envelope for one call; see `prepareTransaction`. */
  prepare(source: string, call: ContractCall, widen?: Widen): Promise<BuiltTransaction>;
  /**
   * Vets, sends and confirms a signed envelope; see `checkEnvelope` and `sendAndConfirm`. Whoever submits the same one
   * meanwhile joins; the outcome does not depend on anybody waiting for it. `onChecked` is waited for before anything is
   * sent, and nothing is when it rejects. `beforeNoted` is done before it is noted that it was applied, which it is not when
   * that rejects: from then on nobody asks what became of it.
   * @throws {GatewayError} `invalid_request` when the network rejects it for its own sake, what `explainFailure` says when
   * a contract refused it, `upstream_error` when its outcome is not known in time
   */
  submit(
    envelopeXdr: string,
    onChecked?: OnChecked,
    beforeNoted?: (confirmed: Confirmed) => Promise<void>,
  ): Promise<Confirmed>;
  /**
   * What became of a transaction: of one this gateway sent, `pending` until a ledger has closed after its time bound, and
   * told from what is noted here for as long as that is kept.
   * @param beforeNoted as with `submit`
   * @throws {GatewayError} `not_found` for a hash that neither the node nor this gateway knows
   */
  status(hash: string, beforeNoted?: (hash: string) => Promise<void>): Promise<TransactionStatus>;
  /**
   * The account, read anew. Where a time bound seems to have passed by our reckoning alone, the nodes are asked for the time of
   * their newest ledger first.
   */
  account(address: string, validUntil?: number): Promise<AccountAsOf>;
  /** See `lookUpEnvelopes`. */
  lookUp(envelopes: { hash: string; sinceLedger?: number }[], ledger: number): Promise<LookedUpEnvelopes>;
  /** Whether the last time that this transaction was sent from here, the network turned it down. */
  wasRejected(hash: string): Promise<boolean>;
}

/** An account as of one ledger. */
export interface AccountAsOf {
  ledger: number;
  /** The last number that it used; undefined: there is no such account. */
  sequence: bigint | undefined;
  /** When a ledger not above `ledger` closed, Unix seconds; 0: none is known. */
  closedAt: number;
}

export interface TransactionsParts extends PrepareParts, SubmitParts, LookupParts {
  /** Why this call may not be submitted, undefined when it may. */
  refuseCall(call: ContractCall): string | undefined;
  /** Told how a call that was submitted ended; without an error when it was applied. Must not throw. */
  onEnd?(call: ContractCall, error?: unknown): void;
  /** Told of what an operator should know. */
  onProblem?(message: string): void;
}

/** Writing to the network: prepare, submit, and what became of it. */
export function createTransactions(parts: TransactionsParts): Transactions {
  const { head, submissionLog, networkPassphrase, onProblem } = parts;
  const underWay = new Map<string, Promise<Confirmed>>();

  async function submitOnce(
    envelope: CheckedEnvelope,
    isIntent?: boolean,
    beforeNoted?: (confirmed: Confirmed) => Promise<void>,
  ): Promise<Confirmed> {
    const { hash, innerHash } = envelope;
    const inner = innerHash === hash ? undefined : await submissionLog.get(innerHash);
    const outcome = await sendAndConfirm(parts, envelope, isIntent);
    // That the network would not take a fee bump says nothing of its inner transaction, where that was sent by itself before.
    const isOfBoth = outcome.ledger !== undefined || inner === undefined || inner.outcome !== undefined;
    const hashes = isOfBoth ? new Set([hash, innerHash]) : [hash];
    if (outcome.status === "success") {
      const confirmed = { hash, ledger: outcome.ledger! };
      // Nobody waits for a success to be noted: the node says the same.
      void recordOutcome(hashes, outcome, beforeNoted?.(confirmed));
      return confirmed;
    }
    await recordOutcome(hashes, outcome);
    throw outcome.error;
  }

  /** Never rejects: what can't be noted, or what comes `before` that fails, will be found out again. */
  async function recordOutcome(hashes: Iterable<string>, outcome: Outcome, before?: Promise<void>): Promise<void> {
    try {
      await before;
      await Promise.all([...hashes].map((hash) => submissionLog.recordOutcome(hash, outcome)));
    } catch (error) {
      onProblem?.(`the outcome of a transaction could not be noted: ${(error as Error).message}`);
    }
  }

  /** What the network and the log know, undefined while it may still be applied. @throws {GatewayError} `not_found` */
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

  /** The inner transaction of a fee bump may have been applied by itself. */
  async function foundOfInner(hash: string): Promise<Outcome | undefined> {
    const inner = await submissionLog.innerOf(hash);
    if (inner === undefined) return undefined;
    return await foundOut(inner, await submissionLog.get(inner)).catch((error) => {
      if (error instanceof GatewayError && error.code === "not_found") return undefined;
      throw error;
    });
  }

  /** The outcome that an answer speaks of which finds the transaction. */
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
      // By a clock that is behind, a good time bound would seem to be hours away.
      if (envelope.validUntil > seconds + LONGEST_VALIDITY_SECONDS) seconds = await head.certainTime();
      requireNearBound(envelope.validUntil, seconds);
      const told = await onChecked?.(envelope);
      // The signatures are no part of the hash: another set of them is another attempt.
      const joined = underWay.get(envelope.xdr);
      if (joined !== undefined) return await joined;
      const own = submitOnce(envelope, told?.isIntent, beforeNoted).finally(() => underWay.delete(envelope.xdr));
      own.then(() => parts.onEnd?.(envelope.call), (error) => parts.onEnd?.(envelope.call, error));
      underWay.set(envelope.xdr, own);
      return await own;
    },

    async status(hash, beforeNoted) {
      const noted = await submissionLog.get(hash);
      // Where it was in no ledger one may know better: it may have been sent again elsewhere, or the node was wrong.
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
  const told: TransactionStatus = { hash, status };
  if (ledger !== undefined) told.ledger = ledger;
  if (error === undefined) return told;
  const { message, contractError, transactionError, reason, retry } = error;
  // What is undefined is left out.
  const why = Object.entries({ contractError, transactionError, reason }).filter(([, value]) => value !== undefined);
  return { ...told, error: message, ...Object.fromEntries(why), retry };
}
