import { GatewayError } from "../../errors.ts";
import type {
  CheckedEnvelope,
  Confirmed,
  Escrow,
  PreparedRequest,
  PrepareRequest,
  SubmittedOperation,
  TransactionStatus,
} from "../../escrow/escrow.ts";
import type { TransactionIntentName } from "../../store/transaction_intent.ts";
import type { Idempotency } from "./idempotency.ts";
import { createIntentPreparer, type PrepareAnswer } from "./prepare_intent.ts";
import { createIntentSubmitter } from "./submit_intent.ts";

/** The caller of a request, and its intent. Without an idempotency key each request stands alone. */
export interface Caller {
  keyId: string;
  idempotencyKey: string | undefined;
}

/** The caller of a submit. */
export interface SubmitCaller extends Caller {
  /** Aborted when the client disconnects before the response. */
  signal: AbortSignal;
  /** As in `Transactions`. */
  beforeNoted?(confirmed: Confirmed): Promise<void>;
}

/** The steps of a write: prepare, submit, status. The client signs in between. */
export interface TransactionIntents {
  /** Prepares an operation; for an intent as in `createIntentPreparer`. */
  prepare(request: PrepareRequest, caller: Caller): Promise<PrepareAnswer>;
  /**
   * Submits a signed envelope and waits for its outcome; `note` is called with its operation before it is sent. With an
   * idempotency key the envelope is stored before it is sent. It is refused when the network could apply it beside another one
   * of the intent.
   */
  submit(xdr: string, caller: SubmitCaller, note: (what: SubmittedOperation) => void): Promise<Confirmed>;
  /** The status of a transaction. `beforeNoted`: as in `Transactions`. */
  status(hash: string, beforeNoted: (hash: string) => Promise<void>): Promise<TransactionStatus>;
}

export function createTransactionIntents({ idempotency, escrow }: {
  idempotency: Idempotency;
  escrow: Pick<Escrow, "transactions" | "describe" | "digestOf">;
}): TransactionIntents {
  const { prepare, warning, submit, status } = escrow.transactions;
  const prepareIntent = createIntentPreparer({ idempotency, escrow });
  const intents = createIntentSubmitter({ idempotency, escrow });

  async function prepareWithoutKey(request: PrepareRequest): Promise<PreparedRequest> {
    const { sinceLedger: _, ...prepared } = await prepare(request).catch(async (refusal) => {
      if (!(refusal instanceof GatewayError) || refusal.retry !== "never") throw refusal;
      // An earlier submission with an unknown outcome may be the cause: its money is spent.
      const warned = await warning(request).catch(() => undefined);
      throw warned === undefined ? refusal : refusal.saying(warned);
    });
    // Only after prepare: a submission that was applied before prepare read the sequence number was noted before that.
    const warned = await warning(request);
    const all = [warned, prepared.warning].filter((one) => one !== undefined);
    return all.length === 0 ? prepared : { ...prepared, warning: all.join("; ") };
  }

  return {
    prepare(request, caller) {
      const name = nameOf(caller);
      return name === undefined ? prepareWithoutKey(request) : prepareIntent(name, request);
    },

    async submit(xdr, caller, note) {
      const name = nameOf(caller);
      let kept: CheckedEnvelope | undefined;
      const onChecked = async (envelope: CheckedEnvelope) => {
        note(escrow.describe(envelope));
        if (name === undefined) return { isIntent: false };
        await intents.join(name, envelope);
        kept = envelope;
        return { isIntent: true };
      };
      const confirmed = await submit(xdr, onChecked, caller.beforeNoted).catch((error) => {
        if (name === undefined || kept === undefined || !(error instanceof GatewayError)) throw error;
        return intents.afterRefusal(name, kept, error);
      });
      if (name !== undefined) await intents.storeOutcome(name, kept!, confirmed.ledger);
      return confirmed;
    },

    status,
  };
}

function nameOf({ keyId, idempotencyKey }: Caller): TransactionIntentName | undefined {
  return idempotencyKey === undefined ? undefined : { keyId, key: idempotencyKey };
}
