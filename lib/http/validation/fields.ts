import type { z } from "zod";

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
export function fieldsAt(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] {
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
