import { z } from "zod";
import { operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";

const HEADER =
  `// Made by tests/client/make_api_types.ts from the schemas that the gateway checks requests and answers with: not to be
// edited. tests/client/api_types_test.ts says when it is no longer what they say.

/** Takes its place in a query as text; a list with commas between. */
export type QueryValue = string | number | readonly string[];
`;

interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  description?: string;
}

/** The types of every endpoint's parameters, query, body and answer, as the text of `lib/client/api_types.ts`. */
export function apiTypes(): string {
  /** Schemas that have a name of their own. */
  const named = new Map<string, string>();

  function typeOf(schema: z.ZodType, io: "input" | "output", indent: string): string {
    const json = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as JsonSchema;
    for (const [name, definition] of Object.entries(json.$defs ?? {})) named.set(name, text(definition, ""));
    return text(json, indent);
  }

  const endpoints = operationsOf(NOUNS).map(({ method, path, spec }) => {
    const parts = [
      ...(spec.params === undefined ? [] : [`    params: ${typeOf(spec.params, "input", "    ")};`]),
      ...(spec.query === undefined ? [] : [`    query: ${queryType(spec.query)};`]),
      ...(spec.body === undefined ? [] : [`    body: ${typeOf(spec.body, "input", "    ")};`]),
      `    answer: ${typeOf(spec.response, "output", "    ")};`,
    ];
    const about = `  /** ${spec.summary} */\n`;
    return `${about}  ${JSON.stringify(`${method.toUpperCase()} ${path}`)}: {\n${parts.join("\n")}\n  };`;
  });
  const names = [...named].sort().map(([name, type]) => `export type ${name} = ${type};\n`);
  const all = `/** Every endpoint: what it takes and what it answers. */\nexport interface Endpoints {\n${
    endpoints.join("\n")
  }\n}\n`;
  return [HEADER, ...names, all].join("\n");
}

function queryType(schema: z.ZodType): string {
  const { properties = {} } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  const lines = Object.entries(properties).map(([name, value]) => {
    const type = value.enum === undefined ? "QueryValue" : text(value, "");
    return `${commentOf(value, "      ")}      ${name}?: ${type};`;
  });
  return `{\n${lines.join("\n")}\n    }`;
}

/** A JSON schema as TypeScript. */
function text(schema: JsonSchema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return eitherType(either, indent);
  if (schema.allOf !== undefined) return schema.allOf.map((one) => text(one, indent)).join(" & ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => text({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `(${text(schema.items ?? {}, indent)})[]`;
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

/** Names beside any text stay names to an editor: of `Name | string` TypeScript would make `string`. */
function eitherType(either: JsonSchema[], indent: string): string {
  const isOpen = either.some(({ $ref }) => $ref !== undefined);
  const types = either.map((one) => text(one, indent));
  return types.map((type) => isOpen && type === "string" ? "(string & Record<never, never>)" : type).join(" | ");
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema, indent: string): string {
  const names = Object.keys(properties);
  if (names.length === 0) {
    const values = typeof additionalProperties === "object" ? text(additionalProperties, indent) : "unknown";
    return `Record<string, ${values}>`;
  }
  const inner = `${indent}  `;
  const lines = names.map((name) => {
    const value = properties[name]!;
    const mark = required.includes(name) ? "" : "?";
    return `${commentOf(value, inner)}${inner}${name}${mark}: ${text(value, inner)};`;
  });
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function commentOf({ description }: JsonSchema, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "* /")} */\n`;
}
