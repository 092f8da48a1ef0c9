/** The greatest nonce that the contract's u64 holds. */
export const MAX_NONCE = 18_446_744_073_709_551_615n;

/** A claim as it is kept. */
export interface KeptClaim {
  /** By the store's clock. */
  untilMs: number;
  durationMs: number;
}

/**
 * How much longer a claim keeps others off, in milliseconds. One that ends later than it could have been made for is of a
 * clock that was set back since: it is over, as whoever made it is fenced by whoever makes the next one.
 */
export function claimedForMs({ untilMs, durationMs }: KeptClaim, nowMs: number): number {
  const remainingMs = untilMs - nowMs;
  return remainingMs > durationMs ? 0 : Math.max(0, remainingMs);
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
