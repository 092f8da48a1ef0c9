import { GatewayError } from "../../errors.ts";
import { IDEMPOTENCY_KEY } from "../validation/idempotency_key.ts";

/** Most intents in the store: about 600 MB. */
export const KEPT_INTENTS = { mostOfKey: 200_000, mostInAll: 1_000_000 } as const;

const param = IDEMPOTENCY_KEY;

export function anotherRequest(key: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${IDEMPOTENCY_KEY} ${JSON.stringify(key)} belongs to another request: use a new key for a new request`,
    { param },
  );
}

/** The client has signed another envelope than the intent's live or applied one. */
export function anotherTransaction(hash: string, isApplied: boolean): GatewayError {
  const state = isApplied ? "which the network has applied" : "which the network may still apply";
  return new GatewayError(
    "invalid_request",
    `this ${IDEMPOTENCY_KEY} belongs to transaction ${hash}, ${state}: prepare again with the same key to get its state`,
    { param, retry: "prepare_again" },
  );
}

export function busy(waitMs: number): GatewayError {
  return conflict(
    `another request with this ${IDEMPOTENCY_KEY} is in progress: send the same request again after Retry-After seconds`,
    waitMs,
  );
}

/** The newest envelope is past its time bound, and earlier ones are not. */
export function waitForBounds(hash: string): GatewayError {
  const message = `the network may still apply transaction ${hash} of this ${IDEMPOTENCY_KEY}: ` +
    "send the same request again when the transaction's time bound has passed";
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
    `too many values of ${IDEMPOTENCY_KEY}: the gateway stores at most ${mostOfKey} for an API key and ${mostInAll} in all, ` +
      "for seven days after their last use",
    { param, headers: { "Retry-After": "3600" } },
  );
}

/** A final refusal would make the client pay in another way, while the network may still apply this transaction. */
export function refusedMeanwhile(hash: string, refusal: GatewayError): GatewayError {
  const location = `/v1/transactions/${hash}`;
  return new GatewayError(
    "upstream_error",
    `the network rejected transaction ${hash} and may still apply it, and it would refuse a replacement now ` +
      `(${refusal.message}): prepare again with the same key until the outcome is known, or call GET ${location}`,
    { headers: { Location: location }, cause: refusal },
  );
}

/** The outcome of a transaction is unknown now, or (`isPermanent`) stays unknown. */
export function unknownOutcome({ hash, isPermanent }: { hash: string; isPermanent: boolean }): GatewayError {
  const location = `/v1/transactions/${hash}`;
  if (!isPermanent) {
    return new GatewayError(
      "upstream_error",
      `the outcome of transaction ${hash} is unknown, because its source account no longer exists: call GET ${location}, ` +
        "or send the same request again when its time bound has passed",
      { headers: { Location: location } },
    );
  }
  return new GatewayError(
    "invalid_request",
    `the outcome of transaction ${hash} stays unknown, because its sequence number is used and the RPC nodes have pruned ` +
      "ledgers that may contain it. Check in an archive, or by the transaction's effects, whether the network applied it. " +
      "Only then prepare again with another key",
  );
}
