import type { Clock } from "../../clock.ts";
import type { Escrow } from "../../escrow/escrow.ts";
import {
  fromTransactionIntent,
  type KeptTransactionIntent,
  toTransactionIntent,
  type TransactionIntent,
  type TransactionIntentName,
} from "../../store/transaction_intent.ts";
import type { IntentStore } from "../../store/intent.ts";
import { judge, type Known, type Verdict, withOutcome } from "./intent.ts";
import { busy, full, KEPT_INTENTS, unknownOutcome } from "./intent_errors.ts";

const MOST_TRIES = 20;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;
/** The use of an intent is written at most so often. The store keeps an intent seven days after its last use. */
const USE_NOTED_MS = 86_400_000;

/** A verdict that needs no further reads. */
export type FinalVerdict = Exclude<Verdict, { kind: "read account" | "look up" | "unknown" }>;

/** An intent as read, with its verdict. */
export interface Judged {
  name: TransactionIntentName;
  seen: KeptTransactionIntent | undefined;
  verdict: FinalVerdict;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Intents in the store. Each change is a compare-and-set: a gateway that was frozen reads and judges again. */
export function createIdempotency({ intents, transactions, clock, networkSeconds, newVersion, onFull }: {
  intents: Pick<IntentStore, "get" | "set">;
  transactions: Pick<Escrow["transactions"], "account" | "lookUp">;
  clock: Pick<Clock, "wait">;
  /** The network's time, Unix seconds. It only decides the retention of an intent. */
  networkSeconds(): number;
  /** A unique text. */
  newVersion(): string;
  /** Called for each request refused because the store has too many intents. */
  onFull?(): void;
}) {
  const networkMs = () => networkSeconds() * 1_000;

  /** Writes an intent; false when another gateway was first. @throws {GatewayError} `rate_limited` for too many intents */
  async function commit({ name, seen }: Pick<Judged, "name" | "seen">, intent: TransactionIntent): Promise<boolean> {
    const step = {
      name: { ...name, kind: "transaction" } as const,
      seen: seen?.version,
      version: newVersion(),
      intent: fromTransactionIntent(intent),
      ...KEPT_INTENTS,
      atMs: networkMs(),
    };
    const answer = await intents.set(step);
    if (answer !== "full") return answer === "written";
    onFull?.();
    throw full();
  }

  async function verdictOn(intent: TransactionIntent | undefined, source: string, known: Known): Promise<FinalVerdict> {
    for (;;) {
      const verdict = judge(intent, known);
      if (verdict.kind === "read account") {
        const account = await transactions.account(source, intent!.envelopes[0]!.validUntil);
        known = { ...known, account };
      } else if (verdict.kind === "look up") {
        const lookedUp = await transactions.lookUp(intent!.envelopes, known.account!.ledger);
        known = { ...known, lookedUp };
      } else if (verdict.kind === "unknown") throw unknownOutcome(verdict);
      else return verdict as FinalVerdict;
    }
  }

  return {
    /**
     * Reads the intent and acts, again and again until `act` returns a value; undefined means that another gateway was first.
     * @throws {GatewayError} 409 after 20 attempts
     */
    async repeat<T>(
      name: TransactionIntentName,
      act: (seen: KeptTransactionIntent | undefined) => Promise<{ is: T } | undefined>,
    ): Promise<T> {
      for (let n = 0; n < MOST_TRIES; n++) {
        if (n > 0) await clock.wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** n));
        const kept = await intents.get({ ...name, kind: "transaction" });
        const done = await act(kept && toTransactionIntent(kept));
        if (done !== undefined) return done.is;
      }
      throw busy(LONGEST_PAUSE_MS);
    },
    commit,
    /**
     * Reads the missing facts, applies the rule, and writes an outcome; undefined when another gateway was first.
     * @throws {GatewayError} when the outcome of an envelope is unknown
     */
    async judge(
      name: TransactionIntentName,
      seen: KeptTransactionIntent | undefined,
      source: string,
      known: Known = {},
    ): Promise<Judged | undefined> {
      const judged = { name, seen, verdict: await verdictOn(seen, source, known) };
      const isNew = judged.verdict.kind === "outcome" && seen!.outcome === undefined;
      if (!isNew) return judged;
      const intent = withOutcome(seen!, judged.verdict as Extract<Verdict, { kind: "outcome" }>);
      return await commit(judged, intent) ? { ...judged, seen: { ...seen!, ...intent } } : undefined;
    },
    /** Writes the use of an intent, which prolongs its retention. */
    async noteUse(judged: Pick<Judged, "name" | "seen">): Promise<void> {
      const { seen } = judged;
      if (seen !== undefined && seen.usedAtMs + USE_NOTED_MS < networkMs()) await commit(judged, seen);
    },
  };
}
