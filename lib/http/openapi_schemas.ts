import { z } from "zod";

export type Json = Record<string, unknown>;

/** Says of a schema whose text is taken apart (a number in a query) what it is to a generated client. */
export const AS = "x-as";

/** JSON Schemas made from zod's, those with a name (`meta({ id })`) as components that the others refer to. */
export interface SchemaBook {
  /** `input`: what may be sent; `output`: what is answered. */
  of(schema: z.ZodType, io: "input" | "output"): Json;
  /** By name, in the alphabet's order; complete once every schema has been asked for. */
  components(): Record<string, Json>;
}

const REF = "#/components/schemas/";

export function createSchemaBook(): SchemaBook {
  const components = new Map<string, Json>();

  /** @throws {Error} when two schemas of one name differ: a component is the same wherever it is referred to */
  function keep(name: string, schema: Json): void {
    const known = components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are called ${name}`);
    }
    components.set(name, schema);
  }

  return {
    of(schema, io) {
      // Within another, the schema itself becomes a reference when it has a name.
      const whole = z.toJSONSchema(z.object({ it: schema }), {
        io,
        unrepresentable: "any",
        override: open,
      }) as unknown as {
        properties: { it: Json };
        $defs?: Record<string, Json>;
      };
      for (const [name, def] of Object.entries(whole.$defs ?? {})) keep(name, tidy(def) as Json);
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

/** Answers may get further fields within a version: only what is checked strictly is closed. */
function open({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  const { type, catchall } = zodSchema._zod.def as { type: string; catchall?: unknown };
  if (type === "object" && catchall === undefined) delete jsonSchema.additionalProperties;
}

/** What zod writes, as generators like it. */
function tidy(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== "object" || node === null) return node;
  const { [AS]: as, ...rest } = node as Json;
  if (as !== undefined) return { ...(rest.description === undefined ? {} : { description: rest.description }), ...as };
  const tidied: Json = {};
  for (const [key, value] of Object.entries(rest)) {
    if (isNoise(key, value, rest)) continue;
    if (key === "$ref") tidied[key] = String(value).replace("#/$defs/", REF);
    else if (key === "properties") tidied[key] = mapped(value as Json, tidy);
    else tidied[key] = tidy(value);
  }
  return tidied;
}

function mapped(fields: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value)]));
}

function isNoise(key: string, value: unknown, { type, format }: Json): boolean {
  // Every integer of zod says that it is a safe one, and every date how one is spelt.
  if (key === "minimum" || key === "maximum") return type === "integer" && Math.abs(Number(value)) === MAX_SAFE;
  return key === "pattern" && format === "date-time";
}

const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/** Says of a union of named objects which field tells them apart: the one that is another constant in each. */
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
