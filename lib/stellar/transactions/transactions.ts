import { GatewayError } from "../../errors.ts";
import type { ContractCall } from "./contract_call.ts";
import { calledIn, vetEnvelope, type VettedEnvelope } from "./envelope.ts";
import { believed } from "../ledger/freshness.ts";
import { nodeXdr } from "./node_xdr.ts";
import { type Confirmed, failureError } from "./outcome.ts";
import { type PreparedTransaction, type PrepareParts, prepareTransaction, type Widen } from "./prepare.ts";
import { sendAndConfirm, type SubmitParts } from "./submit.ts";

/** What became of a transaction. */
export interface TransactionStatus {
  hash: string;
  status: "pending" | "success" | "failed";
  ledger?: number;
  /** Why it failed. */
  error?: string;
}

export interface Transactions {
  /** Builds an unsigned envelope for one call; see `prepareTransaction`. */
  prepare(source: string, call: ContractCall, widen?: Widen): Promise<PreparedTransaction>;
  /**
   * Vets, sends and confirms a signed envelope; see `vetEnvelope` and `sendAndConfirm`. Whoever submits the same one
   * meanwhile joins; the outcome does not depend on anybody waiting for it. `onVetted` is told before anything is sent.
   */
  submit(envelopeXdr: string, onVetted?: (envelope: VettedEnvelope) => void): Promise<Confirmed>;
  /**
   * What became of a transaction: of one this gateway sent, `pending` until a ledger has closed after its time bound.
   * @throws {GatewayError} `not_found` for a hash that neither the node nor this gateway knows
   */
  status(hash: string): Promise<TransactionStatus>;
}

export interface TransactionsParts extends PrepareParts, SubmitParts {
  /** Why this call may not be submitted, undefined when it may. */
  refuseCall(call: ContractCall): string | undefined;
  /** The note of an envelope this gateway sent, undefined when it did not. */
  getSubmission(hash: string): Promise<{ validUntil: number } | undefined>;
  /** Told how a call that was submitted ended; without an error when it was applied. Must not throw. */
  onEnd?(call: ContractCall, error?: unknown): void;
}

/** Writing to the network: prepare, submit, and what became of it. */
export function createTransactions(parts: TransactionsParts): Transactions {
  const { rpc, networkPassphrase } = parts;
  const underWay = new Map<string, Promise<Confirmed>>();

  return {
    prepare: (source, call, widen) => prepareTransaction(parts, source, call, widen),

    submit(envelopeXdr, onVetted) {
      return Promise.try(() => {
        const envelope = vetEnvelope(envelopeXdr, {
          networkPassphrase,
          nowSeconds: parts.view.networkSeconds(),
          refuseCall: parts.refuseCall,
        });
        onVetted?.(envelope);
        // The signatures are no part of the hash: another set of them is another attempt.
        const joined = underWay.get(envelope.xdr);
        if (joined !== undefined) return joined;
        const own = sendAndConfirm(parts, envelope).finally(() => underWay.delete(envelope.xdr));
        own.then(() => parts.onEnd?.(envelope.call), (error) => parts.onEnd?.(envelope.call, error));
        underWay.set(envelope.xdr, own);
        return own;
      });
    },

    async status(hash) {
      const answer = await believed(parts, () => rpc.getTransaction(hash));
      if (answer.status === "SUCCESS") return { hash, status: "success", ledger: answer.ledger! };
      if (answer.status === "FAILED") {
        const { envelopeXdr } = answer;
        const call = envelopeXdr === undefined ? undefined : nodeXdr("envelopeXdr", () => calledIn(envelopeXdr));
        const error = await failureError(parts, hash, call, answer);
        return { hash, status: "failed", ledger: answer.ledger!, error: error.message };
      }
      const note = await parts.getSubmission(hash);
      if (note === undefined) throw new GatewayError("not_found", `transaction ${hash} is not known`);
      if ((answer.oldestLedgerCloseTime ?? 0) > note.validUntil) {
        throw new GatewayError("not_found", `transaction ${hash} is older than what the RPC node holds`);
      }
      // Not by the close time that this answer says: what may still be applied is not called failed on one answer's word.
      if (parts.view.confirmed.closeTime <= note.validUntil) return { hash, status: "pending" };
      return { hash, status: "failed", error: "txTooLate: no ledger took it in before its time bound" };
    },
  };
}
