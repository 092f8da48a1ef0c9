import { GatewayError } from "../../errors.ts";
import type { Submit } from "./transactions.ts";

/** Submits of one API key under way at once, at each gateway. */
export const MOST_SUBMITS = 50;

/**
 * Bounds the submits of a key, because each may wait a minute for its confirmation. `onLimited` is called for each refusal,
 * a `rate_limited` with `Retry-After`.
 */
export function limitSubmits(submit: Submit, onLimited: () => void): Submit {
  const underWay = new Map<string, number>();
  return async function submitWithin(xdr, caller, note) {
    const { keyId } = caller;
    const count = underWay.get(keyId) ?? 0;
    if (count >= MOST_SUBMITS) {
      onLimited();
      const message = `${MOST_SUBMITS} submits of this API key are under way; wait for one of their answers`;
      throw new GatewayError("rate_limited", message, { headers: { "Retry-After": "1" } });
    }
    underWay.set(keyId, count + 1);
    try {
      return await submit(xdr, caller, note);
    } finally {
      const left = underWay.get(keyId)! - 1;
      if (left === 0) underWay.delete(keyId);
      else underWay.set(keyId, left);
    }
  };
}
