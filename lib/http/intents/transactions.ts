import { createHash } from "node:crypto";
import { GatewayError } from "../../errors.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import type { Confirmed, Escrow, Fate, HandedOut, SubmittedOperation, TransactionStatus } from "../../escrow/escrow.ts";
import type { PreparedRequest, PrepareRequest } from "../../escrow/operations/prepare_operation.ts";
import type { IntentName } from "../../store/intent.ts";
import type { Once, Task } from "./once.ts";

/** Who asks, and for which intent; without a key every request is one of its own. */
export interface Asker {
  keyId: string;
  idempotencyKey: string | undefined;
}

/** Who submits. */
export interface Submitter extends Asker {
  /** Aborted when the caller leaves before the answer. */
  signal: AbortSignal;
}

export type PrepareAnswer = PreparedRequest & {
  /** Only for an intent that is done already. */
  status?: "success";
};

/** The three steps of a write, of which the second (signing) happens elsewhere. */
export interface TransactionIntents {
  /**
   * Prepares an operation. For an intent: the envelope of before, byte for byte, for as long as it may be applied and once
   * it was; a fresh one when it never will be.
   */
  prepare(request: PrepareRequest, asker: Asker): Promise<PrepareAnswer>;
  /**
   * Submits a signed envelope and waits for its outcome; `note` is told what it is before it is sent. An intent is one
   * transaction: another is refused for as long as the first may be applied, and once it was.
   */
  submit(xdr: string, asker: Submitter, note: (what: SubmittedOperation) => void): Promise<Confirmed>;
  status(hash: string): Promise<TransactionStatus>;
}

/** What is kept of a prepare. */
interface PrepareResult {
  /** As it was answered. */
  answer: PreparedRequest;
  applied: boolean;
  /** As in `HandedOut`; absent in what a program before this one kept. */
  sinceLedger?: number;
}

/** What is kept of a submit: the transaction that it is about. `sinceLedger` as in `PrepareResult`. */
type SubmitResult = Omit<HandedOut, "sequence"> & { sequence: string };

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export function createTransactionIntents({ once, escrow }: {
  once: Once;
  escrow: Pick<Escrow, "transactions" | "describe">;
}): TransactionIntents {
  const { prepare, warning, submit, status, fate, handedOut, confirmedLedger } = escrow.transactions;

  function prepareTask(request: PrepareRequest): Task<PrepareAnswer> {
    /** An envelope that the network turned down: another takes its place only with the same sequence number. */
    let refused: HandedOut | undefined;
    return {
      request: sha256(JSON.stringify(request)),
      async repeat(result) {
        const kept: PrepareResult = JSON.parse(result);
        const { answer, applied, sinceLedger } = kept;
        const done: PrepareAnswer = { ...answer, status: "success" };
        if (applied) return { answer: done };
        const envelope = handedOut(answer.xdr, sinceLedger);
        const found = await fate(envelope);
        refused = found === "refused" ? envelope : undefined;
        if (found === "open") return { answer };
        return found === "applied" ? { answer: done, result: keptPrepare({ ...kept, applied: true }) } : undefined;
      },
      givesWay: (result) => result === undefined,
      async work() {
        const sinceLedger = await confirmedLedger();
        const answer = await prepare(request);
        // It was taken in after all, or its number was: then what it came to is looked at again.
        const isInItsPlace = refused === undefined ||
          handedOut(answer.xdr, sinceLedger).sequence === refused.sequence;
        return isInItsPlace ? { answer, result: keptPrepare({ answer, applied: false, sinceLedger }) } : undefined;
      },
    };
  }

  /** Takes the key for this transaction. What it came to is told by `submit`, however often. */
  function submitTask(envelope: HandedOut): Task<void> {
    return {
      request: envelope.hash,
      repeat: () => Promise.resolve({ answer: undefined }),
      async givesWay(result) {
        if (result === undefined) return true;
        const { sequence, ...former }: SubmitResult = JSON.parse(result);
        const found = await fate({ ...former, sequence: BigInt(sequence) });
        const isInItsPlace = former.source === envelope.source && BigInt(sequence) === envelope.sequence;
        if (found === "over" || (found === "refused" && isInItsPlace)) return true;
        throw anotherTransaction(former.hash, found);
      },
      work() {
        const result: SubmitResult = { ...envelope, sequence: envelope.sequence.toString() };
        return Promise.resolve({ answer: undefined, result: JSON.stringify(result) });
      },
    };
  }

  return {
    async prepare(request, asker) {
      const name = nameOf(asker, "prepare");
      if (name !== undefined) return await once(name, prepareTask(request));
      const [prepared, warned] = await Promise.all([prepare(request), warning(request)]);
      const all = [warned, prepared.warning].filter((one) => one !== undefined);
      return all.length === 0 ? prepared : { ...prepared, warning: all.join("; ") };
    },

    submit: (xdr, asker, note) =>
      submit(xdr, async (envelope) => {
        note(escrow.describe(envelope));
        const name = nameOf(asker, "submit");
        if (name === undefined) return;
        const { innerHash, source, sequence, validUntil } = envelope;
        const sinceLedger = await confirmedLedger();
        await once(name, submitTask({ hash: innerHash, source, sequence, validUntil, sinceLedger }));
      }),

    status,
  };
}

function nameOf({ keyId, idempotencyKey }: Asker, kind: IntentName["kind"]): IntentName | undefined {
  return idempotencyKey === undefined ? undefined : { keyId, kind, key: idempotencyKey };
}

/** Whoever has signed what an earlier prepare answered is led back to what the latest one does. */
function anotherTransaction(hash: string, fate: Fate): GatewayError {
  const what = fate === "applied" ? "which was applied" : "which may still be applied";
  return new GatewayError(
    "invalid_request",
    `this ${IDEMPOTENCY_KEY} was used for transaction ${hash}, ${what}: prepare again with the same key to see what is left to do`,
    { param: IDEMPOTENCY_KEY, retry: "prepare_again" },
  );
}

function keptPrepare(result: PrepareResult): string {
  return JSON.stringify(result);
}
