import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { Intent, IntentClaim, IntentName, IntentStore } from "../../store/intent.ts";
import { isFenced } from "../../store/store.ts";
import { anotherRequest, busy, full, KEPT_INTENTS } from "./intent_errors.ts";

/** What one request with an `Idempotency-Key` asks for. */
export interface Task<T> {
  /** Alike for two requests that ask for the same: 64 hex digits. */
  request: string;
  /** What came of it before, as it is answered now. */
  repeat(result: string): Promise<T>;
  /**
   * Does it under this claim, whose `id` is the intent's own, and the same however often it is tried. A `GatewayError` says
   * that nothing was done.
   */
  work(claim: IntentClaim): Promise<{ answer: T; result: string }>;
}

export type IdempotentOperation = <T>(name: IntentName, task: Task<T>) => Promise<T>;

export const INTENT_LIMITS = {
  /** How long a claim keeps others off: longer than any work takes while all is well. */
  claimMs: 30_000,
  /** How long whoever comes second waits for the first. */
  waitMs: 10_000,
} as const;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/**
 * Does once what is asked for many times, on however many gateways: where each of them may be killed between any two of
 * its steps, and every answer may be lost.
 *
 *     get ──► none ───────────────────────────────────────► claim ──► work ──► complete ──► answer
 *      ├────► has a result ── repeat ──► answer              │  ▲        │          │
 *      │                                                     │  │        │          └ fenced: get again
 *      └────► claimed by another: wait, get again; 409       │  │        └ GatewayError: release, and tell it; get again
 *                                                            │  │          when another has claimed it since
 *                                                            └──┴─ taken: get again
 *
 * - A claim is given only for the intent as it was seen: whoever saw an older result looks again before anything is done.
 * - What came of it is in the store before it is answered; so what was answered is what everybody is told from then on.
 * - A claim ends by itself. Who is killed before `complete` has answered nothing; who was only slow is fenced there, or
 *   sees it when it is refused, and tells what the other came to.
 * - What `work` does in the world beside its answer is done under the intent's `id`, which outlives the claim, and where it
 *   may be undone by others under the claim itself.
 */
export function createIdempotentOperation({ intents, clock, networkSeconds, newId, onFull }: {
  intents: IntentStore;
  clock: Clock;
  /** The network's time, Unix seconds. */
  networkSeconds(): number;
  /** 22 random letters and digits. */
  newId(): string;
  /** Told of each request that is refused because too many intents are kept. */
  onFull?(): void;
}): IdempotentOperation {
  const { claimMs: durationMs, waitMs } = INTENT_LIMITS;
  const networkMs = () => networkSeconds() * 1_000;

  return async function once<T>(name: IntentName, task: Task<T>): Promise<T> {
    const endsAtMs = clock.monotonicMs() + waitMs;
    let looked: Intent | undefined;
    for (let pauseMs = FIRST_PAUSE_MS;; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      const isLastLook = clock.monotonicMs() >= endsAtMs;
      const seen = await intents.get(name);
      // What has no new result since is not asked about again while another is at it.
      if (seen !== undefined && (seen.id !== looked?.id || seen.result !== looked.result)) {
        const answer = await repeated(name, task, seen);
        if (answer !== undefined) return answer.is;
        looked = seen;
      }
      if (isLastLook) throw busy(seen?.claimedForMs ?? 0);
      if (seen === undefined || seen.claimedForMs === 0) {
        const claim = await intents.claim({
          name,
          seen,
          id: newId(),
          request: task.request,
          durationMs,
          ...KEPT_INTENTS,
          atMs: networkMs(),
        });
        if (claim === "full") {
          onFull?.();
          throw full();
        }
        if (claim !== "taken") {
          const answer = await done(claim, task);
          if (answer !== undefined) return answer.is;
          looked = undefined;
        }
      }
      await clock.wait(pauseMs);
    }
  };

  /** The answer of before; undefined when there is none that counts. */
  async function repeated<T>(
    name: IntentName,
    task: Task<T>,
    { request, result }: Intent,
  ): Promise<{ is: T } | undefined> {
    if (request !== task.request) throw anotherRequest(name.key);
    return result === undefined ? undefined : { is: await task.repeat(result) };
  }

  /** The answer of work that was done and written down; undefined when it has to be looked at again. */
  async function done<T>(claim: IntentClaim, task: Task<T>): Promise<{ is: T } | undefined> {
    let work;
    try {
      work = await task.work(claim);
    } catch (error) {
      if (isFenced(error)) return undefined;
      // Of any other error it is not known what was done: the claim ends by itself, and the next one goes on from there.
      if (!(error instanceof GatewayError)) throw error;
      if (await isAnothers(claim)) return undefined;
      await intents.release(claim);
      throw error;
    }
    const isMine = await completed(claim, { request: task.request, result: work.result });
    return isMine ? { is: work.answer } : undefined;
  }

  /** Whether another has claimed it since: an error may come of what that one did. */
  async function isAnothers(claim: IntentClaim): Promise<boolean> {
    const seen = await intents.get(claim);
    return seen !== undefined && (seen.id !== claim.id || seen.term !== claim.term);
  }

  /** False when another has claimed it since. */
  async function completed(claim: IntentClaim, done: { request: string; result: string }): Promise<boolean> {
    try {
      await intents.complete(claim, { ...done, atMs: networkMs() });
      return true;
    } catch (error) {
      if (isFenced(error)) return false;
      throw error;
    }
  }
}
