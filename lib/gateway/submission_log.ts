import { setImmediate as yieldToOthers } from "node:timers/promises";
import { type ErrorCode, ERRORS, GatewayError, type GatewayErrorOptions, RETRIES } from "../errors.ts";
import type { SubmissionOutcome } from "../store/submission.ts";
import { SUBMISSION_DAYS } from "../store/retention.ts";
import type { Store } from "../store/store.ts";
import type { Outcome, SubmissionLog } from "../stellar/transactions/submission_log.ts";
import type { Transactions } from "../stellar/transactions/transactions.ts";

/** The fields of an error that are kept beside code and message. */
const KEPT = [
  "contractError",
  "transactionError",
  "reason",
  "retry",
  "param",
] as const satisfies (keyof GatewayErrorOptions & keyof GatewayError)[];

/** Longer than the note on it: what is over by the store's clock, which may be weeks ahead, counts as absent. */
const BUMP_KEPT_MS = 3 * SUBMISSION_DAYS * 86_400_000;

/** The submissionLog of what was sent, in the store. `now`: Unix milliseconds. */
export function createSubmissionLog(
  store: Pick<Store, "submissions" | "events" | "sharedState">,
  now: () => number,
): SubmissionLog {
  const bumpName = (hash: string) => `fee bump ${hash}`;
  return {
    async record({ inner, ...note }) {
      if (inner !== undefined) {
        const kept = { value: inner, keepMs: BUMP_KEPT_MS, answer: undefined };
        await store.sharedState.change<string, void>(bumpName(note.hash), () => kept);
      }
      await store.submissions.record({ ...note, submittedAtMs: now() });
    },
    innerOf: (hash) => store.sharedState.read<string>(bumpName(hash)),
    recordOutcome: (hash, outcome) => store.submissions.recordOutcome(hash, kept(outcome)),
    async get(hash) {
      const submission = await store.submissions.get(hash);
      if (submission === undefined) return undefined;
      const { validUntil, outcome } = submission;
      return outcome === undefined ? { validUntil } : { validUntil, outcome: restored(outcome) };
    },
    async ledgerOf(hash) {
      const [event] = await store.events.read({ filter: { txHash: hash }, order: "desc", limit: 1 });
      return event?.ledger;
    },
  };
}

function kept({ status, ledger, error }: Outcome): SubmissionOutcome {
  if (error === undefined) return { status, ledger };
  const fields = KEPT.flatMap((name) => error[name] === undefined ? [] : [[name, error[name]]]);
  return { status, ledger, error: { code: error.code, message: error.message, ...Object.fromEntries(fields) } };
}

/** Written by any version of this program: what this one does not know is left out. */
function restored({ status, ledger, error }: SubmissionOutcome): Outcome {
  if (error === undefined) return { status, ledger };
  const { code, message = "", retry, ...more } = error;
  const options: GatewayErrorOptions = { ...more, retry: RETRIES.find((one) => one === retry) };
  const known = code !== undefined && Object.hasOwn(ERRORS, code) ? code as ErrorCode : "invalid_request";
  return { status, ledger, error: new GatewayError(known, message, options) };
}

/** Far less than a node remembers. */
const PAGE = 200;
/** A node may be a little behind. */
const LATE_SECONDS = 60;

/** Nobody who stops waits for a silent node. */
async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const leave = () => aborted.resolve();
  signal.addEventListener("abort", leave);
  await Promise.race([work, aborted.promise]);
  signal.removeEventListener("abort", leave);
}

/**
 * Looks what became of the envelopes whose sender was never told, because the gateway was killed or the node failed: once
 * a node has forgotten them nobody can. To be called every hour or so.
 */
export function createOutcomeLookUp({ submissions, status, networkSeconds, onUntold }: {
  submissions: Store["submissions"];
  status: Transactions["status"];
  networkSeconds(): number;
  /** Told of each that was applied. */
  onUntold(hash: string): Promise<void>;
}): (signal: AbortSignal) => Promise<void> {
  return async function lookUpOutcomes(signal) {
    let after: string | undefined;
    while (!signal.aborted) {
      const page = await submissions.withoutOutcome({ after, limit: PAGE });
      for (const { hash, validUntil } of page) {
        if (signal.aborted) return;
        // Telling it notes it. One that can't be told now may be later, until it is forgotten.
        const isOver = validUntil + LATE_SECONDS < networkSeconds();
        if (isOver) await untilAborted(signal, status(hash, onUntold).catch(() => {}));
        await yieldToOthers();
      }
      if (page.length < PAGE) return;
      after = page.at(-1)!.hash;
    }
  };
}
