/** The envelopes of a merchant that may be applied before one that is being prepared. */
export interface CompetingEnvelopes {
  payments: number;
  claim: boolean;
}

/**
 * Remembers for each merchant who has an envelope that may still be applied, and how many there were at once lately. As
 * many may come in between again.
 */
export interface MerchantEnvelopes {
  /** Notes that a payer is being handed a payment, or the merchant a claim; answers how to take that back. */
  handOut(merchant: string, source: string, kind: "authorize" | "claim"): () => void;
  /** `everywhere`: what all gateways on the store are known to be out with. */
  others(merchant: string, source: string, everywhere?: CompetingEnvelopes): CompetingEnvelopes;
  /** An envelope was applied: it is out no more. */
  confirmed(merchant: string, source: string, kind: "authorize" | "claim"): void;
  /** A payment or claim failed since others came in between whom this gateway did not foresee. */
  collided(merchant: string): void;
}

/** The same of all gateways on a store. */
export interface SharedMerchantEnvelopes {
  /** Notes it there, and answers what else is out. */
  handOut(merchant: string, source: string, kind: "authorize" | "claim"): Promise<CompetingEnvelopes>;
  confirmed(merchant: string, source: string, kind: "authorize" | "claim"): Promise<void>;
}

interface Merchant {
  /** By source, for a sequence number is applied once; each until when its newest envelope is valid, oldest first. */
  payers: Map<string, { untilMs: number }>;
  /** Until when its newest claim is valid. */
  claim: { untilMs: number } | undefined;
  /** The most other payments that one was out with of late. */
  most: number;
  mostUntilMs: number;
}

const MOST_MERCHANTS = 10_000;
/** More payers than reserved keys are ever added for. */
const MOST_PAYERS = 64;
/** A merchant with one crowd at the till soon has another. */
const LATELY_MS = 300_000;
const AFTER_A_COLLISION = 4;

/** `validForMs` is how long a prepared transaction can be applied. */
export function createMerchantEnvelopes(
  { now, validForMs }: { now: () => number; validForMs: number },
): MerchantEnvelopes {
  const merchants = new Map<string, Merchant>();

  /** Set again at each use, so that the least recently used go first. */
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
