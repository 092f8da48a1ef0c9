import { GatewayError } from "../../errors.ts";
import type { CheckedEnvelope, Confirmed, Escrow } from "../../escrow/escrow.ts";
import type { TransactionIntent, TransactionIntentName } from "../../store/transaction_intent.ts";
import type { Idempotency } from "./idempotency.ts";
import { withBrought, withOutcome, withoutEnvelopes } from "./intent.ts";
import { anotherRequest, anotherTransaction, refusedMeanwhile, waitForBounds } from "./intent_errors.ts";

/** The steps for an intent before and after its envelope is sent. */
export interface SubmitIntent {
  /** Stores an envelope before it is sent. @throws {GatewayError} when it must not be sent for this intent */
  join(name: TransactionIntentName, envelope: CheckedEnvelope): Promise<void>;
  /** Stores the outcome of an applied envelope, before the response. */
  storeOutcome(name: TransactionIntentName, envelope: CheckedEnvelope, ledger: number): Promise<void>;
  /**
   * Runs the rule again before a refusal is returned: the network may have applied another envelope, or this one after all.
   * @throws {GatewayError} the refusal for the client
   */
  afterRefusal(name: TransactionIntentName, envelope: CheckedEnvelope, refusal: GatewayError): Promise<Confirmed>;
}

export function createIntentSubmitter({ idempotency, escrow }: {
  idempotency: Idempotency;
  escrow: Pick<Escrow, "transactions" | "digestOf">;
}): SubmitIntent {
  const { account, wasRejected } = escrow.transactions;
  const { read, judge, commit, repeat } = idempotency;

  return {
    async join(name, envelope) {
      const { innerHash: hash, source, validUntil, unsigned: bytes } = envelope;
      const [request, sequence] = [escrow.digestOf(envelope), envelope.sequence.toString()];
      await repeat(async () => {
        const seen = await read(name);
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
        return await commit(judged, next) ? { is: undefined } : undefined;
      });
    },

    async storeOutcome(name, { innerHash, unsigned }, ledger) {
      await repeat(async () => {
        const seen = await read(name);
        if (seen === undefined || seen.outcome !== undefined) return { is: undefined };
        const intent = withOutcome(seen, { outcome: { hash: innerHash, ledger }, envelope: unsigned });
        return await commit({ name, seen }, intent) ? { is: undefined } : undefined;
      });
    },

    async afterRefusal(name, { innerHash, hash, source }, refusal) {
      const isRejected = await wasRejected(innerHash);
      if (refusal.retry === "same" && !isRejected) throw refusal;
      return await repeat(async () => {
        const seen = await read(name);
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
        if (other !== undefined && !isRejected && refusal.retry === "never") {
          throw refusedMeanwhile(other.hash, refusal);
        }
        throw refusal;
      });
    },
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
