import { z } from "zod";

export type Json = Record<string, unknown>;

/** Meta key of a schema that parses a text (a number in a query): the JSON schema that generated clients use instead. */
export const AS = "x-as";

/** JSON schemas from zod schemas. A schema with a name (`meta({ id })`) becomes a component, and others refer to it. */
export interface SchemaBook {
  /** `input` is for requests, `output` for responses. */
  of(schema: z.ZodType, io: "input" | "output"): Json;
  /** Components by name, in alphabetical order; complete after the last call of `of`. */
  components(): Record<string, Json>;
}

const REF = "#/components/schemas/";

export function createSchemaBook(): SchemaBook {
  const components = new Map<string, Json>();

  /** @throws {Error} when two schemas with the same name differ */
  function add(name: string, schema: Json): void {
    const known = components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas have the name ${name}`);
    }
    components.set(name, schema);
  }

  return {
    of(schema, io) {
      // Within another schema, a schema with a name becomes a reference.
      const whole = z.toJSONSchema(z.object({ it: schema }), {
        io,
        unrepresentable: "any",
        override: open,
      }) as unknown as {
        properties: { it: Json };
        $defs?: Record<string, Json>;
      };
      for (const [name, def] of Object.entries(whole.$defs ?? {})) add(name, tidy(def) as Json);
      return tidy(whole.properties.it) as Json;
    },
    components() {
      const sorted = [...components].sort(([a], [b]) => a < b ? -1 : 1);
      const found = Object.fromEntries(sorted);
      for (const schema of Object.values(found)) discriminate(schema, found);
      return found;
    },
  };
}

/** Responses may get further fields within a version, so only strict objects are closed. */
function open({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  const { type, catchall } = zodSchema._zod.def as { type: string; catchall?: unknown };
  if (type === "object" && catchall === undefined) delete jsonSchema.additionalProperties;
}

/** The JSON schema of zod without parts that disturb code generators. */
function tidy(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== "object" || node === null) return node;
  const { [AS]: as, example, ...rest } = node as Json;
  // Zod drops `examples` of a schema that transforms its input, so the schemas have an `example`.
  const shown = example === undefined ? {} : { examples: [example] };
  if (as !== undefined) {
    return { ...(rest.description === undefined ? {} : { description: rest.description }), ...as, ...shown };
  }
  const tidied: Json = {};
  for (const [key, value] of Object.entries(rest)) {
    if (isNoise(key, value, rest)) continue;
    if (key === "$ref") tidied[key] = String(value).replace("#/$defs/", REF);
    else if (key === "properties") tidied[key] = mapped(value as Json, tidy);
    else tidied[key] = tidy(value);
  }
  return withTextOfOption({ ...tidied, ...shown });
}

/** Of a field that may be null: zod leaves description and examples at the other option, and readers look at the field. */
function withTextOfOption(schema: Json): Json {
  const [first, second, ...more] = (schema.anyOf ?? []) as Json[];
  if (first === undefined || second?.type !== "null" || more.length > 0) return schema;
  const { description, examples, ...option } = first;
  const text = { ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) };
  return { ...text, ...schema, anyOf: [option, second] };
}

function mapped(fields: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value)]));
}

function isNoise(key: string, value: unknown, { type, format }: Json): boolean {
  // Zod adds the range of safe integers to every integer, and a pattern to every date.
  if (key === "minimum" || key === "maximum") return type === "integer" && Math.abs(Number(value)) === MAX_SAFE;
  return key === "pattern" && format === "date-time";
}

const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/** Adds the discriminator to a union of named objects: the field that has another constant in each of them. */
function discriminate(schema: Json, components: Record<string, Json>): void {
  const refs = (schema.oneOf as { $ref?: string }[] | undefined)?.map(({ $ref }) => $ref);
  if (refs === undefined || refs.some((ref) => ref === undefined)) return;
  const constants = (ref: string) =>
    Object.entries((components[ref.slice(REF.length)]?.properties ?? {}) as Record<string, Json>)
      .filter(([, field]) => typeof field.const === "string");
  const [propertyName] = constants(refs[0]!)[0] ?? [];
  if (propertyName === undefined) return;
  const mapping = refs.map((ref) => [constants(ref!).find(([name]) => name === propertyName)![1].const, ref]);
  schema.discriminator = { propertyName, mapping: Object.fromEntries(mapping) };
}
