/**
 * How a client may react to an error. `same`: send the same request again after a pause. `prepare_again`: the envelope
 * is spent, and a new one for the same operation may succeed. `never`: the same request fails again until something
 * else changes.
 */
export const RETRIES = ["same", "prepare_again", "never"] as const;
export type Retry = (typeof RETRIES)[number];

/** All errors of the gateway: code, HTTP status and meaning. */
export const ERRORS = {
  invalid_request: {
    status: 400,
    meaning: "The request is malformed, or the network rejects the transaction; transactionError then holds " +
      "the network's name for the reason.",
  },
  unauthorized: { status: 401, meaning: "The API key is missing, malformed, unknown, disabled or expired." },
  insufficient_scope: { status: 403, meaning: "The API key lacks the scope of this endpoint." },
  not_found: { status: 404, meaning: "The account, transaction, subscription or path does not exist." },
  device_not_found: { status: 404, meaning: "The device registry does not know this device." },
  agent_not_found: { status: 404, meaning: "No agent is registered for this device." },
  contract_refused: {
    status: 422,
    meaning: "A contract refused the operation; contractError holds the name of its error.",
  },
  rate_limited: {
    status: 429,
    meaning:
      "The rate, or another limit that the message names, is used up; Retry-After is the number of seconds to wait.",
  },
  internal_error: {
    status: 500,
    meaning: "Something went wrong inside the gateway; the log holds the details under the request id.",
  },
  upstream_error: { status: 502, meaning: "The RPC node failed, timed out or answered nonsense." },
  unavailable: {
    status: 503,
    meaning: "The gateway is shutting down, its store cannot be used right now, or all of its event streams are open.",
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** The statuses of `invalid_request`: the registry's, and HTTP's for a request that is wrong as a whole. */
export const INVALID_REQUEST_STATUSES = [400, 405, 408, 409, 413, 415] as const;

/** Errors that may pass in a moment. Any other request fails again. */
const PASSING: readonly ErrorCode[] = ["rate_limited", "internal_error", "upstream_error", "unavailable"];

export interface GatewayErrorOptions {
  /** Name of the contract's error, only with `contract_refused`. */
  contractError?: string;
  /** The network's name for its refusal of a transaction (`txBadSeq`). */
  transactionError?: string;
  /** The reason of `payments/check`, when the contract's name has several causes. */
  reason?: string;
  /** Overrides the code's default; see `RETRIES`. */
  retry?: Retry;
  /** The path of the wrong field of the request: `operation.amount`. */
  param?: string;
  /** Overrides the status of an `invalid_request`. */
  status?: typeof INVALID_REQUEST_STATUSES[number];
  /** Headers of the answer, such as `Allow`, `Location` or `Retry-After`. `unavailable` has the last one by default. */
  headers?: Record<string, string>;
  /** The cause, logged but never sent to the client. */
  cause?: unknown;
}

/** An error with an answer for the client. Thrown anywhere, rendered in one place (`http/app.ts`). */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly contractError: string | undefined;
  readonly transactionError: string | undefined;
  readonly reason: string | undefined;
  readonly retry: Retry;
  readonly param: string | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "GatewayError";
    this.code = code;
    this.status = options.status ?? ERRORS[code].status;
    this.contractError = options.contractError;
    this.transactionError = options.transactionError;
    this.reason = options.reason;
    this.retry = options.retry ?? (PASSING.includes(code) ? "same" : "never");
    this.param = options.param;
    this.headers = { ...(code === "unavailable" ? { "Retry-After": "1" } : {}), ...options.headers };
  }

  /** The same error with more text. */
  saying(more: string): GatewayError {
    const status = this.status as GatewayErrorOptions["status"];
    return new GatewayError(this.code, `${this.message}; ${more}`, { ...this, status, cause: this.cause });
  }
}
