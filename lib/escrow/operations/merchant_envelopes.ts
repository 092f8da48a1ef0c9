/** The envelopes for a merchant that the network may apply before the one in preparation. */
export interface CompetingEnvelopes {
  payments: number;
  claim: boolean;
}

/**
 * Counts the envelopes of each merchant that may still be applied. Also keeps the most at one time in the last five minutes,
 * because as many may come between again.
 */
export interface MerchantEnvelopes {
  /** Records a payer's payment, or the merchant's claim; returns a function that removes the record. */
  handOut(merchant: string, source: string, kind: "authorize" | "claim"): () => void;
  /** @param everywhere the competing envelopes of all gateways on the store */
  others(merchant: string, source: string, everywhere?: CompetingEnvelopes): CompetingEnvelopes;
  /** Removes an envelope that was applied. */
  confirmed(merchant: string, source: string, kind: "authorize" | "claim"): void;
  /** Raises the count, because others came between a payment or claim and made it fail. */
  collided(merchant: string): void;
}

/** The same for all gateways on a store. */
export interface SharedMerchantEnvelopes {
  /** Records the envelope in the store, and returns the competing ones. */
  handOut(merchant: string, source: string, kind: "authorize" | "claim"): Promise<CompetingEnvelopes>;
  confirmed(merchant: string, source: string, kind: "authorize" | "claim"): Promise<void>;
}

interface Merchant {
  /** The end of each source's newest envelope, oldest first: of one source the network applies one per sequence number. */
  payers: Map<string, { untilMs: number }>;
  /** The end of the newest claim's validity. */
  claim: { untilMs: number } | undefined;
  /** The most competing payments at one time, of the last five minutes. */
  most: number;
  mostUntilMs: number;
}

const MOST_MERCHANTS = 10_000;
/** More payers than an envelope ever reserves keys for. */
const MOST_PAYERS = 64;
/** A merchant with many payers at one time soon has as many again. */
const LATELY_MS = 300_000;
const AFTER_A_COLLISION = 4;

/** `validForMs` is how long a prepared transaction can be applied. */
export function createMerchantEnvelopes(
  { now, validForMs }: { now: () => number; validForMs: number },
): MerchantEnvelopes {
  const merchants = new Map<string, Merchant>();

  /** Moves the merchant to the end, so that the map drops the least recently used first. */
  function of(address: string): Merchant {
    const merchant = merchants.get(address) ??
      { payers: new Map(), claim: undefined, most: 0, mostUntilMs: -Infinity };
    merchants.delete(address);
    merchants.set(address, merchant);
    if (merchants.size > MOST_MERCHANTS) merchants.delete(merchants.keys().next().value!);
    for (const [payer, { untilMs }] of merchant.payers) {
      if (untilMs >= now() && merchant.payers.size <= MOST_PAYERS) break;
      merchant.payers.delete(payer);
    }
    if (merchant.mostUntilMs < now()) merchant.most = 0;
    return merchant;
  }

  function atLeast(merchant: Merchant, payments: number): void {
    if (payments === 0 || payments < merchant.most) return;
    merchant.most = payments;
    merchant.mostUntilMs = now() + LATELY_MS;
  }

  return {
    handOut(address, source, kind) {
      const merchant = of(address);
      const untilMs = now() + validForMs;
      if (kind === "claim") {
        const before = merchant.claim;
        const claim = merchant.claim = { untilMs };
        return () => {
          if (merchant.claim === claim) merchant.claim = before;
        };
      }
      const before = merchant.payers.get(source);
      const handedOut = { untilMs };
      merchant.payers.delete(source);
      merchant.payers.set(source, handedOut);
      return () => {
        if (merchant.payers.get(source) !== handedOut) return;
        if (before === undefined) merchant.payers.delete(source);
        else merchant.payers.set(source, before);
      };
    },

    others(address, source, everywhere = { payments: 0, claim: false }) {
      const merchant = of(address);
      const isPayer = merchant.payers.has(source);
      const payments = Math.max(merchant.payers.size - (isPayer ? 1 : 0), everywhere.payments);
      if (isPayer) atLeast(merchant, payments);
      return {
        payments: Math.max(payments, merchant.most),
        claim: everywhere.claim || (merchant.claim !== undefined && merchant.claim.untilMs >= now()),
      };
    },

    confirmed(address, source, kind) {
      const merchant = of(address);
      if (kind === "claim") merchant.claim = undefined;
      else merchant.payers.delete(source);
    },

    collided(address) {
      const merchant = of(address);
      atLeast(merchant, Math.min(MOST_PAYERS, Math.max(AFTER_A_COLLISION, merchant.most * 2)));
    },
  };
}
