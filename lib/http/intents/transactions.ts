import { createHash } from "node:crypto";
import { GatewayError } from "../../errors.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import type { Confirmed, Escrow, Fate, HandedOut, SubmittedOperation, TransactionStatus } from "../../escrow/escrow.ts";
import type { PreparedRequest, PrepareRequest } from "../../escrow/operations/prepare_operation.ts";
import type { IntentName } from "../../store/intent.ts";
import type { Once, Task } from "./once.ts";
import { fromText, isDeflated, toText } from "./result_text.ts";

/** Who asks, and for which intent; without a key every request is one of its own. */
export interface Asker {
  keyId: string;
  idempotencyKey: string | undefined;
}

/** Who submits. */
export interface Submitter extends Asker {
  /** Aborted when the caller leaves before the answer. */
  signal: AbortSignal;
  /** As in `Transactions`. */
  beforeNoted?(confirmed: Confirmed): Promise<void>;
}

export type PrepareAnswer = PreparedRequest & {
  /** Only for an intent that is done already. */
  status?: "success";
  /** The transaction that the network has turned down, in whose place this is; it may be applied all the same. */
  inPlaceOf?: string;
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
   * transaction: another is refused for as long as the first may be applied, and once it was. Not where only one of the two
   * can be, as both use one sequence number, and the first was turned down, or the other does the same.
   */
  submit(xdr: string, asker: Submitter, note: (what: SubmittedOperation) => void): Promise<Confirmed>;
  /** What became of a transaction. `beforeNoted`: as in `Transactions`. */
  status(hash: string, beforeNoted: (hash: string) => Promise<void>): Promise<TransactionStatus>;
}

/** What was answered to a prepare. */
interface Prepared {
  answer: PreparedRequest;
  /** As in `HandedOut`; absent in what a program before this one kept. */
  sinceLedger?: number;
}

/** What is kept of a prepare. */
interface PrepareResult extends Prepared {
  applied: boolean;
  /**
   * What the network had turned down, the latest first, before this was made in its place: with the same sequence number,
   * for a node that did not tell may have taken it in all the same.
   */
  inPlaceOf?: Prepared[];
}

/** What is kept of a transaction that a submit is about. `sinceLedger` as in `Prepared`. */
interface Submitted extends Omit<HandedOut, "sequence"> {
  sequence: string;
  /** Alike for two that do the same; absent in what a program before this one kept. */
  operation?: string;
}

/** What is kept of a submit; `inPlaceOf` as in `PrepareResult`. */
type SubmitResult = Submitted & { inPlaceOf?: Submitted[] };

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export function createTransactionIntents({ once, escrow }: {
  once: Once;
  escrow: Pick<Escrow, "transactions" | "describe" | "digestOf">;
}): TransactionIntents {
  const { prepare, warning, submit, status, fate, handedOut, confirmedLedger } = escrow.transactions;

  /**
   * What can still become of envelopes with one sequence number, the latest first: those before it were turned down, and
   * each may be in a ledger when the latest is not. `at`: which one it is that was applied; that is told also when of
   * others nobody can tell any more, and where the latest looks open still, to a node that is behind.
   */
  async function fateOfAny(envelopes: HandedOut[]): Promise<{ found: Fate; at: number }> {
    const all = await Promise.allSettled(envelopes.map(fate));
    const applied = all.findIndex((one) => one.status === "fulfilled" && one.value === "applied");
    if (applied >= 0) return { found: "applied", at: applied };
    for (const one of all) {
      if (one.status === "rejected") throw one.reason;
      if (one.value !== "over") return { found: one.value, at: 0 };
    }
    return { found: "over", at: 0 };
  }

  function prepareTask(request: PrepareRequest): Task<PrepareAnswer> {
    /** Envelopes that the network turned down, the latest first: another takes its place only with the same sequence number. */
    let refused: Prepared[] = [];
    const envelopeOf = ({ answer, sinceLedger }: Prepared) => handedOut(answer.xdr, sinceLedger);
    const withFormer = (answer: PreparedRequest, [former]: Prepared[]): PrepareAnswer =>
      former === undefined || former.answer.hash === answer.hash
        ? answer
        : { ...answer, inPlaceOf: former.answer.hash };
    return {
      request: sha256(JSON.stringify(request)),
      async repeat(result) {
        const { applied, inPlaceOf = [], ...latest } = fromText<PrepareResult>(result);
        const done = ({ answer }: Prepared): PrepareAnswer => ({ ...answer, status: "success" });
        if (applied) return { answer: done(latest) };
        const all = [latest, ...inPlaceOf];
        const { found, at } = await fateOfAny(all.map(envelopeOf));
        refused = found === "refused" ? all : [];
        if (found === "open") return { answer: withFormer(latest.answer, inPlaceOf) };
        const one = all[at]!;
        return found === "applied" ? { answer: done(one), result: kept({ ...one, applied: true }) } : undefined;
      },
      givesWay: (result) => result === undefined,
      async work() {
        const sinceLedger = await confirmedLedger();
        const answer = await prepare(request).catch(async (refusal) => {
          const [latest] = refused;
          if (latest === undefined) throw refusal;
          // What was turned down may have been applied just then, and this be refused because it was.
          if ((await fateOfAny(refused.map(envelopeOf))).found !== "refused") return undefined;
          // Or it is applied yet: that another would be refused now is not its end.
          if (!(refusal instanceof GatewayError) || refusal.retry === "same") throw refusal;
          throw refusedMeanwhile(latest.answer.hash, refusal);
        });
        if (answer === undefined) return undefined;
        const made = { answer, sinceLedger, applied: false };
        const [latest, ...before] = refused;
        if (latest === undefined) return { answer, result: kept(made) };
        // It was taken in after all, or its number was: then what it came to is looked at again.
        if (envelopeOf(made).sequence !== envelopeOf(latest).sequence) return undefined;
        const result = kept({ ...made, inPlaceOf: refused });
        if (!isDeflated(result)) return { answer: withFormer(answer, refused), result };
        // With none of them forgotten there is no room for one more, until they are too late, in minutes.
        return {
          answer: withFormer(latest.answer, before),
          result: kept({ ...latest, applied: false, inPlaceOf: before }),
        };
      },
    };
  }

  /** Takes the key for this transaction. What it came to is told by `submit`, however often. */
  function submitTask(envelope: Submitted): Task<void> {
    let inPlaceOf: Submitted[] = [];
    return {
      request: envelope.hash,
      repeat: () => Promise.resolve({ answer: undefined }),
      async givesWay(result) {
        if (result === undefined) return true;
        const { inPlaceOf: before = [], ...latest } = fromText<SubmitResult>(result);
        const all = [latest, ...before];
        const { found, at } = await fateOfAny(all.map((one) => ({ ...one, sequence: BigInt(one.sequence) })));
        inPlaceOf = found === "over" ? [] : all.filter(({ hash }) => hash !== envelope.hash);
        if (found === "over" || (found === "applied" && all[at]!.hash === envelope.hash)) return true;
        // What was turned down and is being sent again is open, and `prepare` hands out what it made in its place.
        const isSame = latest.operation === envelope.operation;
        const mayBeReplaced = found === "refused" || (found === "open" && isSame);
        const isInItsPlace = latest.source === envelope.source && latest.sequence === envelope.sequence;
        if (mayBeReplaced && isInItsPlace && !isDeflated(kept({ ...envelope, inPlaceOf }))) return true;
        throw anotherTransaction(all[at]!.hash, found);
      },
      work: () => Promise.resolve({ answer: undefined, result: kept({ ...envelope, inPlaceOf }) }),
    };
  }

  return {
    async prepare(request, asker) {
      const name = nameOf(asker, "prepare");
      if (name !== undefined) return await once(name, prepareTask(request));
      const prepared = await prepare(request).catch(async (refusal) => {
        if (!(refusal instanceof GatewayError) || refusal.retry !== "never") throw refusal;
        // It may come of the one before, which nobody was told of: what that has paid is spent.
        const warned = await warning(request).catch(() => undefined);
        throw warned === undefined ? refusal : refusal.saying(warned);
      });
      // Only then: what was applied before its sequence number was read had been noted before that.
      const warned = await warning(request);
      const all = [warned, prepared.warning].filter((one) => one !== undefined);
      return all.length === 0 ? prepared : { ...prepared, warning: all.join("; ") };
    },

    submit: (xdr, asker, note) =>
      submit(xdr, async (envelope) => {
        note(escrow.describe(envelope));
        const name = nameOf(asker, "submit");
        if (name === undefined) return { isIntent: false };
        const { innerHash: hash, source, validUntil, call } = envelope;
        const [sequence, operation] = [envelope.sequence.toString(), escrow.digestOf(call)];
        const sinceLedger = await confirmedLedger();
        await once(name, submitTask({ hash, source, sequence, validUntil, operation, sinceLedger }));
        return { isIntent: true };
      }, asker.beforeNoted),

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

/** Whoever would be told that it is refused for good would do it some other way, and the first may be applied. */
function refusedMeanwhile(hash: string, refusal: GatewayError): GatewayError {
  const location = `/v1/transactions/${hash}`;
  return new GatewayError(
    "upstream_error",
    `transaction ${hash} was turned down and may be applied all the same, while another in its place would be refused now ` +
      `(${refusal.message}): prepare again with the same key until that shows, or ask GET ${location}`,
    { headers: { Location: location }, cause: refusal },
  );
}

function kept(result: PrepareResult | SubmitResult): string {
  const { inPlaceOf, ...latest } = result;
  return toText(inPlaceOf?.length ? result : latest);
}
