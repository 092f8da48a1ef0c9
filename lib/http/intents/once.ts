import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";
import type { Intent, IntentClaim, IntentName, IntentStore } from "../../store/intent.ts";
import { isFenced } from "../../store/store.ts";

/** What one request with an `Idempotency-Key` asks for. */
export interface Task<T> {
  /** Alike for two requests that ask for the same: 64 hex digits. */
  request: string;
  /**
   * What came of it before, as it is answered now; undefined when that counts no more, and `work` is to be done anew.
   * `result`: another text to keep from now on.
   */
  repeat(result: string): Promise<{ answer: T; result?: string } | undefined>;
  /**
   * Whether what came of it before (undefined: nothing was answered yet, and nobody is at it for certain) leaves the key to
   * a request for something else. Never when absent: that is refused.
   */
  givesWay?(result: string | undefined): boolean | Promise<boolean>;
  /**
   * Does it under this claim, whose `id` is the intent's own, and the same however often it is tried. Undefined: it is not
   * what it was any more when `repeat` looked, who is to look again; a `fenced` write says the same. A `GatewayError` says
   * that nothing was done.
   */
  work(claim: IntentClaim): Promise<{ answer: T; result: string } | undefined>;
}

export type Once = <T>(name: IntentName, task: Task<T>) => Promise<T>;

export const INTENT_LIMITS = {
  /** How long a claim keeps others off: longer than any work takes while all is well. */
  claimMs: 30_000,
  /** How long whoever comes second waits for the first, and how long work is begun again that came to nothing. */
  waitMs: 10_000,
  /** About 600 MB of a store. */
  mostOfKey: 200_000,
  mostInAll: 1_000_000,
} as const;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/**
 * Does once what is asked for many times, on however many gateways: where each of them may be killed between any two of
 * its steps, and every answer may be lost.
 *
 *     get ──► none ───────────────────────────┐
 *      │                                      ▼
 *      ├────► has a result ── repeat ──► counts no more ──► claim ──► work ──► complete ──► answer
 *      │                        └──────► answer            │  ▲        │          │
 *      │                                                   │  │        │          └ fenced: get again
 *      └────► claimed by another: wait, get again; 409     │  │        └ GatewayError: release, and tell it; get again
 *                                                          │  │          when another has claimed it since
 *                                                          └──┴─ taken: get again
 *
 * - A claim is given only for the intent as it was seen: whoever saw an older result looks again before anything is done.
 * - What came of it is in the store before it is answered; so what was answered is what everybody is told from then on.
 * - A claim ends by itself. Who is killed before `complete` has answered nothing; who was only slow is fenced there, or
 *   sees it when it is refused, and tells what the other came to.
 * - What `work` does in the world beside its answer is done under the intent's `id`, which outlives the claim, and where it
 *   may be undone by others under the claim itself.
 */
export function createOnce({ intents, clock, networkSeconds, newId, onFull }: {
  intents: IntentStore;
  clock: Clock;
  /** The network's time, Unix seconds. */
  networkSeconds(): number;
  /** 22 random letters and digits. */
  newId(): string;
  /** Told of each request that is refused because too many intents are kept. */
  onFull?(): void;
}): Once {
  const { claimMs: durationMs, waitMs, mostOfKey, mostInAll } = INTENT_LIMITS;
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
          mostOfKey,
          mostInAll,
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
  async function repeated<T>(name: IntentName, task: Task<T>, seen: Intent): Promise<{ is: T } | undefined> {
    const { request, result } = seen;
    if (request !== task.request) {
      if (await task.givesWay?.(result)) return undefined;
      throw anotherRequest(name);
    }
    const told = result === undefined ? undefined : await task.repeat(result);
    if (told?.result !== undefined) await keep(name, seen, told.result);
    return told && { is: told.answer };
  }

  /** Writes more of what is known of an intent, unless another is at it: then it is found out again. */
  async function keep(name: IntentName, seen: Intent, result: string): Promise<void> {
    const { request } = seen;
    const bounds = { durationMs, mostOfKey, mostInAll, atMs: networkMs() };
    const claim = await intents.claim({ name, seen, id: seen.id, request, ...bounds });
    if (typeof claim === "object") await completed(claim, { request, result });
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
    if (work === undefined) {
      await intents.release(claim);
      return undefined;
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

function anotherRequest({ key }: IntentName): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${IDEMPOTENCY_KEY} ${JSON.stringify(key)} was used for another request: one key is for one intent, use a new one`,
    { param: IDEMPOTENCY_KEY },
  );
}

function busy(claimedForMs: number): GatewayError {
  return new GatewayError(
    "invalid_request",
    `another request with this ${IDEMPOTENCY_KEY} is under way: send the same again in a moment`,
    {
      status: 409,
      retry: "same",
      param: IDEMPOTENCY_KEY,
      headers: { "Retry-After": String(Math.max(1, Math.ceil(claimedForMs / 1_000))) },
    },
  );
}

function full(): GatewayError {
  return new GatewayError(
    "rate_limited",
    `too many different values of ${IDEMPOTENCY_KEY} in seven days: at most ${INTENT_LIMITS.mostOfKey} are kept of an API ` +
      `key and ${INTENT_LIMITS.mostInAll} in all; each goes seven days after it was used`,
    { param: IDEMPOTENCY_KEY, headers: { "Retry-After": "3600" } },
  );
}
