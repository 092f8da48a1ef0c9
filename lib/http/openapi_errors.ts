import { type ErrorCode, ERRORS } from "../errors.ts";
import type { AnySpec } from "./endpoint_spec.ts";
import type { Json } from "./openapi_schemas.ts";
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from "./validation/body.ts";
import { IDEMPOTENCY_KEY } from "./validation/idempotency_key.ts";

/** Errors that any endpoint with a key may answer, beside its own. */
const KEY_ERRORS: ErrorCode[] = [
  "invalid_request",
  "unauthorized",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "unavailable",
];
const OPEN_ERRORS: ErrorCode[] = ["internal_error", "unavailable"];

/** `invalid_request` with another status than 400, as far as an endpoint of its own makes it so. */
const INVALID_REQUESTS: { status: number; name: string; meaning: string; isOf(spec: AnySpec): boolean }[] = [
  {
    status: 408,
    name: "BodyTooLate",
    meaning: `The body did not come within ${BODY_TIMEOUT_MS / 1_000} seconds; the same may be sent again.`,
    isOf: ({ body }) => body !== undefined,
  },
  {
    status: 409,
    name: "IntentUnderWay",
    meaning:
      `Another request with this ${IDEMPOTENCY_KEY} is under way, or an envelope of it has to pass its time bound first; ` +
      "send the same again after Retry-After seconds.",
    isOf: ({ idempotent = false }) => idempotent,
  },
  {
    status: 413,
    name: "BodyTooLarge",
    meaning: `The body is larger than ${MAX_BODY_BYTES / 1_024} KiB.`,
    isOf: ({ body }) => body !== undefined,
  },
];

/** The errors of an endpoint that share a status: OpenAPI has one response a status. */
export interface DescribedErrors {
  status: number;
  codes: ErrorCode[];
  /** The component that describes them: `NotFound`, `DeviceNotFoundOrNotFound`. */
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
  const invalid = INVALID_REQUESTS.filter(({ isOf }) => isOf(spec)).map(({ status, name, meaning }) => ({
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

/** Statuses that say how long to wait. */
const WAITING = [409, 429, 503];

/**
 * What is answered for these errors.
 * @param examples by a name each: errors as a run has answered them
 */
export function errorResponse(
  { status, description }: DescribedErrors,
  headers: Json,
  examples: Record<string, unknown>,
): Json {
  const shown = Object.entries(examples).map(([name, value]) => [name, { value }]);
  const retryAfter = { description: "Seconds to wait", schema: { type: "integer" } };
  return {
    description,
    headers: { ...headers, ...(WAITING.includes(status) ? { "Retry-After": retryAfter } : {}) },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        ...(shown.length === 0 ? {} : { examples: Object.fromEntries(shown) }),
      },
    },
  };
}
