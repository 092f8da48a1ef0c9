import { GatewayError } from "../../errors.ts";
import type { Verdict } from "../../limits/token_bucket.ts";
import type { KeyRecord } from "../../store/store.ts";
import { after, type RequestContext } from "../request_context.ts";

/**
 * Takes the tokens of a request from its key; synchronous where the limiter does not need the store.
 * @throws {GatewayError} `rate_limited`, with `Retry-After`
 */
export function takeFromKey(context: RequestContext, key: KeyRecord, cost: number): void | Promise<void> {
  return after(context.parts.limiter.take(key.id, key.rate, cost), (rate) => {
    context.rate = rate;
    if (rate.allowed) return;
    context.parts.onLimited("key");
    const detail = cost === 1 ? "" : `, and this request costs ${cost} requests`;
    throw rateLimited(`the rate limit of ${rate.limit} requests per minute is used up${detail}`, rate);
  });
}

/**
 * Takes a token from the address of a caller without a valid key or metrics token. This slows down guessing.
 * @throws {GatewayError} `rate_limited`, with `Retry-After`
 */
export function takeFromAddress(context: RequestContext): void {
  const rate = context.parts.addresses.take(context.client);
  context.rate = rate;
  if (rate.allowed) return;
  context.parts.onLimited("address");
  throw rateLimited(`too many requests without a valid key; an address may send ${rate.limit} per minute`, rate);
}

function rateLimited(message: string, { retryAfterSeconds }: Verdict): GatewayError {
  return new GatewayError("rate_limited", message, { headers: { "Retry-After": String(retryAfterSeconds) } });
}
