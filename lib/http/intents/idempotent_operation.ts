import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { Intent, IntentClaim, IntentName, IntentStore } from "../../store/intent.ts";
import { isFenced } from "../../store/store.ts";
import { anotherRequest, busy, full, KEPT_INTENTS } from "./intent_errors.ts";

/** The operation of a request with an `Idempotency-Key`. */
export interface Task<T> {
  /** Digest of the request: 64 hex digits, equal for equal requests. */
  request: string;
  /** The response for the stored result of an earlier request. */
  repeat(result: string): Promise<T>;
  /**
   * Does the work under this claim. The `id` of the claim is the intent's, and stays the same over all attempts.
   * @throws {GatewayError} when the work had no effect
   */
  work(claim: IntentClaim): Promise<{ answer: T; result: string }>;
}

export type IdempotentOperation = <T>(name: IntentName, task: Task<T>) => Promise<T>;

export const INTENT_LIMITS = {
  /** Duration of a claim: longer than any work normally takes. */
  claimMs: 30_000,
  /** How long a second request waits for the first. */
  waitMs: 10_000,
} as const;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/**
 * Runs an operation once for all requests with the same key, on all gateways. Any gateway may be killed between two steps, and
 * any response may be lost.
 *
 * ```
 * get ──► none ───────────────────────────────────────► claim ──► work ──► complete ──► answer
 *  ├────► has a result ── repeat ──► answer              │  ▲        │          │
 *  │                                                     │  │        │          └ fenced: get again
 *  └────► claimed by another: wait, get again; 409       │  │        └ GatewayError: release, return it; get again
 *                                                        │  │          when another has claimed it since
 *                                                        └──┴─ taken: get again
 * ```
 *
 * - The store grants a claim only for the intent as read. A gateway with an older state reads again before it does anything.
 * - The result is in the store before the response, so all later responses are the same.
 * - A claim expires. A gateway that is killed before `complete` has sent no response. The store fences a slow gateway at
 *   `complete`, and this gateway then returns the result of the other one.
 * - Side effects of `work` use the intent's `id`, which outlives the claim. Side effects that others may undo use the claim.
 */
export function createIdempotentOperation({ intents, clock, networkSeconds, newId, onFull }: {
  intents: IntentStore;
  clock: Clock;
  /** The network's time, Unix seconds. */
  networkSeconds(): number;
  /** 22 random letters and digits. */
  newId(): string;
  /** Called for each request refused because the store has too many intents. */
  onFull?(): void;
}): IdempotentOperation {
  const { claimMs: durationMs, waitMs } = INTENT_LIMITS;
  const networkMs = () => networkSeconds() * 1_000;

  return async function once<T>(name: IntentName, task: Task<T>): Promise<T> {
    const endsAtMs = clock.monotonicMs() + waitMs;
    for (let pauseMs = FIRST_PAUSE_MS;; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      const isLastLook = clock.monotonicMs() >= endsAtMs;
      const seen = await intents.get(name);
      if (seen !== undefined && seen.request !== task.request) throw anotherRequest(name.key);
      if (seen?.result !== undefined) return await task.repeat(seen.result);
      const claimedForMs = seen?.claimedForMs ?? 0;
      if (isLastLook) throw busy(claimedForMs);
      const done = claimedForMs > 0 ? undefined : await attempt(name, seen, task);
      if (done !== undefined) return done.is;
      await clock.wait(pauseMs);
    }
  };

  /** The response after the work; undefined when another gateway has claimed the intent. */
  async function attempt<T>(
    name: IntentName,
    seen: Intent | undefined,
    { request, work }: Task<T>,
  ): Promise<{ is: T } | undefined> {
    const step = { name, seen, id: newId(), request, durationMs, ...KEPT_INTENTS, atMs: networkMs() };
    const claim = await intents.claim(step);
    if (claim === "taken") return undefined;
    if (claim === "full") {
      onFull?.();
      throw full();
    }
    try {
      const { answer, result } = await work(claim);
      await intents.complete(claim, { request, result, atMs: networkMs() });
      return { is: answer };
    } catch (error) {
      if (isFenced(error)) return undefined;
      // After any other error the effect of the work is unknown. The claim expires, and the next request continues.
      if (!(error instanceof GatewayError)) throw error;
      if (await isClaimedByOther(claim)) return undefined;
      await intents.release(claim);
      throw error;
    }
  }

  /** Whether another gateway has claimed the intent since, so that its work may have caused an error. */
  async function isClaimedByOther(claim: IntentClaim): Promise<boolean> {
    const seen = await intents.get(claim);
    return seen !== undefined && (seen.id !== claim.id || seen.term !== claim.term);
  }
}
