// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { NAMED_CONTRACT_ERRORS } from "../../lib/escrow/contracts/errors.ts";
import { REFUSAL_REASONS } from "../../lib/escrow/reads/payment_check.ts";
import { ERRORS, GatewayError, INVALID_REQUEST_STATUSES, RETRIES } from "../../lib/errors.ts";
import { STREAM_LIMITS } from "../../lib/events/streams.ts";
import { errorResponse } from "../../lib/http/response.ts";
import { KEPT_INTENTS } from "../../lib/http/intents/intent_errors.ts";
import { rejection, REJECTIONS } from "../../lib/stellar/transactions/rejections.ts";
import { MAX_REPLAYED, MAX_TESTS } from "../../lib/webhooks/allowances.ts";

const text = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "../../docs/errors.md"), "utf8");
const sections = new Map(
  text.split("\n### ").slice(1).map((section) => {
    const [name, ...rest] = section.split("\n");
    return [name!, rest.join("\n").split("\n## ")[0]!];
  }),
);

test("the index of errors has exactly one section with cause, cure and retry for each error name", () => {
  const names = [...new Set([...Object.keys(ERRORS), ...NAMED_CONTRACT_ERRORS, ...REJECTIONS])];
  assert.deepEqual([...sections.keys()].sort(), names.sort());
  for (const [name, section] of sections) {
    assert.match(section, /^\n\S[\s\S]+\n\n\*\*Do:\*\* \S[\s\S]+\n\n\*\*Retry:\*\* (No|Yes|As|With)/, name);
  }
});

test("the index of errors gives the same retry advice as the errors' answers", () => {
  const said = (name: string) => /\*\*Retry:\*\* (.+)/.exec(sections.get(name)!)![1]!;
  for (const code of REJECTIONS) {
    const { retry } = rejection(code, "ab".repeat(32));
    const expected = { same: /^Yes, the same/, prepare_again: /^Yes\. Prepare again/, never: /^No/ }[retry];
    assert.match(said(code), expected, code);
  }
  for (const [code, { status }] of Object.entries(ERRORS)) {
    const [, statuses] = /^\nStatus ([\d, and]+)\./.exec(sections.get(code)!)!;
    // The errors of the code invalid_request differ; each states its own retry.
    const differs = code === "invalid_request";
    assert.deepEqual(statuses!.match(/\d+/g)!.map(Number), differs ? INVALID_REQUEST_STATUSES : [status], code);
    if (differs) { for (const retry of RETRIES) assert.ok(said(code).includes(`\`${retry}\``), retry); }
    const { retry } = new GatewayError(code as keyof typeof ERRORS, "");
    if (!differs) assert.match(said(code), retry === "same" ? /^Yes, the same/ : /^No/, code);
  }
});

test("the index of errors lists the limits that refuse a request of a key with rate left", () => {
  const number = (value: number) => String(value).replaceAll(/\B(?=(\d{3})+$)/g, " ");
  for (
    const limit of [
      `${STREAM_LIMITS.perKey} event streams`,
      `${MAX_TESTS} tests`,
      `${number(MAX_REPLAYED)} events`,
      `${number(KEPT_INTENTS.mostOfKey)} values of \`Idempotency-Key\``,
    ]
  ) assert.ok(sections.get("rate_limited")!.includes(limit), limit);
  assert.ok(sections.get("unavailable")!.includes(`${number(STREAM_LIMITS.inAll)} event streams`));
});

test("the index of errors lists the reasons of a payment check in their order", () => {
  const table = text.slice(text.indexOf("## Reasons of a payment check"), text.indexOf("## Contract errors"));
  assert.deepEqual([...table.matchAll(/^\| `(\w+)`/gm)].map(([, reason]) => reason), [...REFUSAL_REASONS]);
});

test("an error's answer links to its section of the index, by its most specific name", () => {
  const linkOf = (error: unknown) => errorResponse(error, {}, true).headers.get("link");
  const to = (anchor: string) => `</docs/errors#${anchor}>; rel="help"`;
  assert.equal(linkOf(new GatewayError("rate_limited", "")), to("rate_limited"));
  assert.equal(linkOf(new Error("a fault")), to("internal_error"));
  assert.equal(
    linkOf(new GatewayError("contract_refused", "", { contractError: "DuplicateAuth" })),
    to("duplicateauth"),
  );
  assert.equal(linkOf(new GatewayError("contract_refused", "", { contractError: "#77" })), to("contract_refused"));
  assert.equal(linkOf(rejection("txBadSeq", "ab")), to("txbadseq"));
  assert.equal(errorResponse(new GatewayError("rate_limited", ""), {}, false).headers.get("link"), null);
});
