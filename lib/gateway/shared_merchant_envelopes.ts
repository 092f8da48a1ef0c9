import type { SharedMerchantEnvelopes } from "../escrow/operations/merchant_envelopes.ts";
import { VALID_FOR_SECONDS } from "../stellar/transactions/prepare.ts";
import type { Store } from "../store/store.ts";

/** Until when the envelope is valid that a payer is out with, or the merchant to claim; Unix milliseconds, the newest last. */
type Out = Record<string, number>;

const CLAIM = "claim";
/** More than reserved keys are ever added for; a register holds 32 KiB. */
const MOST_OUT = 64;
const VALID_FOR_MS = VALID_FOR_SECONDS * 1_000;

/** What the gateways on a store have handed out for each merchant, in a register of the store, by the store's clock. */
export function createSharedMerchantEnvelopes({ sharedState }: Pick<Store, "sharedState">): SharedMerchantEnvelopes {
  const nameOf = (merchant: string) => `traffic ${merchant}`;
  const ownName = (source: string, kind: "authorize" | "claim") => kind === "claim" ? CLAIM : source;

  return {
    handOut: (merchant, source, kind) =>
      sharedState.change(nameOf(merchant), (out: Out = {}, nowMs) => {
        const own = ownName(source, kind);
        // One that is valid for longer than it ever is: by a time that was ahead.
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
