import type { SharedMerchantEnvelopes } from "../escrow/operations/merchant_envelopes.ts";
import { VALID_FOR_SECONDS } from "../stellar/transactions/prepare.ts";
import type { Store } from "../store/store.ts";

/** End of validity of each payer's open envelope, and of the merchant's claim, in Unix milliseconds; the newest last. */
type Out = Record<string, number>;

const CLAIM = "claim";
/** More than the reserved slots; a value of the shared state has at most 32 KiB. */
const MOST_OUT = 64;
const VALID_FOR_MS = VALID_FOR_SECONDS * 1_000;

/** Open envelopes of all gateways on a store for each merchant, in the store's shared state, by the store's clock. */
export function createSharedMerchantEnvelopes({ sharedState }: Pick<Store, "sharedState">): SharedMerchantEnvelopes {
  const nameOf = (merchant: string) => `envelopes ${merchant}`;
  const ownName = (source: string, kind: "authorize" | "claim") => kind === "claim" ? CLAIM : source;

  return {
    handOut: (merchant, source, kind) =>
      sharedState.change(nameOf(merchant), (out: Out = {}, nowMs) => {
        const own = ownName(source, kind);
        // A longer validity than any envelope has comes from a clock that was ahead.
        const isValid = (untilMs: number) => untilMs > nowMs && untilMs <= nowMs + VALID_FOR_MS;
        const others = Object.entries(out).filter(([name, untilMs]) => name !== own && isValid(untilMs))
          .slice(1 - MOST_OUT);
        return {
          value: Object.fromEntries([...others, [own, nowMs + VALID_FOR_MS]]),
          keepMs: VALID_FOR_MS,
          answer: {
            payments: others.filter(([name]) => name !== CLAIM && name !== source).length,
            claim: others.some(([name]) => name === CLAIM),
          },
        };
      }),
    confirmed: (merchant, source, kind) =>
      sharedState.change(nameOf(merchant), (out: Out = {}) => {
        const { [ownName(source, kind)]: own, ...others } = out;
        return { value: own === undefined ? undefined : others, keepMs: VALID_FOR_MS, answer: undefined };
      }),
  };
}
