import type { SubmitOutcome } from "../network_types.ts";
import { checkDeclared, checkEnvelope, checkFees } from "./admission.ts";
import type { Chain } from "./chain.ts";
import { checkTime } from "./envelope_checks.ts";
import { type Envelope, parseEnvelope } from "./envelopes.ts";
import { lateByAdvance } from "./late.ts";
import { unsupportedEvents } from "./operation_checks.ts";
import { createTransactionQueue, encounter } from "./queue.ts";
import { transactionResult, type TxCode } from "./results.ts";
import { isSoroban } from "./soroban_checks.ts";

export interface MempoolOptions {
  chain: Chain;
  /** Unix milliseconds. */
  now: () => number;
  /** How far `now` is ahead of the machine's clock, ms. */
  aheadMs: () => number;
  ledgerMs: number;
  /** Bound of the queue. */
  limit: number;
  /** Called after an envelope was queued. */
  onQueued: () => void;
}

const resultOf = (code: TxCode, feeCharged = 0n) => transactionResult(feeCharged, { code, operationResults: [] });

/** Whether both are Soroban transactions, or neither. stellar-core has two queues, and an account may be in one of them. */
function isSameKind({ inner: one }: Envelope, { inner: other }: Envelope): boolean {
  return (one.sorobanBody === undefined) === (other.sorobanBody === undefined);
}

export type Mempool = ReturnType<typeof createMempool>;

/** Checks envelopes and queues them, or returns the refusal. */
export function createMempool({ chain, now, aheadMs, ledgerMs, limit, onQueued }: MempoolOptions) {
  const { validator } = chain;
  const queue = createTransactionQueue(limit);

  /** The bounds of the closed ledger. Only the upper time bound looks ahead. */
  function bounds() {
    const { sequence, closeTime } = chain.tip();
    const secondsSince = Math.max(0, Math.floor(now() / 1000) - closeTime);
    return { ledgerSequence: sequence + 1, closeTime, closeTimeSlack: secondsSince + Math.ceil(2 * ledgerMs / 1000) };
  }

  /** Checks an envelope against the closed ledger, as a validator does. */
  function check(envelope: Envelope): Uint8Array | undefined {
    const context = { ...bounds(), view: chain.state, checkResources: validator.checkResources };
    return checkEnvelope(envelope, context, validator.signatureRules, queue.committedBeside(envelope));
  }

  /** The DiagnosticEvents of a refusal. */
  function reasons({ inner }: Envelope, refusal: Uint8Array): Uint8Array[] {
    const late = lateByAdvance(inner, refusal, bounds(), Math.round(aheadMs() / 1000));
    if (!isSoroban(inner)) return [...unsupportedEvents(inner), ...late];
    return [...validator.checkResources(inner).diagnosticEvents, ...late];
  }

  return {
    hasWaiting: () => queue.size > 0,
    /** @throws {Error} when the bytes are no envelope */
    submit(envelopeXdr: Uint8Array): SubmitOutcome {
      const envelope = parseEnvelope(envelopeXdr, validator.networkId);
      const { hash, inner } = envelope;
      const refuse = (resultXdr: Uint8Array, diagnosticEventsXdr: Uint8Array[] = []): SubmitOutcome => {
        return { status: "ERROR", hash, resultXdr, diagnosticEventsXdr };
      };
      const waiting = queue.waitingOf(inner.source);
      if (waiting && !isSameKind(waiting, envelope)) return { status: "TRY_AGAIN_LATER", hash };
      const badFees = checkFees(envelope);
      if (badFees) return refuse(badFees);
      const met = encounter(envelope, waiting);
      if (met === "duplicate") return { status: "DUPLICATE", hash };
      if (met === "bad_sequence") return refuse(resultOf("txBAD_SEQ"));
      const badResources = met === "none" ? undefined : checkDeclared(envelope, validator.checkResources);
      if (badResources) return refuse(badResources, reasons(envelope, badResources));
      if (met === "later") return { status: "TRY_AGAIN_LATER", hash };
      if (typeof met === "object") return refuse(resultOf("txINSUFFICIENT_FEE", met.feeNeeded));
      if (met === "none" && queue.isFull()) return { status: "TRY_AGAIN_LATER", hash };

      const refusal = check(envelope);
      if (refusal) return refuse(refusal, reasons(envelope, refusal));
      queue.put(envelope);
      onQueued();
      return { status: "PENDING", hash };
    },
    /** Empties the queue. `dropped` is too late for a ledger of this close time. */
    takeFor(closeTime: number): { ready: Envelope[]; dropped: Envelope[] } {
      const bounds = { closeTime, closeTimeSlack: 0, ledgerSequence: chain.tip().sequence + 1 };
      const all = queue.takeAll();
      const inTime = (envelope: Envelope) => checkTime(envelope.inner, bounds) === undefined;
      return { ready: all.filter(inTime), dropped: all.filter((envelope) => !inTime(envelope)) };
    },
    takeAll: queue.takeAll,
    /** Queues envelopes again after a ledger that could not be written. */
    putBack(envelopes: Envelope[]) {
      for (const envelope of envelopes) queue.put(envelope);
    },
  };
}
