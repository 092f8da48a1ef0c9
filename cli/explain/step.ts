import type { AttemptOutcome } from "../../lib/store/webhook.ts";
import type { DeliveryState } from "../../lib/webhooks/delivery_state.ts";
import type { PublicPayment } from "../../lib/escrow/payments/payment_reads.ts";

/** Why the network or a contract refused a transaction, and what lets it pass. */
export interface Refusal {
  code: string | null;
  message: string;
  reason: string | null;
  contractError: string | null;
  transactionError: string | null;
  retry: string | null;
  advice: string | null;
}

/** An amount in its smallest unit, and in units where the asset is known. */
export interface Money {
  amount: string;
  amountUnits: string | null;
  asset: string | null;
  symbol: string | null;
}

/** A step of a transaction's life, from the store or the node. */
export type StepFacts =
  | { step: "prepared"; keyId: string; keyName: string | null; reference: string }
  | {
    /** Of one API key. `keyId`, `kind` and `idempotencyKey` are null when the store does not say who submitted it. */
    step: "sent";
    keyId: string | null;
    keyName: string | null;
    kind: string | null;
    source: string | null;
    idempotencyKey: string | null;
    validUntil: string | null;
  }
  | { step: "applied"; ledger: number }
  | { step: "failed"; ledger: number | null; refusal: Refusal }
  | { step: "rejected"; refusal: Refusal }
  | { step: "unresolved"; isSent: boolean; validUntil: string | null; why: string }
  | ({
    step: "event";
    id: string;
    type: string;
    ledger: number;
    deviceHash: string | null;
    merchant: string | null;
    agent: string | null;
  } & Partial<Money>)
  | {
    step: "attempt";
    webhook: string;
    url: string;
    eventId: string;
    eventType: string;
    attempt: number;
    outcome: AttemptOutcome;
    statusCode: number | null;
    error: string | null;
    nextAttemptAt: string | null;
    isReplay: boolean;
  }
  | {
    /** A delivery without a stored attempt. */
    step: "delivery";
    webhook: string;
    url: string;
    eventId: string;
    eventType: string;
    state: DeliveryState;
  }
  | { step: "collected"; payments: string[]; isMore: boolean }
  | { step: "claimed"; paymentId: string; ledger: number; txHash: string }
  | { step: "expired"; paymentId: string; ledger: number }
  | { step: "pending"; paymentId: string; expiresAtLedger: number; expiresAt: string | null }
  | { step: "unknown"; paymentId: string };

/** `at`: ISO 8601, null when it is not known, or not over. */
export type Step = { at: string | null } & StepFacts;

export interface Story {
  hash: string;
  payments: (Omit<PublicPayment, "reference" | "idempotencyKey"> & Money)[];
  /** In order. */
  steps: Step[];
  /** Why no node could be asked; null when one answered. */
  nodeProblem: string | null;
}

/**
 * Collects steps, and sorts them by the second. Within a second they stay as added. No step comes before its cause, even when
 * clocks differ.
 */
export function createTimeline() {
  const steps: { step: Step; atSeconds: number }[] = [];
  return {
    /**
     * @param after the place of its cause, as a former `add` returned it
     * @returns its place in the order
     */
    add(step: Step, after = -Infinity): number {
      // Ledgers close in whole seconds.
      const atSeconds = Math.max(step.at === null ? -Infinity : Math.floor(Date.parse(step.at) / 1_000), after);
      steps.push({ step, atSeconds });
      return atSeconds;
    },
    steps() {
      const compare = (one: number, other: number) => one === other ? 0 : one - other;
      return steps.toSorted((one, other) => compare(one.atSeconds, other.atSeconds)).map(({ step }) => step);
    },
  };
}
export type Timeline = ReturnType<typeof createTimeline>;
