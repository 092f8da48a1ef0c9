import assert from "node:assert/strict";
import { ERRORS, INVALID_REQUEST_STATUSES } from "../../lib/errors.ts";
import { MEDIA_TYPES } from "../../lib/http/file_formats.ts";

/** An answer of the gateway, independent of how a test requested it. */
export interface Answered {
  status: number;
  headers: { get(name: string): string | null | undefined };
  /** The raw body. */
  text: string;
}

/**
 * Asserts that an answer is sound: no 5xx of the gateway (502 and 503 with `nodeFails`), an error body for an error, no
 * internal text in its message, and the headers of every answer.
 */
export function assertSound({ status, headers, text }: Answered, about: string, { nodeFails = false } = {}): void {
  const shown = `${about}\n→ ${status} ${text.slice(0, 500)}`;
  assert.ok(headers.get("x-request-id"), `no request id: ${shown}`);
  assert.ok(headers.get("x-ratelimit-limit"), `no limit: ${shown}`);
  if (status === 204) return assert.equal(text, "", shown);
  const contentType = headers.get("content-type") ?? "";
  if (status < 300 && contentType === "text/event-stream") return;
  if (status < 300 && Object.values(MEDIA_TYPES).includes(contentType.split(";")[0]!)) {
    return assert.equal(headers.get("x-content-type-options"), "nosniff", shown);
  }
  if (status < 400 && !contentType.startsWith("application/json")) {
    // A page, or a redirect to one.
    assert.equal(headers.get("x-content-type-options"), "nosniff", shown);
    return assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/, shown);
  }
  assert.match(contentType, /^application\/json/, shown);
  const body = JSON.parse(text);
  if (status < 300) return;
  assert.ok(status < 500 || (nodeFails && [502, 503].includes(status)), shown);
  assert.deepEqual(Object.keys(body), ["error"], shown);
  const { code, message, ...rest } = body.error;
  assert.ok(Object.hasOwn(ERRORS, code), shown);
  const { status: usual } = ERRORS[code as keyof typeof ERRORS];
  const statuses: readonly number[] = code === "invalid_request" ? INVALID_REQUEST_STATUSES : [usual];
  assert.ok(statuses.includes(status), shown);
  assert.ok(typeof message === "string" && message.length > 5, shown);
  assert.ok(message.length < 2_000, `a long message: ${shown}`);
  // What a runtime, a library or a careless sentence would say, unless the caller did.
  const leak = /\[object |\bundefined\b|\bNaN\b|TypeError|RangeError|\bat \S+ \(.*:\d+:\d+|node_modules/.exec(message);
  assert.ok(leak === null || about.includes(leak[0]) || about.includes(encodeURIComponent(leak[0])), shown);
  for (const key of Object.keys(rest)) {
    assert.ok(["param", "contractError", "reason", "transactionError", "retry", "unknownOutcome"].includes(key), shown);
  }
  assert.equal(headers.get("x-content-type-options"), "nosniff", shown);
}
