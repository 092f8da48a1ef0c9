import type { Hono } from "hono";
import { z } from "zod";
import { type ErrorCode, ERRORS, RETRIES } from "../errors.ts";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { REFUSAL_REASONS } from "../escrow/reads/payment_check.ts";
import type { AnySpec, Endpoint } from "./endpoint.ts";
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_PATTERN } from "./validation/idempotency_key.ts";
import type { AppEnv } from "./exchange.ts";

/** Errors that any endpoint with a key may answer, beside its own. */
const KEY_ERRORS: ErrorCode[] = [
  "invalid_request",
  "unauthorized",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "unavailable",
];
const OPEN_ERRORS: ErrorCode[] = ["internal_error"];

const RATE_HEADERS = {
  "X-RateLimit-Limit": { description: "Requests per minute", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { description: "Requests left in the bucket", schema: { type: "integer" } },
  "RateLimit-Policy": { description: "IETF rate limit policy", schema: { type: "string" } },
  "RateLimit": { description: "IETF rate limit state", schema: { type: "string" } },
  "X-Request-Id": { description: "Names the request in the gateway's log", schema: { type: "string" } },
};

const IDEMPOTENCY_PARAMETER = {
  name: IDEMPOTENCY_KEY,
  in: "header",
  required: false,
  description:
    "Names what is meant to happen once, for seven days and this API key. Send the same again, with the same " +
    "body, after any failure: it is done once, however often it is asked for. Another body with the same key is refused.",
  schema: { type: "string", pattern: IDEMPOTENCY_KEY_PATTERN },
};

type Json = Record<string, unknown>;

/** One endpoint with what it says of itself. */
export interface Operation {
  method: string;
  /** Hono path, `/v1/devices/:hash`. */
  path: string;
  spec: AnySpec;
}

/** What the endpoints of these nouns say of themselves. */
export function operationsOf(nouns: readonly Hono<AppEnv>[]): Operation[] {
  return nouns.flatMap(({ routes }) =>
    routes.map(({ method, path, handler }) => ({
      method: method.toLowerCase(),
      path,
      spec: (handler as Endpoint).spec,
    }))
  );
}

/** The OpenAPI 3.1 description of these nouns, made from the schemas that validate them. Nothing of a deployment is in it. */
export function openApiDocument(nouns: readonly Hono<AppEnv>[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const one of operationsOf(nouns)) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [one.method]: operation(one) };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Payment escrow gateway",
      version,
      description: "HTTP gateway in front of a device registry, an agent registry and a payment escrow on Stellar. " +
        "Amounts are decimal strings of the asset's smallest unit.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "API key: service_sk_…" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      },
      schemas: { Error: errorSchema() },
      headers: RATE_HEADERS,
      parameters: { [IDEMPOTENCY_KEY]: IDEMPOTENCY_PARAMETER },
    },
  };
}

function operation({ method, path, spec }: Operation): Json {
  return {
    operationId: operationId(method, path),
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    tags: [path.split("/")[2]],
    ...(spec.scopes.length === 0 ? { security: [] } : { "x-scope": spec.scopes.join(" or ") }),
    parameters: [
      ...parameters(spec.params, "path"),
      ...parameters(spec.query, "query"),
      ...(spec.idempotent ? [{ $ref: `#/components/parameters/${IDEMPOTENCY_KEY}` }] : []),
    ],
    ...(spec.body === undefined
      ? {}
      : { requestBody: { required: true, content: json(schemaOf(spec.body, "input")) } }),
    responses: { ...goodResponses(spec), ...errorResponses(spec) },
  };
}

function goodResponses(spec: AnySpec): Json {
  const response = {
    description: "Success",
    headers: headerRefs(),
    content: { [spec.mediaType ?? "application/json"]: { schema: schemaOf(spec.answer, "output") } },
  };
  const status = spec.status ?? 200;
  return spec.isPlain === undefined ? { [status]: response } : { 200: response, [status]: response };
}

/** `GET /v1/devices/:hash/policy` → `getDevicesHashPolicy`. */
function operationId(method: string, path: string): string {
  const words = path.split("/").slice(2).map((part) => part.replace(":", ""));
  return method + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
  return rest;
}

function parameters(schema: z.ZodType | undefined, place: "path" | "query"): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

/** Errors that share a status stand together: OpenAPI has one response a status. */
function errorResponses(spec: AnySpec): Json {
  const codes = [...new Set([...(spec.scopes.length === 0 ? OPEN_ERRORS : KEY_ERRORS), ...spec.errors])];
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, same]) => [status, {
      description: same.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join("\n\n"),
      headers: {
        ...headerRefs(),
        ...(same.includes("rate_limited")
          ? { "Retry-After": { description: "Seconds to wait", schema: { type: "integer" } } }
          : {}),
      },
      content: json({ $ref: "#/components/schemas/Error" }),
    }]),
  );
}

function headerRefs(): Json {
  return Object.fromEntries(Object.keys(RATE_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

function errorSchema(): Json {
  return {
    type: "object",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["code", "message"],
        properties: {
          code: { type: "string", enum: Object.keys(ERRORS) },
          message: { type: "string" },
          contractError: {
            description:
              "Name of the contract's error, only with contract_refused; of a contract that is none of ours, " +
              "or an error that this version does not know, its number (#10) or the host's words for it",
            anyOf: [{ type: "string", enum: NAMED_CONTRACT_ERRORS }, { type: "string" }],
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
    },
  };
}
