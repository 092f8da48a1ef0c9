// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiDocument, operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";

/*
 * Looks in the document alone for parts that code generators cannot read. The clients themselves are generated, compiled and
 * used in generated_clients_test.ts.
 */
interface Document {
  paths: Record<string, Record<string, { tags: string[] }>>;
  webhooks: Record<string, Record<string, { tags: string[] }>>;
  tags: { name: string }[];
  components: { schemas: Record<string, unknown> };
}

const document = openApiDocument(NOUNS, "0.0.0") as unknown as Document;
const SCHEMAS = Object.keys(document.components.schemas);

const tagsOf = (section: Document["paths"]) =>
  Object.values(section).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags));

test("the webhook delivery has its own tag, because openapi-generator writes one file for each tag", () => {
  const [ofPaths, ofWebhooks] = [tagsOf(document.paths), tagsOf(document.webhooks)];
  assert.ok(ofWebhooks.length > 0);
  assert.deepEqual(ofWebhooks.filter((tag) => ofPaths.includes(tag)), []);
  assert.deepEqual([...new Set([...ofPaths, ...ofWebhooks])].sort(), document.tags.map(({ name }) => name).sort());
});

/** The places whose only value is null. A null that is one of several options does not count. */
function alwaysNull(node: unknown, at: string): string[] {
  if (typeof node !== "object" || node === null) return [];
  const own = (node as { type?: unknown }).type === "null" ? [at] : [];
  const within = Object.entries(node).flatMap(([name, part]) => {
    const isOptions = (name === "anyOf" || name === "oneOf") && Array.isArray(part) && part.length > 1;
    const parts = isOptions ? part.filter(({ type }: { type?: unknown }) => type !== "null") : part;
    return alwaysNull(parts, `${at}.${name}`);
  });
  return [...own, ...within];
}

test("no field is always null, because generators for Python and TypeScript have no type for it", () => {
  assert.deepEqual(alwaysNull(document, ""), []);
});

/** Names that generators for Go derive from a schema and from an operation. */
const ofSchema = (name: string) => [`New${name}`, `New${name}WithDefaults`, `Nullable${name}`];
const ofOperation = (
  name: string,
) => [`${name}Params`, `${name}Response`, `${name}JSONRequestBody`, `New${name}Request`];

test("no schema's name equals a name that a generator derives, or differs from another only by case", () => {
  const operations = operationsOf(NOUNS).map(({ spec: { operationId } }) =>
    operationId[0]!.toUpperCase() + operationId.slice(1)
  );
  const derived = new Set([...SCHEMAS.flatMap(ofSchema), ...operations.flatMap(ofOperation)]);
  assert.deepEqual(SCHEMAS.filter((name) => derived.has(name)), []);
  assert.equal(new Set(SCHEMAS.map((name) => name.toLowerCase())).size, SCHEMAS.length);
});
