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
import { gatewayOfFile } from "./test_gateway.ts";
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

/** What is said of a mistyped body or query: the message, and the field at fault. */
function mistyped(what: string, method: string, path: string, body: unknown, message: string, param: string): void {
  test(`mistyped: ${what}`, async () => {
    const { status, body: { error } } = await api.request(method, path, { body });
    assert.deepEqual([status, error], [400, { code: "invalid_request", message, retry: "never", param }]);
  });
}

const BODIES: Record<string, [what: string, body: unknown, message: string, param: string][]> = {
  "/v1/transactions/prepare": [
    [
      "an optional field of an operation",
      { source: account, operation: { ...fund, kind: "authorize", merchant: account, nonse: "1" } },
      "unknown field operation.nonse; did you mean nonce?",
      "operation.nonse",
    ],
    [
      "a field of an operation that is there",
      { source: account, operation: { kind: "claim", assets: "x", asset } },
      "unknown field operation.assets",
      "operation.assets",
    ],
    [
      "a field of an operation that is missing under its own name",
      { source: account, operation: { ...fundNothing, amout: "1" } },
      "unknown field operation.amout; did you mean amount?",
      "operation.amout",
    ],
    ["a field of the body", { sorce: account, operation: fund }, "unknown field sorce; did you mean source?", "sorce"],
    [
      "the field that says which operation it is",
      { source: account, operation: { ...fundNothing, kind: undefined, knid: "fundEscrow" } },
      "unknown field operation.knid; did you mean kind?",
      "operation.knid",
    ],
    [
      "a kind",
      { source: account, operation: { ...fund, kind: "authorise" } },
      `operation.kind must be one of ${kinds}; got "authorise"; did you mean authorize?`,
      "operation.kind",
    ],
    [
      "a kind that is near to none",
      { source: account, operation: { ...fund, kind: "\u0007pay" } },
      `operation.kind must be one of ${kinds}; got "\\u0007pay"`,
      "operation.kind",
    ],
  ],
  "/v1/payments/check": [
    [
      "an optional field",
      { deviceHash, asset, amount: "1", merchnat: "x" },
      "unknown field merchnat; did you mean merchant?",
      "merchnat",
    ],
    ["a field that is there", { deviceHash, asset, amount: "1", amuont: "1" }, "unknown field amuont", "amuont"],
    [
      "a field beside one that is wrong for another reason",
      { devicehash: deviceHash, asset: "bob", amount: "1" },
      "unknown field devicehash; did you mean deviceHash?",
      "devicehash",
    ],
    [
      "a field beside one that nobody knows",
      { deviceHash, asset, tip: "1", amout: "1" },
      "unknown field amout; did you mean amount?",
      "amout",
    ],
  ],
  "/v1/webhooks": [
    [
      "an event type of a webhook",
      { ...hook, types: ["payment.claimed", "payment.authorised"] },
      `types.1 must be one of ${types}; got "payment.authorised"; did you mean payment.authorized?`,
      "types.1",
    ],
  ],
};
for (const [path, cases] of Object.entries(BODIES)) {
  for (const [what, ...more] of cases) mistyped(what, "POST", path, ...more);
}

const QUERIES: [what: string, path: string, message: string, param: string][] = [
  [
    "an event type in a query",
    "/v1/events?types=payment.claimed,payment.authorised",
    `types must be a comma-separated list of ${types}; got "payment.authorised"; did you mean payment.authorized?`,
    "types",
  ],
  [
    "an event type of a stream",
    "/v1/events/stream?types=escrow.fund",
    `types must be a comma-separated list of ${types}; got "escrow.fund"; did you mean escrow.funded?`,
    "types",
  ],
  ["an order", "/v1/events?order=dsc", 'order must be one of asc, desc; got "dsc"; did you mean desc?', "order"],
  [
    "a parameter where there are none",
    "/v1/network?verbose=1",
    "unknown query parameter verbose: this endpoint takes none",
    "verbose",
  ],
  [
    "the same behind an empty one",
    "/v1/network?&&verbose=1",
    "unknown query parameter verbose: this endpoint takes none",
    "verbose",
  ],
  [
    "a parameter twice",
    "/v1/events?limit=5&limit=6",
    "query parameter limit must appear once; got it 2 times",
    "limit",
  ],
  ["a number", "/v1/events?limit=1O", 'limit must be an integer from 1 to 1000; got "1O"', "limit"],
  [
    "a number that is too large",
    "/v1/events?fromLedger=4294967296",
    'fromLedger must be an integer from 1 to 4294967295; got "4294967296"',
    "fromLedger",
  ],
  ["a hash", "/v1/events?txHash=12", 'txHash must be 64 hex digits; got "12"', "txHash"],
  ["a hash in a path", "/v1/transactions/12", 'hash must be 64 hex digits; got "12"', "hash"],
];
for (const [what, path, ...more] of QUERIES) mistyped(what, "GET", path, undefined, ...more);

test("a query of empty parameters is none, also where there are none", async () => {
  for (const query of ["?", "?&", "?&&"]) {
    assert.equal((await api.request("GET", `/v1/network${query}`)).status, 200, query);
  }
});

test("what is quoted of a wrong value is bounded, and a secret in it is not told", async () => {
  const messageOf = async (query: string) => (await api.request("GET", `/v1/events?${query}`)).body.error.message;
  assert.match(await messageOf(`types=${"x".repeat(5_000)}`), /; got "x{40}…"$/);
  assert.match(await messageOf(`order=${api.apiKey}`), /; got an API key$/);
  assert.match(await messageOf("types="), /; got ""$/);
  const body = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`p${at}`, at]));
  const { error } = (await api.request("POST", "/v1/webhooks", { body: { ...hook, ...body } })).body;
  assert.equal(error.message, "unknown field p0, p1, p2, p3, p4, p5, p6, p7 and 2992 more");
});

for (const coding of ["gzip", "br", "x-made-up", "gzip, identity"]) {
  test(`a body with Content-Encoding ${coding} is refused with 415, naming the coding`, async () => {
    const { status, body } = await api.request("POST", "/v1/payments/check", {
      body: {},
      headers: { "content-encoding": coding },
    });
    assert.deepEqual([status, body.error.code, body.error.retry], [415, "invalid_request", "never"]);
    assert.ok(body.error.message.includes(JSON.stringify(coding)), body.error.message);
  });
}

test("identity is no coding", async () => {
  const { body } = await api.request("POST", "/v1/payments/check", {
    body: {},
    headers: { "content-encoding": "identity" },
  });
  assert.match(body.error.message, /deviceHash/);
});

for (const name of ["X-Idempotency-Key", "x-idempotency-token", "Idempotent-Key"]) {
  test(`${name} is refused, naming the header that is read`, async () => {
    for (const path of ["/v1/transactions/prepare", "/v1/transactions/submit", "/v1/webhooks"]) {
      const { status, body } = await api.request("POST", path, { body: {}, headers: { [name]: "order-1" } });
      assert.deepEqual([status, body.error.code], [400, "invalid_request"], path);
      assert.match(body.error.message, /is not supported: send Idempotency-Key instead$/);
    }
  });
}

test("a list may be given as types=a,b and as types=a&types=b", async () => {
  const types = ["device.registered", "payment.authorized", "escrow.swept"];
  for (const query of [`types=${types.join()}`, types.map((type) => `types=${type}`).join("&")]) {
    const { status, body } = await api.request("GET", `/v1/events?${query}`);
    assert.deepEqual([status, body.events], [200, []]);
  }
});

test("one of several that is no type is named", async () => {
  const { body } = await api.request("GET", "/v1/events?types=device.registered&types=device.revokd");
  assert.match(body.error.message, /^types must be .*; got "device.revokd"; did you mean device.revoked\?$/);
});

/** Values as strangers send them: of any form, and near to what is meant. */
function nearly(names: readonly string[]): fc.Arbitrary<unknown> {
  const name = fc.oneof(
    fc.constantFrom(...names, "__proto__", "constructor", "toString", "length"),
    fc.tuple(fc.constantFrom(...names), fc.nat(9)).map(([text, at]) => text.slice(0, at) + text.slice(at + 1)),
    fc.string({ unit: "binary", maxLength: 80 }),
  );
  return fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, name, fc.jsonValue(), tie("body"), fc.array(tie("value"), { maxLength: 3 })),
    body: fc.array(fc.tuple(name, tie("value")), { maxLength: 8 }).map((fields) =>
      // As JSON.parse makes it: __proto__ is a field like others.
      JSON.parse(`{${fields.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`)
    ),
  })).body;
}

const NAMES = [
  "source",
  "operation",
  "kind",
  "deviceHash",
  "asset",
  "amount",
  "merchant",
  "types",
  "url",
  "fromLedger",
];

test("whatever is sent for a body or a query, it is taken or invalid_request in a sentence of bounded length", () => {
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

test("an operation of any form is answered, and what is wrong with it in an error's body", async () => {
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
