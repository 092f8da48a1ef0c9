import { type ErrorCode, ERRORS } from "../errors.ts";
import type { AnySpec } from "./endpoint_spec.ts";
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from "./validation/body.ts";
import { IDEMPOTENCY_KEY } from "./validation/idempotency_key.ts";

/** Errors of every endpoint with a scope, besides its own. */
const KEY_ERRORS: ErrorCode[] = [
  "invalid_request",
  "unauthorized",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "unavailable",
];
const OPEN_ERRORS: ErrorCode[] = ["internal_error", "unavailable"];

/** `invalid_request` with a status other than 400, of endpoints with a body or with an `Idempotency-Key`. */
const INVALID_REQUESTS: { status: number; name: string; meaning: string; of: "body" | "idempotent" }[] = [
  {
    status: 408,
    name: "BodyTooLate",
    meaning: `The body did not arrive within ${BODY_TIMEOUT_MS / 1_000} seconds; send the same request again.`,
    of: "body",
  },
  {
    status: 409,
    name: "IntentUnderWay",
    meaning:
      `Another request with this ${IDEMPOTENCY_KEY} is in progress, or the time bound of an earlier envelope has not passed. ` +
      "Send the same request again after Retry-After seconds.",
    of: "idempotent",
  },
  { status: 413, name: "BodyTooLarge", meaning: `The body is larger than ${MAX_BODY_BYTES / 1_024} KiB.`, of: "body" },
  {
    status: 415,
    name: "BodyEncoded",
    meaning: "The body has a Content-Encoding, which the gateway does not decode.",
    of: "body",
  },
];

/** The errors of an endpoint that share a status: OpenAPI allows one response for each status. */
export interface DescribedErrors {
  status: number;
  codes: ErrorCode[];
  /** Name of the component: `NotFound`, `DeviceNotFoundOrNotFound`. */
  name: string;
  description: string;
}

/** The errors of an endpoint by their status. */
export function errorsOf(spec: AnySpec): DescribedErrors[] {
  const codes = [...new Set([...(spec.scopes.length === 0 ? OPEN_ERRORS : KEY_ERRORS), ...spec.errors])];
  const usual = [...Map.groupBy(codes, (code) => ERRORS[code].status)].map(([status, codes]) => ({
    status,
    codes,
    name: codes.map(pascalCase).join("Or"),
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join("\n\n"),
  }));
  const invalid = INVALID_REQUESTS.filter(({ of }) => spec[of]).map(({ status, name, meaning }) => ({
    status,
    codes: ["invalid_request" as const],
    name,
    description: `\`invalid_request\`: ${meaning}`,
  }));
  return [...usual, ...invalid].sort((a, b) => a.status - b.status);
}

function pascalCase(code: ErrorCode): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
