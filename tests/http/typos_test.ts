// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES } from "../../lib/escrow/events.ts";
import { OPERATION_KINDS } from "../../lib/escrow/contracts/interfaces.ts";
import { GatewayError } from "../../lib/errors.ts";
import { operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { checked } from "../../lib/http/validation/checked.ts";
import { assertInvalid, gatewayOfFile } from "./test_gateway.ts";
import { forTier } from "../tier.ts";

const { api } = gatewayOfFile({ started: false });

const account = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
const asset = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC";
const deviceHash = "ab".repeat(32);
const fund = { kind: "fundEscrow", deviceHash, asset, amount: "1" };
const { amount: _, ...fundNothing } = fund;
const hook = { url: "https://shop.example.com/hook" };
const kinds = OPERATION_KINDS.join(", ");
const types = EVENT_TYPES.join(", ");

const pay = { ...fund, kind: "authorize", merchant: account };
const noKind = { ...fundNothing, kind: undefined };
const of = (operation: object) => ({ source: account, operation });
const check = (fields: object) => ({ deviceHash, asset, amount: "1", ...fields });
const PREPARE = "/v1/transactions/prepare";
const CHECK = "/v1/payments/check";
const TWO_TYPES = ["payment.claimed", "payment.authorised"];
const AUTHORISED = '"payment.authorised"; did you mean payment.authorized?';
const NO_KIND = `% must be one of ${kinds}; got`;
const ONE_OF = `% must be one of ${types}; got`;
const NO_TYPES = `% must be a comma-separated list of ${types}; got`;
const FUND = '"escrow.fund"; did you mean escrow.funded?';
const STREAM = "/v1/events/stream";
const meant = (name: string) => `unknown field %; did you mean ${name}?`;
const NONE = "unknown query parameter %: this endpoint takes none";
const LARGEST = "% must be an integer from 1 to 4294967295; got";

/** Requests with one mistake, the field at fault and the message, in which % stands for the field. */
const MISTYPED: [what: string, param: string, message: string, path: string, body?: unknown][] = [
  ["a misspelt optional field of an operation", "operation.nonse", meant("nonce"), PREPARE, of({ ...pay, nonse: "1" })],
  [
    "a misspelt field beside the correct one",
    "operation.assets",
    "unknown field %",
    PREPARE,
    of({ kind: "claim", assets: "x", asset }),
  ],
  [
    "a misspelt required field of an operation",
    "operation.amout",
    meant("amount"),
    PREPARE,
    of({ ...fundNothing, amout: "1" }),
  ],
  ["a misspelt field of the body", "sorce", meant("source"), PREPARE, { sorce: account, operation: fund }],
  ["a misspelt field kind", "operation.knid", meant("kind"), PREPARE, of({ ...noKind, knid: "fundEscrow" })],
  [
    "a misspelt kind of operation",
    "operation.kind",
    `${NO_KIND} "authorise"; did you mean authorize?`,
    PREPARE,
    of({ kind: "authorise" }),
  ],
  ["an unknown kind of operation", "operation.kind", `${NO_KIND} "\\u0007pay"`, PREPARE, of({ kind: "\u0007pay" })],
  ["a misspelt optional field of a check", "merchnat", meant("merchant"), CHECK, check({ merchnat: "x" })],
  ["a misspelt field of a check beside the correct one", "amuont", "unknown field %", CHECK, check({ amuont: "1" })],
  ["a misspelt field beside invalid values", "devicehash", meant("deviceHash"), CHECK, {
    devicehash: "",
    asset,
    amount: 1,
  }],
  ["a misspelt field beside an unknown one", "amout", meant("amount"), CHECK, {
    deviceHash,
    asset,
    tip: "1",
    amout: "1",
  }],
  ["a misspelt event type of a webhook", "types.1", `${ONE_OF} ${AUTHORISED}`, "/v1/webhooks", {
    ...hook,
    types: TWO_TYPES,
  }],
  ["a misspelt event type in a query", "types", `${NO_TYPES} ${AUTHORISED}`, `/v1/events?types=${TWO_TYPES}`],
  ["a misspelt event type of a stream", "types", `${NO_TYPES} ${FUND}`, STREAM + "?types=escrow.fund"],
  ["a misspelt order", "order", '% must be one of asc, desc; got "dsc"; did you mean desc?', "/v1/events?order=dsc"],
  ["a parameter of an endpoint without parameters", "verbose", NONE, "/v1/network?verbose=1"],
  ["a parameter after empty ones", "verbose", NONE, "/v1/network?&&verbose=1"],
  ["a repeated parameter", "limit", "query parameter % must appear once; got it 2 times", "/v1/events?limit=5&limit=6"],
  ["a letter in a number", "limit", '% must be an integer from 1 to 1000; got "1O"', "/v1/events?limit=1O"],
  ["a number above its maximum", "fromLedger", `${LARGEST} "4294967296"`, "/v1/events?fromLedger=4294967296"],
  ["a short hash in a query", "txHash", '% must be 64 hex digits; got "12"', "/v1/events?txHash=12"],
  ["a short hash in a path", "hash", '% must be 64 hex digits; got "12"', "/v1/transactions/12"],
];
for (const [what, param, message, path, body] of MISTYPED) {
  test(`a request with ${what} gets an error that names the field`, async () => {
    const { status, body: { error } } = await api.request(body === undefined ? "GET" : "POST", path, { body });
    const expected = { code: "invalid_request", message: message.replace("%", param), retry: "never", param };
    assert.deepEqual([status, error], [400, expected]);
  });
}

test("an endpoint without parameters accepts a query of empty parameters", async () => {
  for (const query of ["?", "?&", "?&&"]) {
    assert.equal((await api.request("GET", `/v1/network${query}`)).status, 200, query);
  }
});

test("an error quotes at most 40 characters of a wrong value, and never an API key", async () => {
  const messageOf = async (query: string) => (await api.request("GET", `/v1/events?${query}`)).body.error.message;
  assert.match(await messageOf(`types=${"x".repeat(5_000)}`), /; got "x{40}…"$/);
  assert.match(await messageOf(`order=${api.apiKey}`), /; got an API key$/);
  assert.match(await messageOf("types="), /; got ""$/);
  const body = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`p${at}`, at]));
  const { error } = (await api.request("POST", "/v1/webhooks", { body: { ...hook, ...body } })).body;
  assert.equal(error.message, "unknown field p0, p1, p2, p3, p4, p5, p6, p7 and 2992 more");
});

const checkCoded = (coding: string) =>
  api.request("POST", CHECK, { body: {}, headers: { "content-encoding": coding } });
for (const coding of ["gzip", "br", "x-made-up", "gzip, identity"]) {
  test(`a body with Content-Encoding ${coding} gets 415 and a message that names the coding`, async () => {
    const { status, body } = await checkCoded(coding);
    assert.deepEqual([status, body.error.code, body.error.retry], [415, "invalid_request", "never"]);
    assert.ok(body.error.message.includes(JSON.stringify(coding)), body.error.message);
  });
}

test("a body with Content-Encoding identity is accepted as uncompressed", async () => {
  assert.match((await checkCoded("identity")).body.error.message, /deviceHash/);
});

for (const name of ["X-Idempotency-Key", "x-idempotency-token", "Idempotent-Key"]) {
  test(`the header ${name} gets an error that names Idempotency-Key`, async () => {
    for (const path of ["/v1/transactions/prepare", "/v1/transactions/submit", "/v1/webhooks"]) {
      const answer = await api.request("POST", path, { body: {}, headers: { [name]: "order-1" } });
      assertInvalid(answer, /is not supported: send Idempotency-Key instead$/);
    }
  });
}

test("the gateway accepts a list as types=a,b and as types=a&types=b", async () => {
  const types = ["device.registered", "payment.authorized", "escrow.swept"];
  for (const query of [`types=${types.join()}`, types.map((type) => `types=${type}`).join("&")]) {
    const { status, body } = await api.request("GET", `/v1/events?${query}`);
    assert.deepEqual([status, body.events], [200, []]);
  }
});

test("an error names the wrong type among several", async () => {
  const { body } = await api.request("GET", "/v1/events?types=device.registered&types=device.revokd");
  assert.match(body.error.message, /^types must be .*; got "device.revokd"; did you mean device.revoked\?$/);
});

/** Values of any form, many of them close to valid ones. */
function nearly(names: readonly string[]): fc.Arbitrary<unknown> {
  const name = fc.oneof(
    fc.constantFrom(...names, "__proto__", "constructor", "toString", "length"),
    fc.tuple(fc.constantFrom(...names), fc.nat(9)).map(([text, at]) => text.slice(0, at) + text.slice(at + 1)),
    fc.string({ unit: "binary", maxLength: 80 }),
  );
  return fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, name, fc.jsonValue(), tie("body"), fc.array(tie("value"), { maxLength: 3 })),
    body: fc.array(fc.tuple(name, tie("value")), { maxLength: 8 }).map((fields) =>
      // JSON.parse makes __proto__ an ordinary field.
      JSON.parse(`{${fields.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`)
    ),
  })).body;
}

const NAMES = "source operation kind deviceHash asset amount merchant types url fromLedger".split(" ");

test("the check of any body or query passes or fails with invalid_request and a message below 2 000 characters", () => {
  const schemas = operationsOf(NOUNS).flatMap(({ spec }) =>
    [spec.body, spec.query].flatMap((schema) => schema === undefined ? [] : [schema])
  );
  fc.assert(
    fc.property(
      nearly([...NAMES, ...OPERATION_KINDS, ...EVENT_TYPES]),
      fc.constantFrom(...schemas),
      (value, schema) => {
        try {
          checked(schema, value, "field");
        } catch (error) {
          assert.ok(error instanceof GatewayError, String(error));
          assert.equal(error.code, "invalid_request");
          assert.ok(error.message.length < 2_000, error.message);
        }
      },
    ),
    { numRuns: forTier({ test: 300, all: 2_000 }) },
  );
});

test("prepare answers an operation of any form with 400 or 404 and a message", async () => {
  await fc.assert(
    fc.asyncProperty(nearly([...NAMES, ...OPERATION_KINDS]), async (operation) => {
      const body = { source: account, operation };
      const answer = await api.request("POST", "/v1/transactions/prepare", { body });
      assert.ok([400, 404].includes(answer.status), JSON.stringify(answer.body));
      assert.equal(typeof answer.body.error.message, "string");
    }),
    { numRuns: forTier({ test: 40, all: 200 }) },
  );
});
