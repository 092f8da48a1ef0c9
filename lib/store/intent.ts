import { StoreError } from "./store_error.ts";
import type { TransactionIntentStore } from "./transaction_intent.ts";

/** The name of an intent: the client's `Idempotency-Key`, separate for each API key and each kind of request. */
export interface IntentName {
  keyId: string;
  kind: "webhook" | "replay";
  /** The header's value, at most 255 visible characters. */
  key: string;
}

/** A request that must take effect once, however often the client repeats it. */
export interface Intent {
  /** The first claim assigns it: 22 letters and digits. */
  id: string;
  /** Rises from 1 with every claim, and with the completion. The same term means the same result. */
  term: number;
  /** Digest of the request, 64 hex digits. */
  request: string;
  /** How much longer the claim lasts, by the store's clock. 0: there is none, or it may be over. */
  claimedForMs: number;
  /** The result, as `complete` wrote it. Absent: none yet. */
  result?: string;
}

/** The right to complete an intent. It ends when another caller claims the intent: then every write under it is `fenced`. */
export interface IntentClaim extends IntentName {
  id: string;
  term: number;
}

/**
 * Intents, and issued nonces. Every time is by the store's own clock. Writes compare the stored intent with the one that the
 * caller has seen, so that several gateways can share a store. Two valid claims of one intent never exist.
 */
export interface IntentStore extends TransactionIntentStore {
  /** The intent of this name, undefined when there is none. */
  get(name: IntentName): Promise<Intent | undefined>;
  /**
   * Claims an intent for `durationMs`, if it is unchanged since the caller saw it and no other claim on it lasts. Creates a
   * missing intent with `id` and `request`; an existing one keeps its own, and its result. Durable when it resolves.
   *
   * Returns the claim. Returns `taken` when the intent has changed or has a claim. Returns `full` when a new intent would exceed
   * `mostOfKey` of its API key or `mostInAll`. Simultaneous calls may exceed a bound by their number.
   * @param step `seen` is the answer of `get`. Undefined: there was none. `atMs` as for `complete`
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
   * Writes the result of an intent and its request, replaces the former ones, and ends the claim. The store keeps it for seven
   * days from here. `result`: at most 60 000 bytes of UTF-8. `atMs`: the network's time, Unix ms. The seven days start at the
   * latest of the store's clock, `atMs` and former uses: the store's clock may be days behind. Rejects with `fenced` when another
   * caller has claimed the intent since, or when it is gone. Durable when it resolves.
   */
  complete(claim: IntentClaim, done: { request: string; result: string; atMs?: number }): Promise<void>;
  /** Ends a claim without a result. An intent keeps an earlier result, and one without any is deleted. Passes over a lost claim. */
  release(claim: IntentClaim): Promise<void>;
  /**
   * Returns the next nonce of an agent for a device, a decimal string. It is above `used`, the last one that the contract has
   * seen, and above every nonce issued for them in the last `validForMs`. It never exceeds 64 bits. Two calls never get the
   * same nonce while both may be used. Durable when it resolves.
   */
  nextNonce(request: { deviceHash: string; agent: string; used: string; validForMs: number }): Promise<string>;
  /** Every intent, in an order of the store's own: at most `limit` (≤ 500) after the one with the name `after`. */
  list(page: { after?: IntentName; limit: number }): Promise<ListedIntent[]>;
  /** The newest nonce of every agent and device, in pages as `list`. */
  nonces(page: { after?: Omit<ListedNonce, keyof NonceOut>; limit: number }): Promise<ListedNonce[]>;
  /**
   * Deletes intents last claimed, completed or written before this time, and expired nonces: at most 500 in all. Returns their
   * number.
   */
  prune(usedBeforeMs: number): Promise<number>;
}

/** An intent without its claim. */
export type ListedIntent = IntentName & Pick<Intent, "id" | "request" | "result">;

export interface ListedNonce extends NonceOut {
  deviceHash: string;
  agent: string;
}

/** The greatest u64, which is the contract's type for nonces. */
export const MAX_NONCE = 18_446_744_073_709_551_615n;

/** The error for a write under a claim that is not the newest of its intent. */
export function intentFenced(location: string, { kind, term }: IntentClaim): StoreError {
  return new StoreError("fenced", `${location}: another has claimed this intent (${kind}) since its term ${term}`);
}

/** A claim as the store has it. */
export interface KeptClaim {
  /** By the store's clock. */
  untilMs: number;
  durationMs: number;
}

/** The clocks of gateways differ by less than this, where they share a store without a clock. */
export const CLAIM_SLACK_MS = 5_000;

/**
 * How much longer a claim lasts, in milliseconds. A claim that ends later than its duration allows was made before the clock
 * was set back. It counts as over, and the next claim fences it.
 */
export function claimedForMs({ untilMs, durationMs }: KeptClaim, nowMs: number): number {
  const remainingMs = untilMs - nowMs;
  return remainingMs > durationMs + CLAIM_SLACK_MS ? 0 : Math.min(durationMs, Math.max(0, remainingMs));
}

/** The newest nonce issued for an agent and a device. */
export interface NonceOut {
  nonce: string;
  /** By the store's clock: the nonce cannot be used from then on. */
  untilMs: number;
}

/** The nonce after the used and the issued one. */
export function nonceAfter(used: string, out: NonceOut | undefined, nowMs: number): string {
  const highest = out !== undefined && out.untilMs > nowMs && BigInt(out.nonce) > BigInt(used) ? out.nonce : used;
  const next = BigInt(highest) + 1n;
  return (next < MAX_NONCE ? next : MAX_NONCE).toString();
}
