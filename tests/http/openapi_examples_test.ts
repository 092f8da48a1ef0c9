// needs: once
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ERRORS } from "../../lib/errors.ts";
import { type Examples, operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { recordExamples } from "./openapi_run.ts";

const FILE = join(dirname(fileURLToPath(import.meta.url)), "../../lib/http/openapi_examples.json");
const kept: Examples = JSON.parse(readFileSync(FILE, "utf8"));

/** Patterns of values that differ from run to run. */
const PASSING: [RegExp, string][] = [
  [/\b[GC][A-Z2-7]{55}\b/g, "<address>"],
  [/\b\d{19}-\d{10}\b/g, "<event id>"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/\bwhsec_[\w+/=]+/g, "<secret>"],
  [/\b(wh|at|rp|job|att|dl|test|replay|del)[_-][0-9A-Za-z]{10,}/g, "<id>"],
  [/t=\d+,v1=[0-9a-f]{64}/g, "<signature>"],
  [/\bv1,[A-Za-z0-9+/]{43}=/g, "<signature>"],
  [/\b[0-9a-f]{64}\b/g, "<hash>"],
  [/\bAAAA[A-Za-z0-9+/=]{80,}/g, "<xdr>"],
  // In the text of a webhook's body.
  [/"ledger":\d+/g, `"ledger":<number>`],
];

/** Fields whose value differs from run to run. The test compares only their presence and type. */
const PASSING_FIELDS = new Set([
  "ledger",
  "latestLedger",
  "oldestLedger",
  "sequence",
  "fromLedger",
  "toLedger",
  "validUntil",
  "authorizedAt",
  "expiresAt",
  "durationMs",
  "lagSeconds",
  "oldestSeconds",
  "fee",
  "cursor",
  "nonce",
  "webhook-timestamp",
  "version",
]);

type Shown = Record<string, Record<string, unknown>>;

/** A value in which placeholders replace what differs from run to run. */
function form(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => form(one, name));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, form(one, key)]));
  }
  if (PASSING_FIELDS.has(name) && value !== null) return `<${typeof value}>`;
  if (typeof value !== "string") return value;
  return PASSING.reduce((text, [pattern, word]) => text.replace(pattern, word), value);
}

test("the OpenAPI examples match the answers of a run (RECORD=1 records them again)", async () => {
  const now = await recordExamples();
  if (process.env.RECORD === "1") return writeFileSync(FILE, JSON.stringify(now, null, 2) + "\n");
  const [got, shown] = [form(now) as Shown, form(kept) as Shown];
  assert.deepEqual(Object.keys(got), Object.keys(shown));
  // One comparison for each example, so that a failure names it.
  for (const [part, examples] of Object.entries(shown)) {
    for (const name of Object.keys({ ...examples, ...got[part] })) {
      assert.deepEqual(got[part]![name], examples[name], `${part} ${name}`);
    }
  }
});

test("every endpoint has an example of each success, and every error code has an example", () => {
  for (const { spec: { operationId, status = 200, body, isPlain } } of operationsOf(NOUNS)) {
    const { responses, requests } = kept.operations[operationId] ?? { responses: {} };
    for (const one of isPlain === undefined ? [status] : [200, status]) {
      assert.ok(responses[String(one)], `${operationId} ${one}`);
    }
    assert.equal(requests === undefined, body === undefined, `${operationId}: a body, and an example of it`);
  }
  assert.deepEqual(Object.keys(kept.errors).sort(), Object.keys(ERRORS).sort());
  assert.deepEqual(Object.keys(kept.invalidRequests), ["408", "409", "413"]);
});
