// needs: once
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { type Examples, openApiDocument } from "../../lib/http/openapi.ts";
import examples from "../../lib/http/openapi_examples.json" with { type: "json" };
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { typeProblems } from "./type_problems.ts";

const document = openApiDocument(NOUNS, "0.0.0", examples as unknown as Examples);
const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** A TypeScript program that uses the types; the lines after `@ts-expect-error` must not compile. */
const USE = `
import type { components, operations } from "./gateway.ts";
type Schemas = components["schemas"];

export function whoseMoney(event: Schemas["Event"]): string {
  switch (event.type) {
    case "payment.authorized": return event.merchant + event.amount;
    case "escrow.funded": return event.deviceHash + (event.asset ?? "");
    case "agent.registered": return event.agent;
    default: return event.id;
  }
}
export const query: operations["listEvents"]["parameters"]["query"] = { limit: 10, types: ["payment.claimed"] };
export const operation: Schemas["Operation"] = { kind: "claim", asset: "C" };
export function maxOf(device: Schemas["Device"]): string { return device.policy.maxAmount ?? "none"; }
export function mayRetry({ error }: Schemas["Error"]): boolean { return error.retry !== "never"; }
export const named: Schemas["ContractErrorName"] = "DuplicateAuth";
export const unnamed: Schemas["ErrorDetail"]["contractError"] = "#77";
export function again(status: Schemas["TransactionStatus"]): boolean { return status.retry === "prepare_again"; }
export type Webhook = Schemas["Webhook"];
export type Attempt = Schemas["Attempt"];
export type Delivery = Schemas["WebhookDelivery"];
// @ts-expect-error: there is no such event
export const guessed: Schemas["Event"]["type"] = "payment.guessed";
// @ts-expect-error: numbers are numbers
export const text: operations["listEvents"]["parameters"]["query"] = { limit: "10" };
// @ts-expect-error: no contract has such an error
export const misnamed: Schemas["ContractErrorName"] = "DoubleAuth";
// @ts-expect-error: this kind has no amount
export const wrong: Schemas["Operation"] = { kind: "claim", asset: "C", amount: "1" };
`;

test("generated TypeScript types compile and narrow an event by its type", async () => {
  const folder = await mkdtemp(join(ROOT, ".openapi-"));
  try {
    const types = astToString(await openapiTS(document as unknown as OpenAPI3));
    await writeFile(join(folder, "gateway.ts"), types);
    await writeFile(join(folder, "use.ts"), USE);
    assert.deepEqual(typeProblems([join(folder, "gateway.ts"), join(folder, "use.ts")]), []);
  } finally {
    await rm(folder, { recursive: true });
  }
});
