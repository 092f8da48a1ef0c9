import { keyOf, sameBytes } from "./bytes.ts";
import type { Envelope } from "./envelopes.ts";

const REPLACEMENT_FACTOR = 10n;

/** The queue for the next ledger, with at most one transaction per source account. */
export function createTransactionQueue(limit: number) {
  const bySource = new Map<string, Envelope>();
  const feesBySource = new Map<string, bigint>();

  function commitFee({ feeSource, fullFee }: Envelope, sign: 1n | -1n) {
    const key = keyOf(feeSource);
    const fees = (feesBySource.get(key) ?? 0n) + sign * fullFee;
    if (fees === 0n) feesBySource.delete(key);
    else feesBySource.set(key, fees);
  }

  return {
    get size() {
      return bySource.size;
    },
    isFull: () => bySource.size >= limit,
    waitingOf: (source: Uint8Array) => bySource.get(keyOf(source)),
    /** Fees of the fee source's other transactions in the queue, in stroops, without one that the envelope replaces. */
    committedBeside({ feeSource, inner }: Envelope): bigint {
      const replaced = bySource.get(keyOf(inner.source));
      const freed = replaced && sameBytes(replaced.feeSource, feeSource) ? replaced.fullFee : 0n;
      return (feesBySource.get(keyOf(feeSource)) ?? 0n) - freed;
    },
    /** Adds an envelope, which replaces the queued one of its source. */
    put(envelope: Envelope) {
      const key = keyOf(envelope.inner.source);
      const replaced = bySource.get(key);
      if (replaced) commitFee(replaced, -1n);
      bySource.set(key, envelope);
      commitFee(envelope, 1n);
    },
    /** Empties the queue and returns its envelopes in order of arrival. */
    takeAll(): Envelope[] {
      const all = [...bySource.values()];
      bySource.clear();
      feesBySource.clear();
      return all;
    },
  };
}

export type Encounter = "none" | "duplicate" | "later" | "bad_sequence" | "replaces" | { feeNeeded: bigint };

/** Compares an envelope with the queued one of its source. Only a fee bump with ten times the fee replaces that. */
export function encounter(envelope: Envelope, waiting: Envelope | undefined): Encounter {
  if (!waiting) return "none";
  const innerIsWaiting = waiting.feeBump && !envelope.feeBump && sameBytes(waiting.inner.hash, envelope.inner.hash);
  if (waiting.hash === envelope.hash || innerIsWaiting) return "duplicate";
  const [sequence, waitingSequence] = [envelope.inner.tx.seqNum, waiting.inner.tx.seqNum];
  if (sequence < waitingSequence) return "bad_sequence";
  if (!envelope.feeBump || sequence !== waitingSequence) return "later";
  const bid = envelope.inclusionFee * BigInt(Math.max(1, waiting.operationCount));
  const needed = REPLACEMENT_FACTOR * waiting.inclusionFee * BigInt(envelope.operationCount);
  if (bid >= needed) return "replaces";
  const perOperation = BigInt(Math.max(1, waiting.operationCount));
  const resourceFee = envelope.fullFee - envelope.inclusionFee;
  return { feeNeeded: resourceFee + (needed + perOperation - 1n) / perOperation };
}
