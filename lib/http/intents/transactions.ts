import { Buffer } from "node:buffer";
import { GatewayError } from "../../errors.ts";
import type {
  BuiltRequest,
  CheckedEnvelope,
  Confirmed,
  Escrow,
  PreparedRequest,
  PrepareRequest,
  SubmittedOperation,
} from "../../escrow/escrow.ts";
import type { GivenReference } from "../../store/reference.ts";
import type {
  KeptTransactionIntent,
  TransactionIntent,
  TransactionIntentName,
} from "../../store/transaction_intent.ts";
import type { Idempotency } from "./idempotency.ts";
import { type NewEnvelope, withBrought, withOutcome, withoutEnvelopes, withPrepared } from "./intent.ts";
import { anotherRequest, anotherTransaction, refusedMeanwhile, waitForBounds } from "./intent_errors.ts";

/** The caller of a request, and its intent. Without an idempotency key each request stands alone. */
export interface Caller {
  keyId: string;
  idempotencyKey: string | undefined;
}

/** The caller of a prepare. */
export interface PrepareCaller extends Caller {
  /** The client's own name of the transaction. */
  reference?: string;
}

/** The caller of a submit. */
export interface SubmitCaller extends Caller {
  /** Aborted when the client disconnects before the response. */
  signal: AbortSignal;
  /** As in `Transactions`. */
  beforeNoted?(confirmed: Confirmed): Promise<void>;
}

/** For a completed intent it has `status` and `ledger`, and no envelope when its bytes are no longer stored. */
export type PrepareAnswer =
  | PreparedRequest & {
    status?: "success";
    ledger?: number;
    /** The replaced transaction. The network may still apply it, but at most one of the two. */
    replaces?: string;
  }
  | { hash: string; status: "success"; ledger: number };

/**
 * Prepares an operation. For an intent the envelope is the same, byte for byte, while the network may apply it and after that. A
 * rejected envelope gets a replacement with the same sequence number. A fresh envelope comes when all are dead.
 */
export type Prepare = (request: PrepareRequest, caller: PrepareCaller) => Promise<PrepareAnswer>;

/**
 * Submits a signed envelope and waits for its outcome; `note` is called with its operation before it is sent. For an intent the
 * envelope is stored before it is sent, and its outcome before the response. It is refused when the network could apply it beside
 * another one of the intent.
 */
export type Submit = (
  xdr: string,
  caller: SubmitCaller,
  note: (what: SubmittedOperation) => void,
) => Promise<Confirmed>;

interface Parts {
  idempotency: Idempotency;
  escrow: Pick<Escrow, "transactions" | "describe" | "digestOf">;
  /** Stores the caller's reference of a transaction, before the client has its envelope. */
  nameTransaction(named: Omit<GivenReference, "preparedAtMs">): Promise<void>;
}

function nameOf({ keyId, idempotencyKey }: Caller): TransactionIntentName | undefined {
  return idempotencyKey === undefined ? undefined : { keyId, key: idempotencyKey };
}

export function createPrepare({ idempotency, escrow, nameTransaction }: Parts): Prepare {
  const { prepare, preparedOf, warning } = escrow.transactions;

  async function prepareAlone(
    request: PrepareRequest,
    { keyId, reference }: PrepareCaller,
  ): Promise<PreparedRequest> {
    const { sinceLedger: _, ...prepared } = await prepare(request).catch(async (refusal) => {
      if (!(refusal instanceof GatewayError) || refusal.retry !== "never") throw refusal;
      // An earlier submission with an unknown outcome may be the cause: its money is spent.
      const warned = await warning(request).catch(() => undefined);
      throw warned === undefined ? refusal : refusal.saying(warned);
    });
    if (reference !== undefined) await nameTransaction({ hash: prepared.hash, keyId, reference });
    // Only after prepare: a submission that was applied before prepare read the sequence number was noted before that.
    const warned = await warning(request);
    const all = [warned, prepared.warning].filter((one) => one !== undefined);
    return all.length === 0 ? prepared : { ...prepared, warning: all.join("; ") };
  }

  /** The response with the newest envelope, always the same. */
  function answerOf({ envelope, envelopes: [, former], warning }: TransactionIntent, request: PrepareRequest) {
    const { answer } = preparedOf(envelope, request);
    return {
      ...answer,
      ...(warning === undefined ? {} : { warning }),
      ...(former === undefined ? {} : { replaces: former.hash }),
    };
  }

  function doneAnswer(intent: TransactionIntent, request: PrepareRequest): PrepareAnswer {
    const { outcome, envelope } = intent;
    const { hash, ledger } = outcome!;
    const { replaces: _, ...answer } = envelope.length === 0 ? { hash: "" } : answerOf(intent, request);
    return answer.hash === hash
      ? { ...answer as PreparedRequest, status: "success", ledger }
      : { hash, status: "success", ledger };
  }

  function builtEnvelope({ hash, validUntil, warning, xdr }: BuiltRequest, request: PrepareRequest): NewEnvelope {
    const bytes = new Uint8Array(Buffer.from(xdr, "base64"));
    return { hash, validUntil, bytes, warning, sequence: preparedOf(bytes, request).sequence };
  }

  /** @throws {GatewayError} when the request differs from the intent's */
  function requireSame(
    { key }: TransactionIntentName,
    seen: KeptTransactionIntent,
    request: PrepareRequest,
    reference: string | undefined,
  ): void {
    if (seen.request !== escrow.digestOf(request) || seen.reference !== reference) throw anotherRequest(key);
    const { operation } = request;
    if (operation.kind !== "authorize" || operation.nonce === undefined || seen.envelope.length === 0) return;
    const { operation: prepared } = preparedOf(seen.envelope, request).answer;
    if (prepared.kind === "authorize" && prepared.nonce !== operation.nonce) throw anotherRequest(key);
  }

  return function prepareFor(request, caller) {
    const name = nameOf(caller);
    if (name === undefined) return prepareAlone(request, caller);
    const { keyId, reference } = caller;
    /** Why no envelope can be built. It is thrown only after the rule has run again. */
    let refusal: GatewayError | undefined;
    return idempotency.repeat<PrepareAnswer>(name, async (seen) => {
      if (seen !== undefined) requireSame(name, seen, request, reference);
      const judged = await idempotency.judge(name, seen, request.source);
      if (judged === undefined) return undefined;
      const { verdict } = judged;
      if (verdict.kind === "wait") throw waitForBounds(verdict.live[0]!.hash);
      if (verdict.kind === "outcome" || verdict.kind === "again") {
        await idempotency.noteUse(judged);
        return { is: verdict.kind === "again" ? answerOf(seen!, request) : doneAnswer(judged.seen!, request) };
      }
      if (refusal !== undefined) {
        if (verdict.kind === "replace") throw refusedMeanwhile(verdict.live[0]!.hash, refusal);
        if (seen !== undefined && !await idempotency.commit(judged, withoutEnvelopes(seen))) return undefined;
        throw refusal;
      }
      const built = await prepare(request).catch((error) => {
        if (!(error instanceof GatewayError) || error.retry === "same") throw error;
        refusal = error;
      });
      if (built === undefined) return undefined;
      const envelope = builtEnvelope(built, request);
      const live = verdict.kind === "replace" ? verdict.live : [];
      // The number was used meanwhile.
      if (live.length > 0 && envelope.sequence !== seen!.sequence) return undefined;
      const next = { ...withPrepared(escrow.digestOf(request), { live }, envelope, built.sinceLedger), reference };
      if (reference !== undefined) await nameTransaction({ hash: envelope.hash, keyId, reference });
      return await idempotency.commit(judged, next) ? { is: answerOf(next, request) } : undefined;
    });
  };
}

export function createSubmit({ idempotency, escrow, nameTransaction }: Parts): Submit {
  const { submit, account, wasRejected } = escrow.transactions;
  const { judge, commit, repeat } = idempotency;

  /** Stores an envelope before it is sent. @throws {GatewayError} when it must not be sent for this intent */
  async function join(name: TransactionIntentName, envelope: CheckedEnvelope): Promise<void> {
    const { innerHash: hash, source, validUntil, unsigned: bytes } = envelope;
    const [request, sequence] = [escrow.digestOf(envelope), envelope.sequence.toString()];
    await repeat(name, async (seen) => {
      if (seen?.outcome?.hash === hash || seen?.envelopes.some((one) => one.hash === hash)) return { is: undefined };
      if (seen !== undefined && seen.request !== request) throw anotherOperation(name, seen);
      const asOf = await account(source, seen?.envelopes[0]?.validUntil);
      const judged = await judge(name, seen, source, { account: asOf });
      if (judged === undefined) return undefined;
      const { verdict } = judged;
      if (verdict.kind === "outcome") {
        if (verdict.outcome.hash === hash) return { is: undefined };
        throw anotherTransaction(verdict.outcome.hash, true);
      }
      const next = withBrought(request, seen, verdict, { hash, sequence, validUntil, bytes }, asOf);
      if (next === "dead") return { is: undefined };
      if (next === "refused") throw anotherTransaction(seen!.envelopes[0]!.hash, false);
      if (next === "full") throw waitForBounds(seen!.envelopes[0]!.hash);
      const reference = seen?.reference;
      if (reference !== undefined) await nameTransaction({ hash, keyId: name.keyId, reference });
      return await commit(judged, { ...next, reference }) ? { is: undefined } : undefined;
    });
  }

  /**
   * Runs the rule again before a refusal is returned: the network may have applied another envelope, or this one after all.
   * @throws {GatewayError} the refusal for the client
   */
  async function afterRefusal(
    name: TransactionIntentName,
    { innerHash, hash, source }: CheckedEnvelope,
    refusal: GatewayError,
  ): Promise<Confirmed> {
    const isRejected = await wasRejected(innerHash);
    if (refusal.retry === "same" && !isRejected) throw refusal;
    return await repeat(name, async (seen) => {
      if (seen === undefined) throw refusal;
      const judged = await judge(name, seen, source);
      if (judged === undefined) return undefined;
      const { verdict } = judged;
      if (verdict.kind === "outcome") {
        const { hash: applied, ledger } = verdict.outcome;
        if (applied !== innerHash) throw anotherTransaction(applied, true);
        return { is: { hash, ledger } };
      }
      const isNewest = seen.envelopes[0]?.hash === innerHash;
      const next = verdict.kind === "fresh"
        ? withoutEnvelopes(seen)
        : { ...seen, isRejected: seen.isRejected || (isRejected && isNewest) };
      if (!await commit(judged, next)) return undefined;
      const other = verdict.kind === "fresh" ? undefined : verdict.live.find((one) => one.hash !== innerHash);
      if (other !== undefined && !isRejected && refusal.retry === "never") throw refusedMeanwhile(other.hash, refusal);
      throw refusal;
    });
  }

  return async function submitFor(xdr, caller, note) {
    const name = nameOf(caller);
    let joined: CheckedEnvelope | undefined;
    const onChecked = async (envelope: CheckedEnvelope) => {
      const operation = escrow.describe(envelope);
      note(operation);
      const { keyId, idempotencyKey } = caller;
      const submitter = { keyId, kind: operation.kind!, idempotencyKey };
      if (name === undefined) return { isIntent: false, submitter };
      await join(name, envelope);
      joined = envelope;
      return { isIntent: true, submitter };
    };
    const confirmed = await submit(xdr, onChecked, caller.beforeNoted).catch((error) => {
      if (joined === undefined || !(error instanceof GatewayError)) throw error;
      return afterRefusal(name!, joined, error);
    });
    if (joined === undefined) return confirmed;
    const outcome = { outcome: { hash: joined.innerHash, ledger: confirmed.ledger }, envelope: joined.unsigned };
    await repeat(name!, async (seen) => {
      if (seen === undefined || seen.outcome !== undefined) return { is: undefined };
      return await commit({ name: name!, seen }, withOutcome(seen, outcome)) ? { is: undefined } : undefined;
    });
    return confirmed;
  };
}

/** The client submits another operation than the intent's. */
function anotherOperation(
  { key }: TransactionIntentName,
  { outcome, envelopes: [newest] }: TransactionIntent,
): GatewayError {
  if (outcome !== undefined) return anotherTransaction(outcome.hash, true);
  return newest === undefined ? anotherRequest(key) : anotherTransaction(newest.hash, false);
}
