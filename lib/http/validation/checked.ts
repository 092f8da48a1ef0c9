import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import type { AppParts } from "../request_context.ts";
import { findTypo, valueAt } from "./typos.ts";

/** A message quotes at most so many characters of a name. */
const MAX_NAME_LENGTH = 100;
/** A message lists at most so many unknown names. */
const MOST_NAMES = 8;

/**
 * Parses a value with a schema.
 * @throws {GatewayError} `invalid_request`: a mistyped name, else the first problem, in one sentence with the field's path
 */
export function checked<T>(schema: z.ZodType<T>, value: unknown, noun: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const { issues } = read.error;
  // Zod reports the field as missing before it reports the mistyped name.
  const typo = findTypo(issues, schema, value);
  if (typo !== undefined) throw unknownNames([pathText(typo.path)], noun, `; did you mean ${typo.meant}?`);
  const issue = issues[0]!;
  if (issue.code === "unrecognized_keys") {
    throw unknownNames(issue.keys.map((key) => pathText([...issue.path, key])), noun, "");
  }
  const param = pathText(issue.path);
  throw new GatewayError("invalid_request", sentence(issue, param, value), param === "" ? {} : { param });
}

/**
 * As `checked`. For an asset by name (`native`, `CODE:ISSUER`) the message also gives its contract id on this network.
 * @throws {GatewayError} `invalid_request`
 */
export function checkedAssets<T>(schema: z.ZodType<T>, value: unknown, noun: string, { assetId }: AppParts): T {
  try {
    return checked(schema, value, noun);
  } catch (error) {
    if (!(error instanceof GatewayError) || !/(^|\.)asset$/.test(error.param ?? "")) throw error;
    const given = valueAt(value, error.param!.split("."));
    const id = typeof given === "string" ? assetId(given.slice(0, 100)) : undefined;
    if (id === undefined) throw error;
    throw new GatewayError(error.code, `${error.message}; on this network that is ${id}`, { param: error.param });
  }
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join(".").slice(0, MAX_NAME_LENGTH);
}

function sentence(issue: z.core.$ZodIssue, param: string, value: unknown): string {
  if (param === "") {
    return issue.code === "invalid_type" ? "the body must be a JSON object" : `the body ${issue.message}`;
  }
  return valueAt(value, issue.path) === undefined
    ? `${param} is missing: ${issue.message}`
    : `${param} ${issue.message}`;
}

function unknownNames(names: string[], noun: string, guess: string): GatewayError {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  const listed = names.slice(0, MOST_NAMES).join(", ");
  return new GatewayError("invalid_request", `unknown ${noun} ${listed}${more}${guess}`, { param: names[0] });
}
