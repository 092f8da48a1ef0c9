import { z } from "zod";
import { type KeyRecord, SCOPES } from "../store/store.ts";
import { MAX_NAME_LENGTH, MAX_RATE, NAME_PATTERN } from "./api_key.ts";

const isoTime = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with its zone" });
const rateRule = `must be an integer from 1 to ${MAX_RATE}`;
const nameRule = `must be 1–${MAX_NAME_LENGTH} printable characters`;

/** A key in a keys file or in `SERVICE_API_KEYS`. Unknown fields are refused, because a mistyped "disabeld" must not pass. */
const keyRecordSchema: z.ZodType<KeyRecord> = z.strictObject({
  id: z.string("must be a string").regex(/^[0-9A-Za-z]{1,32}$/, "must be 1–32 letters and digits"),
  name: z.string("must be a string").regex(NAME_PATTERN, nameRule)
    .refine((name) => [...name].length <= MAX_NAME_LENGTH, nameRule),
  hash: z.string("must be a string").regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits"),
  scopes: z.array(z.enum(SCOPES, `must be one of ${SCOPES.join(", ")}`), "must be an array"),
  rate: z.number(rateRule).int(rateRule).min(1, rateRule).max(MAX_RATE, rateRule).optional(),
  disabled: z.boolean("must be true or false").default(false),
  createdAt: isoTime,
  expiresAt: isoTime.optional(),
  lastUsedAt: isoTime.optional(),
}, { error: (issue) => issue.code === "unrecognized_keys" ? undefined : "must be an object" });

/**
 * Key records in a text are wrong. The message names record and field, or continues the name of the text ("must be JSON …").
 * It quotes nothing, so that hashes stay out of logs.
 */
export class KeyRecordsError extends Error {
  override name = "KeyRecordsError";
  readonly kind = "setting";
}

/**
 * Reads key records: a JSON array, or one JSON record a line as `keygen --record` prints them (with or without a comma at
 * the end). Each needs its own id.
 * @throws {KeyRecordsError} for the first wrong record
 */
export function parseKeyRecords(text: string): KeyRecord[] {
  const found = jsonRecords(text);
  const ids = new Set<string>();
  return found.map((value, index) => {
    const read = keyRecordSchema.safeParse(value);
    if (!read.success) throw new KeyRecordsError(`key record ${index + 1}: ${firstIssue(read.error)}`);
    if (ids.has(read.data.id)) {
      throw new KeyRecordsError(
        `key record ${index + 1} must have its own id; got ${read.data.id} of an earlier record`,
      );
    }
    ids.add(read.data.id);
    return read.data;
  });
}

function jsonRecords(text: string): unknown[] {
  const trimmed = text.trim();
  const array = trimmed.startsWith("[") ? parsed(trimmed) : parsed(`[${trimmed}]`);
  if (array !== undefined) return array;
  const lines = trimmed.split(/\r?\n/).filter((line) => line.trim() !== "")
    .map((line) => parsed(`[${line.trim().replace(/,$/, "")}]`));
  // A text without any record on a line is no list of lines.
  if (trimmed.startsWith("[") || !lines.some((line) => line?.length === 1)) {
    throw new KeyRecordsError(
      `must be JSON, as an array of key records or a record on each line; got ${sizeOf(trimmed)}`,
    );
  }
  return lines.map((line, index) => {
    if (line?.length !== 1) throw new KeyRecordsError(`key record ${index + 1} must be valid JSON`);
    return line[0];
  });
}

function sizeOf(text: string): string {
  return `${text.length} ${text.length === 1 ? "character" : "characters"} without a record`;
}

/** The array in this text, undefined for invalid JSON. The parser's own message would quote the text. */
function parsed(text: string): unknown[] | undefined {
  try {
    return JSON.parse(text) as unknown[];
  } catch {
    return undefined;
  }
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0]!;
  if (issue.code === "unrecognized_keys") return `unknown field ${JSON.stringify(issue.keys[0])}`;
  const field = issue.path.join(".");
  return field === "" ? issue.message : `${field} ${issue.message}`;
}
