// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Examples, openApiDocument } from "../../lib/http/openapi.ts";
import examples from "../../lib/http/openapi_examples.json" with { type: "json" };
import { NOUNS } from "../../lib/http/routes/routes.ts";

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: boolean | Schema;
}

/** A parameter or a header. */
interface Described {
  $ref?: string;
  name?: string;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

interface Response {
  headers?: Record<string, Described>;
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  parameters?: Described[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Response>;
    headers: Record<string, Described>;
    parameters: Record<string, Described>;
  };
}

const document = openApiDocument(NOUNS, "0.0.0", examples as unknown as Examples) as unknown as Document;

/** Whether a schema stands for objects, or for a list of them: examples of these come from their fields. */
function hasFields({ $ref, type, items, anyOf = [], oneOf = [] }: Schema): boolean {
  if (type === "object" || oneOf.length > 0) return true;
  if ($ref !== undefined) return hasFields(document.components.schemas[$ref.split("/").at(-1)!]!);
  return (items !== undefined && hasFields(items)) || anyOf.some(hasFields);
}

/** Each place of the description that lacks a text or an example, with what it lacks. */
function missing(): string[] {
  const found: string[] = [];
  const lacks = (at: string, what: string) => found.push(`${at}: no ${what}`);

  function checkField(schema: Schema, at: string): void {
    if (schema.$ref === undefined) {
      if (!schema.description) lacks(at, "description");
      if (!hasFields(schema) && schema.const === undefined && schema.examples?.[0] === undefined) lacks(at, "example");
    }
    checkWithin(schema, at);
  }

  function checkWithin(schema: Schema, at: string): void {
    for (const [name, field] of Object.entries(schema.properties ?? {})) checkField(field, `${at}.${name}`);
    const { items, anyOf = [], oneOf = [], additionalProperties } = schema;
    for (const part of [items, ...anyOf, ...oneOf]) if (part !== undefined) checkWithin(part, at);
    if (typeof additionalProperties === "object") checkWithin(additionalProperties, at);
  }

  function checkDescribed(one: Described, at: string): void {
    if (one.$ref !== undefined) return;
    if (!one.description) lacks(at, "description");
    if (one.example === undefined && !one.schema?.examples?.[0] === undefined) lacks(at, "example");
  }

  function checkResponse({ headers = {}, content = {} }: Response, at: string): void {
    for (const [name, header] of Object.entries(headers)) checkDescribed(header, `${at} ${name}`);
    for (const { schema } of Object.values(content)) checkWithin(schema, at);
  }

  const { schemas, responses, headers, parameters } = document.components;
  for (const [name, schema] of Object.entries(schemas)) checkField(schema, name);
  for (const [name, response] of Object.entries(responses)) checkResponse(response, name);
  for (const [name, one] of Object.entries({ ...headers, ...parameters })) checkDescribed(one, name);
  for (const [path, item] of Object.entries({ ...document.paths, ...document.webhooks })) {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method} ${path}`;
      for (const one of operation.parameters ?? []) checkDescribed(one, `${at} ${one.name}`);
      for (const { schema } of Object.values(operation.requestBody?.content ?? {})) checkWithin(schema, at);
      for (const [status, response] of Object.entries(operation.responses)) checkResponse(response, `${at} ${status}`);
    }
  }
  return found;
}

test("every field, parameter and header of the API description has a description and an example", () => {
  assert.deepEqual(missing(), []);
});
