import { GatewayError } from "../../errors.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";

/** What is kept at most: about 600 MB of a store. */
export const KEPT_INTENTS = { mostOfKey: 200_000, mostInAll: 1_000_000 } as const;

const param = IDEMPOTENCY_KEY;

export function anotherRequest(key: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${IDEMPOTENCY_KEY} ${JSON.stringify(key)} was used for another request: one key is for one intent, use a new one`,
    { param },
  );
}

/** The client that signed an earlier envelope is led back to what the newest one does. */
export function anotherTransaction(hash: string, isApplied: boolean): GatewayError {
  const what = isApplied ? "which was applied" : "which may still be applied";
  return new GatewayError(
    "invalid_request",
    `this ${IDEMPOTENCY_KEY} was used for transaction ${hash}, ${what}: prepare again with the same key to see what is left to do`,
    { param, retry: "prepare_again" },
  );
}

export function busy(waitMs: number): GatewayError {
  return conflict(`another request with this ${IDEMPOTENCY_KEY} is under way: send the same again in a moment`, waitMs);
}

/** The newest envelope is past its time bound, and others are not. */
export function waitForBounds(hash: string): GatewayError {
  const message =
    `transaction ${hash} of this ${IDEMPOTENCY_KEY} may still be applied, and no other can take its place: ` +
    "send the same again when its time bound has passed";
  return conflict(message, 30_000);
}

function conflict(message: string, waitMs: number): GatewayError {
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1_000))) };
  return new GatewayError("invalid_request", message, { status: 409, retry: "same", param, headers });
}

export function full(): GatewayError {
  const { mostOfKey, mostInAll } = KEPT_INTENTS;
  return new GatewayError(
    "rate_limited",
    `too many different values of ${IDEMPOTENCY_KEY} in seven days: at most ${mostOfKey} are kept of an API key and ` +
      `${mostInAll} in all; each goes seven days after it was used`,
    { param, headers: { "Retry-After": "3600" } },
  );
}

/** Told "refused for good", a client would pay some other way, and this transaction may be applied. */
export function refusedMeanwhile(hash: string, refusal: GatewayError): GatewayError {
  const location = `/v1/transactions/${hash}`;
  return new GatewayError(
    "upstream_error",
    `transaction ${hash} was turned down and may be applied all the same, while another in its place would be refused now ` +
      `(${refusal.message}): prepare again with the same key until that shows, or ask GET ${location}`,
    { headers: { Location: location }, cause: refusal },
  );
}

/** What became of a transaction cannot be told now, or (`isForGood`) ever. */
export function unknownOutcome({ hash, isForGood }: { hash: string; isForGood: boolean }): GatewayError {
  const location = `/v1/transactions/${hash}`;
  if (!isForGood) {
    return new GatewayError(
      "upstream_error",
      `the outcome of transaction ${hash} is not known: its source account does not exist any more; ask GET ${location}, ` +
        "or send the same again when its time bound has passed",
      { headers: { Location: location } },
    );
  }
  return new GatewayError(
    "invalid_request",
    `the outcome of transaction ${hash} can no longer be told: its sequence number is used, and the RPC nodes do not hold all ` +
      "ledgers that it may be in; look whether it was applied (in an archive, or by what it would have changed) before " +
      "preparing it with another key",
  );
}
