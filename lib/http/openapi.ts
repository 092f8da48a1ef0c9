import type { Hono } from "hono";
import type { z } from "zod";
import type { Endpoint } from "./endpoint.ts";
import type { AnySpec } from "./endpoint_spec.ts";
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_PATTERN } from "./validation/idempotency_key.ts";
import { errorAnswer } from "./error_fields.ts";
import type { AppEnv } from "./request_context.ts";
import { type DescribedErrors, errorResponse, errorsOf } from "./openapi_errors.ts";
import { createSchemaBook, type Json, type SchemaBook } from "./openapi_schemas.ts";
import { webhookDelivery } from "./routes/webhooks.ts";

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

const TAGS: Record<string, [title: string, description: string]> = {
  health: ["Health", "Whether the gateway is alive."],
  network: ["Network", "Which network and contracts the gateway stands in front of."],
  devices: ["Cards", "Who owns a card (a device), what its agent may spend, what its escrow holds."],
  wallets: ["Wallets", "The cards of a wallet."],
  merchants: ["Merchants", "What a merchant can claim."],
  assets: ["Assets", "How an asset is called, and how its amounts are written."],
  payments: ["Payments", "Whether a payment would pass."],
  events: ["Events", "What has happened, pulled."],
  transactions: ["Transactions", "Writes: prepare here, sign where the key lives, submit here."],
  webhooks: ["Webhooks", "What has happened, pushed."],
  status: ["Status", "How the gateway stands."],
};

/** What a run against the sandbox answered (`openapi_examples.json`, made by tests/http/openapi_examples_test.ts). */
export interface Examples {
  /** By operation id: the body sent, and what was answered by status and a name. */
  operations: Record<string, {
    parameters?: Record<string, string>;
    requests?: Record<string, unknown>;
    responses: Record<string, Record<string, unknown>>;
  }>;
  /** By code: an error of an endpoint that may answer it. */
  errors: Record<string, unknown>;
  /** By status: an \`invalid_request\` with another one than 400. */
  invalidRequests: Record<string, unknown>;
  /** A delivery: its headers and its body. */
  delivery: { headers: Record<string, string>; body: unknown };
}

const NO_EXAMPLES: Examples = {
  operations: {},
  errors: {},
  invalidRequests: {},
  delivery: { headers: {}, body: undefined },
};

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
export function openApiDocument(nouns: readonly Hono<AppEnv>[], version: string, examples = NO_EXAMPLES): Json {
  const operations = operationsOf(nouns);
  const book = createSchemaBook();
  const paths: Record<string, Json> = {};
  for (const one of operations) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [one.method]: operation(one, book, examples) };
  }
  const errors = operations.flatMap(({ spec }) => errorsOf(spec));
  book.of(errorAnswer, "output");
  const webhooks = { event: { post: deliveryOperation(book, examples) } };
  return {
    openapi: "3.1.1",
    info: {
      title: "Payment escrow gateway",
      version,
      description: "HTTP gateway in front of a device registry, an agent registry and a payment escrow on Stellar. " +
        "Amounts are decimal strings of the asset's smallest unit (of XLM a stroop, a ten-millionth).",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The gateway that serves this description" }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: Object.values(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "API key: service_sk_…" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "API key: service_sk_…" },
      },
      schemas: book.components(),
      responses: Object.fromEntries(
        errors.map((one) => [one.name, errorResponse(one, headerRefs(), errorExamples(one, examples))]),
      ),
      headers: RATE_HEADERS,
      parameters: { [IDEMPOTENCY_KEY]: IDEMPOTENCY_PARAMETER },
    },
  };
}

function operation({ path, spec }: Operation, book: SchemaBook, { operations }: Examples): Json {
  const { parameters: values = {}, requests, responses = {} } = operations[spec.operationId] ?? {};
  const noun = path.split("/")[2]!;
  return {
    operationId: spec.operationId,
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    tags: [TAGS[noun]?.[0] ?? noun],
    ...(spec.scopes.length === 0 ? { security: [] } : { "x-scope": spec.scopes.join(" or ") }),
    parameters: [
      ...parameters(book, spec.params, "path", values),
      ...parameters(book, spec.query, "query", values),
      ...(spec.idempotent ? [{ $ref: `#/components/parameters/${IDEMPOTENCY_KEY}` }] : []),
    ],
    ...(spec.body === undefined
      ? {}
      : { requestBody: { required: true, content: json(book.of(spec.body, "input"), requests) } }),
    responses: { ...goodResponses(spec, book, responses), ...errorResponses(spec, responses) },
  };
}

function goodResponses(spec: AnySpec, book: SchemaBook, examples: Record<string, Record<string, unknown>>): Json {
  const response = (status: number) => ({
    description: "Success",
    headers: headerRefs(),
    content: json(book.of(spec.answer, "output"), examples[status], spec.mediaType),
  });
  const status = spec.status ?? 200;
  return spec.isPlain === undefined
    ? { [status]: response(status) }
    : { 200: response(200), [status]: response(status) };
}

/** What a run was answered with this status, by code. */
function errorExamples({ status, codes }: DescribedErrors, { errors, invalidRequests }: Examples): Json {
  const answered = (code: string) => status in invalidRequests ? invalidRequests[status] : errors[code];
  return Object.fromEntries(codes.map((code) => [code, answered(code)]).filter(([, value]) => value !== undefined));
}

/** A response of its own where this endpoint was seen to answer such an error, else the one that all share. */
function errorResponses(spec: AnySpec, examples: Record<string, Record<string, unknown>>): Json {
  return Object.fromEntries(
    errorsOf(spec).map((one) => {
      const own = examples[one.status];
      const shared = { $ref: `#/components/responses/${one.name}` };
      return [one.status, own === undefined ? shared : errorResponse(one, headerRefs(), own)];
    }),
  );
}

function parameters(
  book: SchemaBook,
  schema: z.ZodType | undefined,
  place: "path" | "query",
  examples: Record<string, string>,
): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = book.of(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    // A list stands in a query as one text with commas.
    ...(rest.type === "array" ? { style: "form", explode: false } : {}),
    schema: rest,
    ...(examples[name] === undefined
      ? {}
      : { example: rest.type === "integer" ? Number(examples[name]) : examples[name] }),
  }));
}

/** What a webhook's receiver is sent, and what it should answer. */
function deliveryOperation(book: SchemaBook, { delivery: { headers, body } }: Examples): Json {
  return {
    operationId: "receiveEvent",
    summary: "An event is delivered to a webhook",
    description:
      "At least once: deduplicate on the event's id. Check the signature on the raw body before anything else.",
    tags: [TAGS.webhooks![0]],
    security: [],
    parameters: Object.entries(DELIVERY_HEADERS).map(([name, description]) => ({
      name,
      in: "header",
      required: true,
      description,
      schema: { type: "string" },
      ...(headers[name] === undefined ? {} : { example: headers[name] }),
    })),
    requestBody: {
      required: true,
      content: json(book.of(webhookDelivery, "output"), body === undefined ? undefined : { delivery: body }),
    },
    responses: {
      "2XX": { description: "Received. Answer within ten seconds, and work afterwards." },
      "429": { description: "Tried again later, as with a 5xx; Retry-After can make it longer." },
      "4XX": { description: "Rejected: kept and counted, not tried again; a replay sends it once more." },
      "5XX": { description: "Tried again later." },
    },
  };
}

const DELIVERY_HEADERS = {
  "X-Service-Signature": "t=<Unix seconds>,v1=<hex>: HMAC-SHA256 of `<t>.<raw body>`, keyed with the whole secret",
  "webhook-id": "The event's id (Standard Webhooks)",
  "webhook-timestamp": "Unix seconds (Standard Webhooks)",
  "webhook-signature": "v1,<base64> (Standard Webhooks), keyed with what stands behind whsec_",
};

function headerRefs(): Json {
  return Object.fromEntries(Object.keys(RATE_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function json(schema: Json, examples?: Record<string, unknown>, mediaType = "application/json"): Json {
  if (examples === undefined) return { [mediaType]: { schema } };
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { [mediaType]: { schema, examples: Object.fromEntries(named) } };
}
