import { GatewayError } from "../../errors.ts";
import type { Verdict } from "../../limits/token_bucket.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { RequestContext } from "../request_context.ts";

/**
 * Takes the tokens of a request from its key; at once where the limiter need not ask the store.
 * @throws {GatewayError} `rate_limited`, with `Retry-After`
 */
export function takeFromKey(context: RequestContext, key: KeyRecord, cost: number): void | Promise<void> {
  const rate = context.parts.limiter.take(key.id, key.rate, cost);
  return rate instanceof Promise ? rate.then((r) => passOn(context, r, cost)) : passOn(context, rate, cost);
}

function passOn(context: RequestContext, rate: Verdict, cost: number): void {
  context.rate = rate;
  if (rate.allowed) return;
  context.parts.onLimited("key");
  const what = cost === 1 ? "" : `, and this request takes ${cost} of them`;
  throw rateLimited(`the rate limit of ${rate.limit} requests per minute is used up${what}`, rate.retryAfterSeconds);
}

/**
 * Takes a token from the address of a caller without a valid key, or with a wrong token: who guesses is slowed down.
 * @throws {GatewayError} `rate_limited`, with `Retry-After`
 */
export function takeFromAddress(context: RequestContext): void {
  const rate = context.parts.addresses.take(context.client);
  context.rate = rate;
  if (rate.allowed) return;
  context.parts.onLimited("address");
  throw rateLimited(
    `too many requests without a valid key: ${rate.limit} per minute from one address`,
    rate.retryAfterSeconds,
  );
}

function rateLimited(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError("rate_limited", message, { headers: { "Retry-After": String(retryAfterSeconds) } });
}
