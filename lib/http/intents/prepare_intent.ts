import { Buffer } from "node:buffer";
import { GatewayError } from "../../errors.ts";
import type { BuiltRequest, Escrow, PreparedRequest, PrepareRequest } from "../../escrow/escrow.ts";
import type {
  KeptTransactionIntent,
  TransactionIntent,
  TransactionIntentName,
} from "../../store/transaction_intent.ts";
import type { Idempotency } from "./idempotency.ts";
import { type NewEnvelope, withoutEnvelopes, withPrepared } from "./intent.ts";
import { anotherRequest, refusedMeanwhile, waitForBounds } from "./intent_errors.ts";

/** For a completed intent it has `status` and `ledger`, and no envelope when its bytes are no longer stored. */
export type PrepareAnswer =
  | PreparedRequest & {
    status?: "success";
    ledger?: number;
    /** The replaced transaction. The network may still apply it, but at most one of the two. */
    replaces?: string;
  }
  | { hash: string; status: "success"; ledger: number };

export type PrepareIntent = (name: TransactionIntentName, request: PrepareRequest) => Promise<PrepareAnswer>;

/**
 * Prepares an operation for an intent. The envelope is the same, byte for byte, while the network may apply it and after that.
 * A rejected envelope gets a replacement with the same sequence number. A fresh envelope comes when all are dead.
 */
export function createIntentPreparer({ idempotency, escrow }: {
  idempotency: Idempotency;
  escrow: Pick<Escrow, "transactions" | "digestOf">;
}): PrepareIntent {
  const { prepare, preparedOf } = escrow.transactions;
  const { read, judge, commit, noteUse, repeat } = idempotency;

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

  function builtEnvelope({ sinceLedger: _, ...built }: BuiltRequest, request: PrepareRequest): NewEnvelope {
    const bytes = new Uint8Array(Buffer.from(built.xdr, "base64"));
    const { hash, validUntil, warning } = built;
    return { hash, validUntil, bytes, warning, sequence: preparedOf(bytes, request).sequence };
  }

  /** @throws {GatewayError} when the request differs from the intent's */
  function requireSame(
    { key }: TransactionIntentName,
    seen: KeptTransactionIntent | undefined,
    request: PrepareRequest,
  ) {
    if (seen === undefined) return;
    if (seen.request !== escrow.digestOf(request)) throw anotherRequest(key);
    const { operation } = request;
    if (operation.kind !== "authorize" || operation.nonce === undefined || seen.envelope.length === 0) return;
    const { operation: prepared } = preparedOf(seen.envelope, request).answer;
    if (prepared.kind === "authorize" && prepared.nonce !== operation.nonce) throw anotherRequest(key);
  }

  return async function prepareIntent(name, request) {
    /** Why no envelope can be built. It is thrown only after the rule has run again. */
    let refusal: GatewayError | undefined;
    return await repeat<PrepareAnswer>(async () => {
      const seen = await read(name);
      requireSame(name, seen, request);
      const judged = await judge(name, seen, request.source);
      if (judged === undefined) return undefined;
      const { verdict } = judged;
      if (verdict.kind === "wait") throw waitForBounds(verdict.live[0]!.hash);
      if (verdict.kind === "outcome" || verdict.kind === "again") {
        await noteUse(judged);
        const answer = verdict.kind === "again" ? answerOf(seen!, request) : doneAnswer(judged.seen!, request);
        return { is: answer };
      }
      if (refusal !== undefined) {
        if (verdict.kind === "replace") throw refusedMeanwhile(verdict.live[0]!.hash, refusal);
        if (seen !== undefined && !await commit(judged, withoutEnvelopes(seen))) return undefined;
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
      const next = withPrepared(escrow.digestOf(request), { live }, envelope, built.sinceLedger);
      return await commit(judged, next) ? { is: answerOf(next, request) } : undefined;
    });
  };
}
