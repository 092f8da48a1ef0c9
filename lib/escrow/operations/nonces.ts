/** The largest nonce the contract's u64 holds. */
const MAX_NONCE = 18446744073709551615n;

const MOST_REMEMBERED = 100_000;

export interface Nonces {
  /**
   * Hands out the next nonce of an agent for a device: above the last one used, and above every one handed out that may
   * still be used. `giveBack` frees it, when nothing was prepared with it after all.
   */
  next(deviceHash: string, agent: string): Promise<{ nonce: string; giveBack(): void }>;
}

/** Remembers which nonces are out, so that two prepared at the same time differ. */
export function createNonces({ lastUsed, now, validForMs }: {
  /** The last nonce the contract has seen, undefined before the first. */
  lastUsed(deviceHash: string, agent: string): Promise<bigint | undefined>;
  now: () => number;
  /** How long a prepared transaction can be applied. */
  validForMs: number;
}): Nonces {
  const handedOut = new Map<string, { nonce: bigint; untilMs: number }>();

  function forgetOld(): void {
    for (const [key, { untilMs }] of handedOut) {
      if (untilMs >= now() && handedOut.size < MOST_REMEMBERED) return;
      handedOut.delete(key);
    }
  }

  return {
    async next(deviceHash, agent) {
      const used = await lastUsed(deviceHash, agent) ?? 0n;
      forgetOld();
      const key = `${deviceHash} ${agent}`;
      const before = handedOut.get(key);
      const highest = before !== undefined && before.nonce > used ? before.nonce : used;
      const nonce = highest < MAX_NONCE ? highest + 1n : MAX_NONCE;
      // Set anew, so that the map stays in the order of expiry.
      handedOut.delete(key);
      handedOut.set(key, { nonce, untilMs: now() + validForMs });
      return {
        nonce: nonce.toString(),
        giveBack() {
          if (handedOut.get(key)?.nonce !== nonce) return;
          if (before === undefined) handedOut.delete(key);
          else handedOut.set(key, before);
        },
      };
    },
  };
}
