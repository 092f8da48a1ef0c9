/**
 * What a program may do about an error. `same`: send the same request again after a pause. `prepare_again`: the envelope is
 * spent, another one for the same operation may go through. `never`: the same again is refused again, until something else
 * has changed.
 */
export const RETRIES = ["same", "prepare_again", "never"] as const;
export type Retry = (typeof RETRIES)[number];

/** Every error the gateway answers with: one registry of code, HTTP status and meaning. */
export const ERRORS = {
  invalid_request: {
    status: 400,
    meaning:
      "The request is malformed, or the network rejects the transaction for its own sake: transactionError holds " +
      "the network's name for that.",
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
      "The rate, or another limit that the message names, is used up; Retry-After says how many seconds to wait.",
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

/** The statuses of `invalid_request`: the registry's, and those that HTTP has for a request that is wrong as a whole. */
export const INVALID_REQUEST_STATUSES = [400, 405, 408, 409, 413, 415] as const;

/** Trouble that may be over in a moment; what is not listed is refused again. */
const PASSING: readonly ErrorCode[] = ["rate_limited", "internal_error", "upstream_error", "unavailable"];

export interface GatewayErrorOptions {
  /** Name of the contract's error, only with `contract_refused`. */
  contractError?: string;
  /** The network's name for why it did not apply a transaction (`txBadSeq`), where it was the network that refused. */
  transactionError?: string;
  /** The reason of `payments/check`, where the contract's name stands for several causes. */
  reason?: string;
  /** Another one than the code's: see `RETRIES`. */
  retry?: Retry;
  /** The field of the request that is at fault, by its path: `operation.amount`. */
  param?: string;
  /** Another status than the registry's, of an `invalid_request`. */
  status?: typeof INVALID_REQUEST_STATUSES[number];
  /** Headers of the answer, such as `Allow`, `Location`, or `Retry-After`, which `unavailable` has also by itself. */
  headers?: Record<string, string>;
  /** What went wrong underneath: logged, never answered. */
  cause?: unknown;
}

/** An error that has an answer: thrown anywhere, rendered in one place (`http/app.ts`). */
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

  /** The same error, whose message goes on. */
  saying(more: string): GatewayError {
    const status = this.status as GatewayErrorOptions["status"];
    return new GatewayError(this.code, `${this.message}; ${more}`, { ...this, status, cause: this.cause });
  }
}
