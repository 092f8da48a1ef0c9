import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { REFUSAL_REASONS } from "../escrow/reads/payment_check.ts";
import { type ErrorCode, ERRORS, RETRIES } from "../errors.ts";
import type { AnySpec } from "./endpoint.ts";
import type { Json } from "./openapi_schemas.ts";

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

/** The errors of an endpoint by their status: OpenAPI has one response a status. */
export function errorsByStatus(spec: AnySpec): [status: number, codes: ErrorCode[]][] {
  const codes = [...new Set([...(spec.scopes.length === 0 ? OPEN_ERRORS : KEY_ERRORS), ...spec.errors])];
  return [...Map.groupBy(codes, (code) => ERRORS[code].status)].sort(([a], [b]) => a - b);
}

/** The component of the errors that share a status: `NotFound`, `DeviceNotFoundOrNotFound`. */
export function responseName(codes: readonly ErrorCode[]): string {
  return codes.map((code) => code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())).join("Or");
}

/**
 * What is answered for these errors.
 * @param examples each error as a run has answered it
 */
export function errorResponse(codes: readonly ErrorCode[], headers: Json, examples: Record<string, unknown>): Json {
  const shown = codes.filter((code) => examples[code] !== undefined);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join("\n\n"),
    headers: {
      ...headers,
      ...(codes.includes("rate_limited")
        ? { "Retry-After": { description: "Seconds to wait", schema: { type: "integer" } } }
        : {}),
    },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        ...(shown.length === 0
          ? {}
          : { examples: Object.fromEntries(shown.map((code) => [code, { value: examples[code] }])) }),
      },
    },
  };
}

/** What every error looks like. */
export function errorSchemas(): Record<string, Json> {
  return {
    Error: {
      type: "object",
      required: ["error"],
      properties: { error: { $ref: "#/components/schemas/ErrorDetail" } },
    },
    ErrorCode: { type: "string", enum: Object.keys(ERRORS) },
    ErrorDetail: {
      type: "object",
      required: ["code", "message", "retry"],
      properties: {
        code: { $ref: "#/components/schemas/ErrorCode" },
        message: { type: "string", description: "For people; a program goes by the other fields" },
        contractError: {
          type: "string",
          description: "Name of the contract's error, only with contract_refused: " +
            `${NAMED_CONTRACT_ERRORS.join(", ")}; of a contract that is none of ours, or an error that this version ` +
            "does not know, its number (#10) or the host's words for it",
        },
        transactionError: {
          type: "string",
          description: "The network's name for why it did not apply the transaction: txBadSeq, txTooLate, …",
        },
        reason: {
          type: "string",
          enum: [...REFUSAL_REASONS],
          description: "That of /v1/payments/check, where the contract's name stands for several causes",
        },
        retry: {
          type: "string",
          enum: [...RETRIES],
          description:
            "same: send the same again after a pause. prepare_again: the envelope is spent, prepare another. " +
            "never: the same is refused again, until something else has changed",
        },
        param: { type: "string", description: "The field or parameter at fault" },
      },
    },
  };
}
