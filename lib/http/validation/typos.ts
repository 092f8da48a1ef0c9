import type { z } from "zod";
import { nearest } from "../../nearest.ts";

/** The gateway guesses the meaning of at most so many names. No schema has as many fields. */
const MOST_GUESSED = 32;

/** An unknown name, by its path, and the absent field with the nearest name. */
export interface Typo {
  path: PropertyKey[];
  meant: string;
}

/** The first unknown name among these issues that is close to an absent field; undefined for none. */
export function findTypo(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, value: unknown): Typo | undefined {
  for (const issue of issues) {
    const { path, keys, absent } = unknownNames(issue, schema, value);
    for (const key of keys.slice(0, MOST_GUESSED)) {
      const meant = nearest(key, absent);
      if (meant !== undefined) return { path: [...path, key], meant };
    }
  }
  return undefined;
}

/** The unknown names that an issue reports, their path, and the fields without a value at this path. */
function unknownNames(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  value: unknown,
): { path: PropertyKey[]; keys: string[]; absent: string[] } {
  const parent = issue.path.slice(0, -1);
  if (issue.code === "invalid_union" && valueAt(value, issue.path) === undefined) {
    // The fields of an object are unknown without its kind, so only the kind itself is a candidate.
    return { path: parent, keys: Object.keys(valueAt(value, parent) ?? {}), absent: issue.path.slice(-1).map(String) };
  }
  if (issue.code !== "unrecognized_keys") return { path: parent, keys: [], absent: [] };
  const { path, keys } = issue;
  const given = valueAt(value, path) as object;
  return { path, keys, absent: fieldsAt(schema, value, path).filter((field) => !Object.hasOwn(given, field)) };
}

/** The parts of a zod schema that lead to the names of its fields. */
interface Definition {
  type: string;
  shape?: Record<string, z.ZodType>;
  options?: readonly z.ZodType[];
  discriminator?: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  values?: readonly unknown[];
}

/** The names of a schema's fields at this path of a value; empty where the schema has no fixed fields. */
function fieldsAt(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] {
  const shape = shapeOf(schema, value);
  const [step, ...rest] = path;
  if (step === undefined) return Object.keys(shape ?? {});
  const next = shape?.[String(step)];
  return next === undefined ? [] : fieldsAt(next, (value as Record<PropertyKey, unknown>)[step], rest);
}

function shapeOf(schema: z.ZodType, value: unknown): Record<string, z.ZodType> | undefined {
  const { shape, options = [], discriminator, innerType, in: input } = definition(schema);
  if (shape !== undefined) return shape;
  if (discriminator !== undefined) {
    const kind = (value as Record<string, unknown>)[discriminator];
    const shapes = options.map((option) => definition(option).shape ?? {});
    return shapes.find((one) =>
      one[discriminator] !== undefined && definition(one[discriminator]).values?.includes(kind)
    );
  }
  const inner = innerType ?? input;
  return inner === undefined ? undefined : shapeOf(inner, value);
}

function definition(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}

/** The part of a value at a path, undefined for none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, step) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[step] : undefined),
    value,
  );
}
