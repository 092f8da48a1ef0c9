import { StoreError } from "./store_error.ts";
import type { TransactionIntentStore } from "./transaction_intent.ts";

/** Which intent: the caller's `Idempotency-Key`, which counts for each API key and each kind of request by itself. */
export interface IntentName {
  keyId: string;
  kind: "webhook" | "replay";
  /** The header's value, at most 255 visible characters. */
  key: string;
}

/** What one caller means to happen once, however often it is asked for. */
export interface Intent {
  /** Its own, from its first claim on: 22 letters and digits. */
  id: string;
  /** Rises with every claim, from 1, and with its completion: who finds it unchanged finds the same result. */
  term: number;
  /** What was asked for, as 64 hex digits. */
  request: string;
  /** How much longer its claim keeps others off, by the store's clock. 0: nobody is at it, or not for certain any more. */
  claimedForMs: number;
  /** What came of it, as `complete` wrote it. Absent: nothing yet. */
  result?: string;
}

/** The right to complete an intent, until another has claimed it: from then on every write under it is `fenced`. */
export interface IntentClaim extends IntentName {
  id: string;
  term: number;
}

/**
 * Intents, and nonces that are out. Everything goes by the store's own clock and compares what is there with what was
 * seen, so that it holds for several gateways on one shared store; no two are ever at one intent with valid claims.
 */
export interface IntentStore extends TransactionIntentStore {
  /** The intent of this name as it is now, undefined when there is none. */
  get(name: IntentName): Promise<Intent | undefined>;
  /**
   * Claims an intent for `durationMs`, if it is still as it was seen and nobody else's claim on it lasts. Answers the
   * claim; `taken` when it changed since, or is claimed; `full` when a new one would be one more than `mostOfKey` of its
   * API key or `mostInAll` (counted well enough that no more pass a bound than are made at the same moment). Where there
   * is none it is made, with the `id` and `request` given; an existing one keeps its own, and its result. Durable when it
   * resolves.
   * @param step `seen`: what `get` answered, undefined: that there is none; `atMs`: as with `complete`
   */
  claim(
    step: {
      name: IntentName;
      seen: Pick<Intent, "id" | "term"> | undefined;
      id: string;
      request: string;
      durationMs: number;
      mostOfKey: number;
      mostInAll: number;
      atMs?: number;
    },
  ): Promise<IntentClaim | "taken" | "full">;
  /**
   * Writes what came of an intent and for which request, in place of what was there, and ends the claim: from here on it is
   * kept seven days. `result`: at most 60 000 bytes of UTF-8. `atMs` is the time as the network has it, Unix ms: it counts
   * when the store's clock says an earlier one, for that clock may be days behind; nor does a later use count as an earlier
   * one. Rejects with `fenced` when another has
   * claimed it since, or when it is gone. Durable when it resolves.
   */
  complete(claim: IntentClaim, done: { request: string; result: string; atMs?: number }): Promise<void>;
  /**
   * Ends a claim under which nothing was done: an intent that has a result keeps it, one that has none is forgotten.
   * Passes over a claim that is lost.
   */
  release(claim: IntentClaim): Promise<void>;
  /**
   * Hands out the next nonce of an agent for a device, a decimal string: one above `used` (the last one the contract has
   * seen) and above every one that was handed out for them within its `validForMs`; the greatest of 64 bits at most.
   * No two calls get the same one while both may be used. Durable when it resolves.
   */
  nextNonce(request: { deviceHash: string; agent: string; used: string; validForMs: number }): Promise<string>;
  /** Every intent, in an order of the store's own, at most `limit` (≤ 500) after the one with the name `after`. */
  list(page: { after?: IntentName; limit: number }): Promise<ListedIntent[]>;
  /** The newest nonce of every agent and device, as `list`. */
  nonces(page: { after?: Omit<ListedNonce, keyof NonceOut>; limit: number }): Promise<ListedNonce[]>;
  /**
   * Forgets intents last claimed, completed or written before this time, and nonces that are out no more, at most 500 in all
   * at a call; answers how many went.
   */
  prune(usedBeforeMs: number): Promise<number>;
}

/** An intent without its claim. */
export type ListedIntent = IntentName & Pick<Intent, "id" | "request" | "result">;

export interface ListedNonce extends NonceOut {
  deviceHash: string;
  agent: string;
}

/** The greatest nonce that the contract's u64 holds. */
export const MAX_NONCE = 18_446_744_073_709_551_615n;

/** What a write under a claim that is not the newest of its intent rejects with. */
export function intentFenced(location: string, { kind, term }: IntentClaim): StoreError {
  return new StoreError("fenced", `${location}: another has claimed this intent (${kind}) since its term ${term}`);
}

/** A claim as it is kept. */
export interface KeptClaim {
  /** By the store's clock. */
  untilMs: number;
  durationMs: number;
}

/** The clocks of gateways that share a store without one of its own differ by less. */
export const CLAIM_SLACK_MS = 5_000;

/**
 * How much longer a claim keeps others off, in milliseconds. One that ends much later than it could have been made for is
 * of a clock that was set back since: it is over, as whoever made it is fenced by whoever makes the next one.
 */
export function claimedForMs({ untilMs, durationMs }: KeptClaim, nowMs: number): number {
  const remainingMs = untilMs - nowMs;
  return remainingMs > durationMs + CLAIM_SLACK_MS ? 0 : Math.min(durationMs, Math.max(0, remainingMs));
}

/** The newest nonce that was handed out for an agent and a device. */
export interface NonceOut {
  nonce: string;
  /** By the store's clock: from then on it cannot be used any more. */
  untilMs: number;
}

/** The nonce to hand out after what was used and what is out. */
export function nonceAfter(used: string, out: NonceOut | undefined, nowMs: number): string {
  const highest = out !== undefined && out.untilMs > nowMs && BigInt(out.nonce) > BigInt(used) ? out.nonce : used;
  const next = BigInt(highest) + 1n;
  return (next < MAX_NONCE ? next : MAX_NONCE).toString();
}
