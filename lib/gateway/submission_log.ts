import { setImmediate as yieldToOthers } from "node:timers/promises";
import { type ErrorCode, ERRORS, GatewayError, type GatewayErrorOptions, RETRIES } from "../errors.ts";
import type { Submission, SubmissionOutcome } from "../store/submission.ts";
import { SUBMISSION_DAYS } from "../store/retention.ts";
import type { Store } from "../store/store.ts";
import type { Outcome, SubmissionLog } from "../stellar/transactions/submission_log.ts";
import type { Transactions } from "../stellar/transactions/transactions.ts";

/** Stored fields of an error beside code and message. */
const KEPT = [
  "contractError",
  "transactionError",
  "reason",
  "retry",
  "param",
] as const satisfies (keyof GatewayErrorOptions & keyof GatewayError)[];

/** Longer than the submission itself: the store's clock may be weeks ahead, and an expired value counts as absent. */
const BUMP_KEPT_MS = 3 * SUBMISSION_DAYS * 86_400_000;

/** The submission log, in the store. `now`: Unix milliseconds. */
export function createSubmissionLog(
  store: Pick<Store, "submissions" | "transactions" | "references" | "events" | "sharedState">,
  now: () => number,
): SubmissionLog {
  const bumpName = (hash: string) => `fee bump ${hash}`;
  return {
    async record({ inner, submitter, ...note }) {
      if (inner !== undefined) {
        const kept = { value: inner, keepMs: BUMP_KEPT_MS, answer: undefined };
        await store.sharedState.change<string, void>(bumpName(note.hash), () => kept);
        await store.references.copy(inner, note.hash);
      }
      const submittedAtMs = now();
      const { hash, source } = note;
      const transaction = submitter && { ...submitter, hash, source, submittedAtMs };
      await store.submissions.record({ ...note, submittedAtMs }, transaction);
    },
    async recordSubmitter({ hash, source }, submitter) {
      if (await store.submissions.get(hash) === undefined) return;
      await store.transactions.add({ ...submitter, hash, source, submittedAtMs: now(), status: "pending" });
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

/** Any version of this program may have written the outcome, so unknown fields and codes are ignored. */
function restored({ status, ledger, error }: SubmissionOutcome): Outcome {
  if (error === undefined) return { status, ledger };
  const { code, message = "", retry, ...more } = error;
  const options: GatewayErrorOptions = { ...more, retry: RETRIES.find((one) => one === retry) };
  const known = code !== undefined && Object.hasOwn(ERRORS, code) ? code as ErrorCode : "invalid_request";
  return { status, ledger, error: new GatewayError(known, message, options) };
}

/** Hashes in one read of the store. */
const PAGE = 500;

/** All submissions without an outcome, or those of one account. */
export async function* withoutOutcome(
  submissions: Pick<Store["submissions"], "withoutOutcome">,
  source?: string,
): AsyncGenerator<Submission> {
  let after: string | undefined;
  for (;;) {
    const page = await submissions.withoutOutcome({ source, after, limit: PAGE });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.hash;
    await yieldToOthers();
  }
}

/** A node may lag by so much. */
const LATE_SECONDS = 60;

/** Waits for the work, or for the abort: a shutdown must not wait for a silent node. */
async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const leave = () => aborted.resolve();
  signal.addEventListener("abort", leave);
  await Promise.race([work, aborted.promise]);
  signal.removeEventListener("abort", leave);
}

/**
 * Looks up the outcome of envelopes whose client never got it, because the gateway was killed or the node failed. After the node
 * has pruned their ledgers the outcome stays unknown. Call it about every hour.
 */
export function createOutcomeLookUp({ submissions, status, networkSeconds, onUnresolved }: {
  submissions: Store["submissions"];
  status: Transactions["status"];
  networkSeconds(): number;
  /** Called for each applied one. */
  onUnresolved(hash: string): Promise<void>;
}): (signal: AbortSignal) => Promise<void> {
  return async function lookUpOutcomes(signal) {
    for await (const { hash, validUntil } of withoutOutcome(submissions)) {
      if (signal.aborted) return;
      // `status` stores the outcome. The next run retries one that is still unknown.
      const isPastBound = validUntil + LATE_SECONDS < networkSeconds();
      if (isPastBound) await untilAborted(signal, status(hash, onUnresolved).catch(() => {}));
    }
  };
}
