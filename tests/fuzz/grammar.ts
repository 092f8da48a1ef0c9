import fc from "fast-check";

/** A JSON schema as OpenAPI 3.1 has it, as far as the generator reads it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components?: Record<string, unknown>;
}

/** A request that an OpenAPI description allows, or nearly allows. */
export interface FuzzRequest {
  /** The operation from which the request was made: `POST /v1/payments/check`. */
  operation: string;
  method: string;
  /** With its query. */
  path: string;
  /** Sent unchanged. Undefined for a request without a body. */
  body: string | undefined;
  headers: Record<string, string>;
}

/** Values that mean something where the tests run, by the names of fields; `any` fits anywhere. */
export type Samples = Record<string, readonly unknown[]>;

/** Values that no schema asks for. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  "",
  " ",
  "\u0000",
  "\ud800",
  "‮\u001b[2J",
  "null",
  "-1",
  "0",
  "00",
  "1e3",
  "170141183460469231731687303715884105728",
  "18446744073709551616",
  -1,
  0,
  1.5,
  2 ** 53,
  1e308,
  [],
  {},
  [[]],
  { kind: "claim" },
  "__proto__",
  "a".repeat(5_000),
  "9".repeat(400),
  "..",
  "%00",
  "💥",
];

/** Requests of every operation: mostly right, with something wrong now and then. */
export function requestsOf(document: OpenApi, samples: Samples): fc.Arbitrary<FuzzRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestOf(document, samples, path, method, operation))
  );
  return fc.oneof(...operations);
}

function requestOf(
  document: OpenApi,
  samples: Samples,
  path: string,
  method: string,
  { parameters = [], requestBody }: Operation,
): fc.Arbitrary<FuzzRequest> {
  const fieldOf = ({ name, schema }: Parameter) => valueOf(document, samples, schema, name).map(asText);
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const schema = requestBody?.content["application/json"]?.schema;
  const body = schema === undefined
    ? often(fc.constant(undefined), fc.oneof(fc.constantFrom("{}", "", "null", "[1]", "{"), fc.json()))
    : often(
      valueOf(document, samples, schema, "").map((value) => JSON.stringify(value)),
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.constantFrom("", "{", "[", "\u0000", "{}}", '{"a":1,"a":2}', "[".repeat(20_000)),
      ),
    );
  return fc.record({
    method: often(
      fc.constant(method.toUpperCase()),
      fc.constantFrom(..."GET POST PUT DELETE PATCH OPTIONS".split(" ")),
    ),
    steps: fc.tuple(...inPath.map(fieldOf)),
    query: queryOf(inQuery, fieldOf),
    body,
    headers: headersOf(),
  }).map(({ method: sent, steps, query, body: content, headers }) => {
    const named = new Map(inPath.map(({ name }, at) => [name, steps[at]!]));
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => encoded(named.get(name) ?? ""));
    const hasBody = sent !== "GET" && content !== undefined;
    return {
      operation: `${method.toUpperCase()} ${path}`,
      method: sent,
      path: filled + (query === "" ? "" : `?${query}`),
      body: hasBody ? content : undefined,
      headers: hasBody ? { "content-type": "application/json", ...headers } : headers,
    };
  });
}

/** The first in nine of ten cases. */
function often<A, B>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<B>): fc.Arbitrary<A | B> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function queryOf(
  parameters: Parameter[],
  fieldOf: (parameter: Parameter) => fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const known = parameters.map((parameter) =>
    fc.option(fieldOf(parameter).map((value) => `${parameter.name}=${encoded(value)}`), { nil: undefined, freq: 3 })
  );
  const usual = fc.tuple(...known).map((pairs) => pairs.filter((pair) => pair !== undefined).join("&"));
  return often(
    parameters.length === 0 ? fc.constant("") : usual,
    fc.oneof(fc.webQueryParameters(), usual.map((query) => `${query}&${query}`), fc.constant("a&".repeat(100))),
  );
}

function headersOf(): fc.Arbitrary<Record<string, string>> {
  const odd = fc.record({
    "x-request-id": fc.stringMatching(/^[ -~]{0,70}$/),
    "content-type": fc.constantFrom("text/plain", "application/json; charset=utf-8", "application/xml", ""),
    "origin": fc.webUrl(),
    "accept": fc.constantFrom("text/html", "text/event-stream", "*/*;q=0"),
    "x-forwarded-for": fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("unknown, , ,")),
    "authorization": fc.constantFrom("Bearer", "Bearer x", "Basic dXNlcjpwYXNz", "Bearer service_sk_a_b"),
  }, { requiredKeys: [] });
  return often(fc.constant({}), odd);
}

/** Encodes a step of a path or a value of a query, as most clients do. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** Values of a schema, those of the samples where there are any of this name, and odd ones. */
function valueOf(document: OpenApi, samples: Samples, schema: Schema, name: string): fc.Arbitrary<unknown> {
  const right = rightOf(document, samples, schema, name);
  const known = samples[name] ?? samples[schema.pattern ?? ""];
  const usual = known === undefined
    ? right
    : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: right });
  return fc.oneof(
    { weight: 30, arbitrary: usual },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_VALUES) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

function rightOf(document: OpenApi, samples: Samples, schema: Schema, name: string): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return rightOf(document, samples, resolved(document, schema.$ref), name);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => rightOf(document, samples, choice, name)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = typeof schema.type === "string" ? [schema.type] : schema.type ?? ["null"];
  return fc.oneof(...types.map((type) => ofType(document, samples, schema, name, type)));
}

function ofType(
  document: OpenApi,
  samples: Samples,
  schema: Schema,
  name: string,
  type: string,
): fc.Arbitrary<unknown> {
  switch (type) {
    case "object":
      return objectOf(document, samples, schema);
    case "array":
      return fc.array(valueOf(document, samples, schema.items ?? {}, name), {
        minLength: schema.minItems,
        maxLength: Math.min(schema.maxItems ?? 4, 4),
      });
    case "string":
      if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern));
      return fc.string({ minLength: schema.minLength, maxLength: Math.min(schema.maxLength ?? 40, 200) });
    case "integer":
      return fc.maxSafeInteger().map((n) => {
        const { minimum = -(2 ** 40), maximum = 2 ** 40 } = schema;
        return minimum + Math.abs(n) % (maximum - minimum + 1);
      });
    case "number":
      return fc.double({ min: schema.minimum, max: schema.maximum, noNaN: true });
    case "boolean":
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objectOf(
  document: OpenApi,
  samples: Samples,
  { properties = {}, required = [] }: Schema,
): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([field, schema]) => [field, valueOf(document, samples, schema, field)]),
  );
  const usual = fc.record(fields, { requiredKeys: required });
  return fc.oneof(
    { weight: 30, arbitrary: usual },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc.tuple(usual, fc.string(), fc.jsonValue({ maxDepth: 1 })).map(([object, key, value]) => ({
        ...object as object,
        [key]: value,
      })),
    },
  );
}

function resolved(document: OpenApi, ref: string): Schema {
  return ref.split("/").slice(1).reduce<unknown>(
    (at, step) => (at as Record<string, unknown>)[step],
    document,
  ) as Schema;
}
