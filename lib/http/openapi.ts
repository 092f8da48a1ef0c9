import type { Hono } from "hono";
import type { z } from "zod";
import type { Endpoint } from "./endpoint.ts";
import type { AnySpec } from "./endpoint_spec.ts";
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_PATTERN } from "./validation/idempotency_key.ts";
import { errorSchema } from "./error_fields.ts";
import { MEDIA_TYPES } from "./file_formats.ts";
import type { AppEnv } from "./request_context.ts";
import { type DescribedErrors, errorsOf } from "./openapi_errors.ts";
import { createSchemaBook, type Json, type SchemaBook } from "./openapi_schemas.ts";
import { webhookDelivery } from "./routes/webhooks.ts";

const HEADERS = {
  "X-RateLimit-Limit": header("Rate of the key or the address: requests per minute.", "integer", 600),
  "X-RateLimit-Remaining": header("Requests that the client may send at once now.", "integer", 599),
  "RateLimit-Policy": header(
    "Rate limit policy (IETF draft): q is the quota, w the window in seconds.",
    "string",
    '"default";q=600;w=60',
  ),
  "RateLimit": header(
    "Rate limit state (IETF draft): r is the rest, t the seconds until the quota is full.",
    "string",
    '"default";r=599;t=1',
  ),
  "X-Request-Id": header("Id of the request, which the gateway's log shows too.", "string", "req_4jhH2f9sKq"),
};

const IDEMPOTENCY_PARAMETER = {
  name: IDEMPOTENCY_KEY,
  in: "header",
  required: false,
  description:
    "Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and " +
    "the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: " +
    "the operation happens once. The gateway refuses another body with the same key.",
  schema: { type: "string", pattern: IDEMPOTENCY_KEY_PATTERN, examples: ["order-2041"] },
};

const TAGS: Record<string, [title: string, description: string]> = {
  health: ["Health", "Whether the gateway is alive."],
  network: ["Network", "The network and the contracts behind the gateway."],
  devices: ["Cards", "Owner, policy and escrow balance of a card (a device)."],
  wallets: ["Wallets", "The cards of a wallet."],
  merchants: ["Merchants", "Payments that a merchant can claim."],
  assets: ["Assets", "Names of an asset, and the decimals of its amounts."],
  payments: ["Payments", "The payments of cards, their states, and whether one would pass."],
  events: ["Events", "The event history, for clients that pull."],
  transactions: ["Transactions", "Writes: prepare here, sign with your own key, submit here."],
  webhooks: ["Webhooks", "Events that the gateway pushes to a URL."],
  reconciliation: ["Books", "Whether the event history and the contracts agree."],
  status: ["Status", "Condition of the gateway."],
};

/** Not the tag of a path: openapi-generator writes one file for each tag, so the delivery would replace those endpoints. */
const DELIVERY_TAG = { name: "Deliveries", description: "The request that the gateway sends to a webhook." };

/** Recorded responses of a sandbox (`openapi_examples.json`; tests/http/openapi_examples_test.ts records them). */
export interface Examples {
  /** By operation id: parameters, request bodies by name, and response bodies by status and name. */
  operations: Record<string, {
    parameters?: Record<string, string>;
    requests?: Record<string, unknown>;
    responses: Record<string, Record<string, unknown>>;
  }>;
  /** An error body by code. */
  errors: Record<string, unknown>;
  /** An `invalid_request` body by status, for statuses other than 400. */
  invalidRequests: Record<string, unknown>;
  /** A delivery to a webhook. */
  delivery: { headers: Record<string, string>; body: unknown };
}

const NO_EXAMPLES: Examples = {
  operations: {},
  errors: {},
  invalidRequests: {},
  delivery: { headers: {}, body: undefined },
};

/** One endpoint with its specification. */
export interface Operation {
  method: string;
  /** Hono path, `/v1/devices/:hash`. */
  path: string;
  spec: AnySpec;
}

/** The endpoints of these nouns, with their specifications. */
export function operationsOf(nouns: readonly Hono<AppEnv>[]): Operation[] {
  return nouns.flatMap(({ routes }) =>
    routes.map(({ method, path, handler }) => ({
      method: method.toLowerCase(),
      path,
      spec: (handler as Endpoint).spec,
    }))
  );
}

/** The OpenAPI 3.1 description of these nouns, from the schemas that validate them. It contains nothing of a deployment. */
export function openApiDocument(nouns: readonly Hono<AppEnv>[], version: string, examples = NO_EXAMPLES): Json {
  const operations = operationsOf(nouns);
  const book = createSchemaBook();
  const paths: Record<string, Json> = {};
  for (const one of operations) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [one.method]: operation(one, book, examples) };
  }
  const errors = operations.flatMap(({ spec }) => errorsOf(spec));
  book.of(errorSchema, "output");
  const webhooks = { event: { post: deliveryOperation(book, examples) } };
  return {
    openapi: "3.1.1",
    info: {
      title: "Payment escrow gateway",
      version,
      description: "HTTP gateway in front of a device registry, an agent registry and a payment escrow on Stellar. " +
        "Amounts are decimal strings of the asset's smallest unit (of XLM a stroop, a ten-millionth of a lumen).",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This gateway" }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...Object.values(TAGS).map(([name, description]) => ({ name, description })), DELIVERY_TAG],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "API key (service_sk_…)" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "API key (service_sk_…)" },
      },
      schemas: book.components(),
      responses: Object.fromEntries(
        errors.map((one) => [one.name, errorResponse(one, errorExamples(one, examples))]),
      ),
      headers: HEADERS,
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
    content: {
      ...json(book.of(spec.response, "output"), examples[status], spec.mediaType),
      ...(spec.file === undefined ? {} : fileContent()),
    },
  });
  const status = spec.status ?? 200;
  return spec.isPlain === undefined
    ? { [status]: response(status) }
    : { 200: response(200), [status]: response(status) };
}

/** The forms of a file. */
function fileContent(): Json {
  return Object.fromEntries(Object.values(MEDIA_TYPES).map((type) => [type, { schema: { type: "string" } }]));
}

/** Recorded errors with this status, by code. */
function errorExamples({ status, codes }: DescribedErrors, { errors, invalidRequests }: Examples): Json {
  const recorded = (code: string) => status in invalidRequests ? invalidRequests[status] : errors[code];
  return Object.fromEntries(codes.map((code) => [code, recorded(code)]).filter(([, value]) => value !== undefined));
}

/** Statuses with a Retry-After header. */
const RETRY_AFTER = [409, 429, 503];

/** @param examples recorded error bodies by name */
function errorResponse({ status, description }: DescribedErrors, examples: Json): Json {
  const retryAfter = header("Seconds to wait before the next request.", "integer", 1);
  return {
    description,
    headers: { ...headerRefs(), ...(RETRY_AFTER.includes(status) ? { "Retry-After": retryAfter } : {}) },
    content: json({ $ref: "#/components/schemas/Error" }, examples),
  };
}

/** The recorded errors of this endpoint; for a status without any, the component that all endpoints share. */
function errorResponses(spec: AnySpec, examples: Record<string, Record<string, unknown>>): Json {
  return Object.fromEntries(
    errorsOf(spec).map((one) => {
      const own = examples[one.status];
      const shared = { $ref: `#/components/responses/${one.name}` };
      return [one.status, own === undefined ? shared : errorResponse(one, own)];
    }),
  );
}

function parameters(
  book: SchemaBook,
  schema: z.ZodType | undefined,
  place: "path" | "query",
  values: Record<string, string>,
): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = book.of(schema, "input") as {
    properties?: Record<string, { description?: string; type?: string; examples?: unknown[] }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, examples: [example] = [] as unknown[], ...rest }]) => {
    const recorded = values[name];
    // The reference page sends each parameter with an example of its own. Those of a schema are only shown: fromLedger and
    // cursor, for instance, exclude each other.
    const isSent = recorded !== undefined || place === "path";
    return {
      name,
      in: place,
      required: place === "path" || required.includes(name),
      description,
      // A list stands in a query as one text with commas.
      ...(rest.type === "array" ? { style: "form", explode: false } : {}),
      schema: isSent ? rest : { ...rest, examples: [example] },
      ...(isSent ? { example: rest.type === "integer" ? Number(recorded) : recorded ?? example } : {}),
    };
  });
}

/** A delivery: the request to the receiver, and the responses that it may send. */
function deliveryOperation(book: SchemaBook, { delivery: { headers, body } }: Examples): Json {
  return {
    operationId: "receiveEvent",
    summary: "The gateway delivers an event to a webhook",
    description:
      "The gateway delivers an event at least once: deduplicate on the event's id. Check the signature on the raw body first.",
    tags: [DELIVERY_TAG.name],
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
      "2XX": { description: "Received. Respond within ten seconds, and process the event afterwards." },
      "429": { description: "The gateway retries later, as after a 5xx. Retry-After can prolong the wait." },
      "4XX": {
        description:
          "Rejected. The gateway stores and counts the delivery, and does not retry. A replay sends it again.",
      },
      "5XX": { description: "The gateway retries later." },
    },
  };
}

const DELIVERY_HEADERS = {
  "X-Service-Signature": "t=<Unix seconds>,v1=<hex>: HMAC-SHA256 of `<t>.<raw body>`. The key is the whole secret.",
  "webhook-id": "Id of the event (Standard Webhooks).",
  "webhook-timestamp": "Time of the attempt in Unix seconds (Standard Webhooks).",
  "webhook-signature": "v1,<base64> (Standard Webhooks). The key is the part of the secret after whsec_.",
};

/** A header of a response, with an example. */
function header(description: string, type: "integer" | "string", example: number | string): Json {
  return { description, schema: { type }, example };
}

function headerRefs(): Json {
  return Object.fromEntries(Object.keys(HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function json(schema: Json, examples: Record<string, unknown> = {}, mediaType = "application/json"): Json {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  if (named.length === 0) return { [mediaType]: { schema } };
  return { [mediaType]: { schema, examples: Object.fromEntries(named) } };
}
