import { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { must, mustBeOneOf } from "../../escrow/values.ts";
import type { AnySpec } from "../endpoint_spec.ts";
import { FORMATS } from "../file_formats.ts";
import { AS } from "../openapi_schemas.ts";
import { requestQuery } from "../request_target.ts";
import { checked } from "./checked.ts";

/** The gateway does not parse a query with more parameters. No endpoint has as many. */
const MAX_PARAMETERS = 32;

/** A message quotes at most so many characters of a name. */
const MAX_NAME_LENGTH = 100;

const NOTHING = Object.freeze({});

/** An integer within these bounds, as the text of a query. */
export const integerText = (min: number, max: number) => {
  const rule = must(`an integer from ${min} to ${max}`);
  return z.string().regex(/^[1-9]\d{0,9}$/, { ...rule, abort: true })
    .refine((text) => Number(text) >= min && Number(text) <= max, rule).transform(Number)
    .meta({ [AS]: { type: "integer", minimum: min, maximum: max } });
};

const isoTime = z.iso.datetime({ offset: true }).or(z.iso.date());

/** Unix seconds of a time, NaN for other text. A + that is not sent as %2B arrives as a space. */
function secondsOf(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const iso = text.replace(" ", "+");
  return isoTime.safeParse(iso).success ? Date.parse(iso) / 1_000 : NaN;
}

const LAST_SECOND = 253_402_300_799;

/** A time as the text of a query, to Unix seconds. */
export const timeText = z.string().refine(
  (text) => secondsOf(text) >= 0 && secondsOf(text) <= LAST_SECOND,
  must("a time in ISO 8601 with its zone, such as 2026-01-31T00:00:00Z, or in Unix seconds"),
).transform(secondsOf).meta({ [AS]: { type: "string" } });

/** The form of a list of these items: a page, or a file. */
export const listFormat = (items: string) =>
  z.enum(FORMATS, mustBeOneOf(FORMATS)).optional().meta({
    description:
      `\`csv\` or \`jsonl\`: a file with all ${items}, or limit of them. The header Accept decides when absent.`,
    example: "json",
  });

/** Of a query with `from` and `to`. */
export const isTimeOrder = ({ from, to }: { from?: number; to?: number }) =>
  from === undefined || to === undefined || from < to;
export const timeOrder = { path: ["from"], message: "must be before to: from is inclusive, to is exclusive" };

/**
 * The checked query of a request. An endpoint without a query refuses every parameter.
 * @throws {GatewayError} `invalid_request`
 */
export function checkedQuery(spec: AnySpec, request: Request): unknown {
  // Most reads have no query to parse.
  if (spec.query === undefined && !request.url.includes("?")) return NOTHING;
  const text = requestQuery(request);
  if (spec.ignoresQuery) return NOTHING;
  if (spec.query === undefined) {
    const first = /[^&]+/.exec(text)?.[0];
    if (first === undefined) return NOTHING;
    const [[name = ""] = []] = new URLSearchParams(first);
    const param = name.slice(0, MAX_NAME_LENGTH);
    throw new GatewayError("invalid_request", `unknown query parameter ${param}: this endpoint takes none`, { param });
  }
  return checked(spec.query, byName(text, spec.query), "query parameter");
}

/** @param schema its lists may come as `types=a,b` or as `types=a&types=b` (OpenAPI's `explode`) */
function byName(text: string, schema: z.ZodType): Record<string, string> {
  // Counts one parameter more than allowed.
  if (text.split("&", MAX_PARAMETERS + 1).length > MAX_PARAMETERS) {
    throw new GatewayError("invalid_request", `the query must have at most ${MAX_PARAMETERS} parameters`);
  }
  const given = new URLSearchParams(text);
  // Without a prototype, so that no parameter has the name of an inherited property.
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of given) {
    if (name in query && isList(schema, name)) query[name] += `,${value}`;
    else if (name in query) {
      const param = name.slice(0, MAX_NAME_LENGTH);
      const times = given.getAll(name).length;
      throw new GatewayError("invalid_request", `query parameter ${param} must appear once; got it ${times} times`, {
        param,
      });
    } else query[name] = value;
  }
  return query;
}

function isList(schema: z.ZodType, name: string): boolean {
  const field = schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  return (inner?.meta?.()?.[AS] as { type?: string } | undefined)?.type === "array";
}
