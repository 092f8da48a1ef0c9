import type { z } from "zod";
import { nearest } from "../../nearest.ts";
import { fieldsAt, valueAt } from "./fields.ts";

/** More fields than anything has; of what is beyond nobody guesses what was meant. */
const MOST_GUESSED = 32;

/** A name that is no field's, by its path, and the absent field that it is nearest to. */
export interface Typo {
  path: PropertyKey[];
  meant: string;
}

/** The first name among these issues that a field without a value was likely meant by; undefined when there is none. */
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

/** The names at a path that are no field's, as far as an issue tells, and the fields that have no value there. */
function unknownNames(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  value: unknown,
): { path: PropertyKey[]; keys: string[]; absent: string[] } {
  const parent = issue.path.slice(0, -1);
  if (issue.code === "invalid_union" && valueAt(value, issue.path) === undefined) {
    // Without its kind nobody knows the fields of an object: only the kind itself can be told.
    return { path: parent, keys: Object.keys(valueAt(value, parent) ?? {}), absent: issue.path.slice(-1).map(String) };
  }
  if (issue.code !== "unrecognized_keys") return { path: parent, keys: [], absent: [] };
  const { path, keys } = issue;
  const given = valueAt(value, path) as object;
  return { path, keys, absent: fieldsAt(schema, value, path).filter((field) => !Object.hasOwn(given, field)) };
}
