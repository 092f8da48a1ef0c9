import { z } from "zod";
import { type ErrorCode, ERRORS } from "../errors.ts";
import type { AnyRoute } from "./route.ts";

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

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 description of these routes, made from the schemas that validate them. Nothing of a deployment is in it. */
export function openApiDocument(routes: AnyRoute[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method]: operation(route) };
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
    },
  };
}

function operation(route: AnyRoute): Json {
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.path.split("/")[2]],
    ...(route.scope === null ? { security: [] } : { "x-scope": route.scope }),
    parameters: [...parameters(route.params, "path"), ...parameters(route.query, "query")],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: json(schemaOf(route.body, "input")) } }),
    responses: { ...goodResponses(route), ...errorResponses(route) },
  };
}

function goodResponses(route: AnyRoute): Json {
  const response = {
    description: "Success",
    headers: headerRefs(),
    content: json(schemaOf(route.answer, "output")),
  };
  const status = route.status ?? 200;
  return route.isPlain === undefined ? { [status]: response } : { 200: response, [status]: response };
}

/** `GET /v1/devices/:hash/policy` → `getDevicesHashPolicy`. */
function operationId({ method, path }: AnyRoute): string {
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
function errorResponses(route: AnyRoute): Json {
  const codes = [...new Set([...(route.scope === null ? OPEN_ERRORS : KEY_ERRORS), ...route.errors])];
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
          contractError: { type: "string", description: "Name of the contract's error, only with contract_refused" },
        },
      },
    },
  };
}
