import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { didYouMean } from "../../nearest.ts";
import { fieldsAt } from "./fields.ts";

/** How much of a name that somebody sent is quoted. */
const MAX_NAME_LENGTH = 100;

/** @throws {GatewayError} `invalid_request`: the first thing wrong, in one sentence that names the field by its path */
export function checked<T>(schema: z.ZodType<T>, value: unknown, noun: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0]!;
  const param = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") throw unknownNames(issue.keys, issue.path, schema, value, noun);
  throw new GatewayError("invalid_request", sentence(issue, param, value), param === "" ? {} : { param });
}

function sentence(issue: z.core.$ZodIssue, param: string, value: unknown): string {
  if (param === "") {
    return issue.code === "invalid_type" ? "the body must be a JSON object" : `the body ${issue.message}`;
  }
  return valueAt(value, issue.path) === undefined
    ? `${param} is missing: ${issue.message}`
    : `${param} ${issue.message}`;
}

function unknownNames(
  keys: readonly string[],
  path: readonly PropertyKey[],
  schema: z.ZodType,
  value: unknown,
  noun: string,
): GatewayError {
  const names = keys.map((key) => [...path.map(String), key].join(".").slice(0, MAX_NAME_LENGTH));
  const given = valueAt(value, path);
  const absent = fieldsAt(schema, value, path).filter((field) => !Object.hasOwn(given as object, field));
  const guess = keys.length === 1 ? didYouMean(keys[0]!, absent) : "";
  return new GatewayError("invalid_request", `unknown ${noun} ${names.join(", ")}${guess}`, { param: names[0] });
}

/** What stands at a path of a value, undefined when nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, step) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[step] : undefined),
    value,
  );
}
