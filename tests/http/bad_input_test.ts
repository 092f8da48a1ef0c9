// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayOfFile, type RequestOptions } from "./test_gateway.ts";

let upstreamCalls = 0;
const { api } = gatewayOfFile((on) => ({
  started: false,
  fetch: (url, init) => {
    upstreamCalls += 1;
    return on.fetch(url, init);
  },
}));

const deviceHash = "ab".repeat(32);
const asset = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC";
const account = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
const max = "170141183460469231731687303715884105727";

interface Case {
  what: string;
  method?: string;
  path: string;
  options?: RequestOptions;
  message: RegExp;
}

const check = (body: unknown, what: string, message: RegExp): Case => ({
  what,
  method: "POST",
  path: "/v1/payments/check",
  options: { body },
  message,
});
const prepare = (operation: unknown, what: string, message: RegExp): Case => ({
  what,
  method: "POST",
  path: "/v1/transactions/prepare",
  options: { body: { source: account, operation } },
  message,
});
const events = (query: string, message: RegExp): Case => ({
  what: `the query ${query}`,
  path: `/v1/events?${query}`,
  message,
});
const amountRule = /^amount must be a decimal string of the smallest unit between 1 and \d+; got /;

const CASES: Case[] = [
  { what: "a device hash of 63 digits", path: `/v1/devices/${"a".repeat(63)}`, message: /^hash must be 64 hex digits/ },
  {
    what: "an address with a wrong checksum",
    path: `/v1/wallets/${account.slice(0, -1)}A/devices`,
    message: /^address must be .*checksum/,
  },
  {
    what: "a secret key for an address",
    path: `/v1/merchants/SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU7/pending`,
    message: /^address .*secret key, which must never be sent$/,
  },
  events("limit=0", /^limit must be an integer from 1 to 1000/),
  events("limit=1001", /^limit must be an integer from 1 to 1000/),
  events("fromLedger=0", /^fromLedger must be an integer/),
  events("fromLedger=1.5", /^fromLedger must be an integer/),
  events("fromLedger=1&cursor=x", /^fromLedger and cursor exclude each other/),
  events("fromLedger=5&toLedger=4", /^toLedger must not be before fromLedger 5, got 4$/),
  events("cursor=garbage", /cursor/),
  events("deviceHash=12", /^deviceHash must be 64 hex digits/),
  events("merchant=bob", /^merchant must be an account address/),
  events("fromledger=1", /^unknown query parameter fromledger; did you mean fromLedger\?$/),
  check({ deviceHash, asset, amount: 5 }, "an amount that is a number", /^amount must be .*; got a number$/),
  check({ deviceHash, asset, amount: 5.5 }, "an amount that is a float", amountRule),
  check({ deviceHash, asset, amount: "5.5" }, "a decimal point", amountRule),
  check({ deviceHash, asset, amount: "-5" }, "a sign", amountRule),
  check({ deviceHash, asset, amount: "+5" }, "a plus", amountRule),
  check({ deviceHash, asset, amount: "05" }, "a leading zero", amountRule),
  check({ deviceHash, asset, amount: "5e3" }, "an exponent", amountRule),
  check({ deviceHash, asset, amount: " 5" }, "a blank", amountRule),
  check({ deviceHash, asset, amount: "" }, "an empty amount", amountRule),
  check({ deviceHash, asset, amount: "0" }, "nothing", amountRule),
  check({ deviceHash, asset, amount: "٣" }, "another script's digit", amountRule),
  check({ deviceHash, asset, amount: `${BigInt(max) + 1n}` }, "more than an i128", amountRule),
  check({ deviceHash, asset, amount: null }, "null", /^amount must be .*; got null$/),
  check({ deviceHash, asset }, "a missing amount", /^amount is missing: must be/),
  check({ deviceHash, asset: account, amount: "1" }, "an account for an asset", /^asset must be a contract id/),
  check(
    { deviceHash, asset: "native", amount: "1" },
    "the native asset by its name",
    /^asset must be a contract id .*; got "native"; on this network that is C[A-Z2-7]{55}$/,
  ),
  check(
    { deviceHash, asset: `USDC:${account}`, amount: "1" },
    "a classic asset by its name",
    /; on this network that is C[A-Z2-7]{55}$/,
  ),
  check({ deviceHash, asset, amount: "1", tip: "1" }, "an unknown field", /^unknown field tip$/),
  check([], "an array", /^the body must be/),
  check("null", "null for a body", /^the body must be/),
  check("{", "broken JSON", /^the body must be JSON: a name or } was expected where the body ends$/),
  check("", "an empty body", /^the body must be a JSON object; got an empty body/),
  prepare({ kind: "pay" }, "an unknown kind", /^operation\.kind must be one of authorize, claim/),
  prepare({}, "a missing kind", /^operation\.kind is missing: must be one of authorize/),
  prepare("authorize", "an operation that is a string", /^operation must be an object/),
  prepare({ kind: "claim" }, "a missing asset", /^operation\.asset is missing: must be a contract id/),
  prepare({ kind: "claim", asset, amount: "1" }, "a field of another kind", /^unknown field operation\.amount$/),
  prepare(
    { kind: "fundEscrow", deviceHash, asset, amount: 7 },
    "a number in an operation",
    /^operation\.amount must be .*got a number/,
  ),
  prepare(
    { kind: "authorize", deviceHash, asset, amount: "1", merchant: "bob" },
    "a bad merchant",
    /^operation\.merchant must be an account address/,
  ),
  prepare(
    { kind: "authorize", deviceHash, asset, amount: "1", merchant: account, nonce: 3 },
    "a nonce that is a number",
    /^operation\.nonce must be/,
  ),
  prepare(
    { kind: "registerAgent", deviceHash, asset, agent: account, maxAmount: "1", expiresAt: "soon" },
    "an expiry that is text",
    /^operation\.expiresAt must be whole Unix seconds/,
  ),
  {
    what: "a source that is a contract",
    method: "POST",
    path: "/v1/transactions/prepare",
    options: { body: { source: asset, operation: { kind: "claim", asset } } },
    message: /^source must be an account address/,
  },
  {
    what: "an envelope that is not base64",
    method: "POST",
    path: "/v1/transactions/submit",
    options: { body: { xdr: "%%%" } },
    message: /^xdr /,
  },
  {
    what: "an envelope that is a number",
    method: "POST",
    path: "/v1/transactions/submit",
    options: { body: { xdr: 5 } },
    message: /^xdr must be a base64 transaction envelope/,
  },
  {
    what: "a body of another type",
    method: "POST",
    path: "/v1/payments/check",
    options: { body: "a=b", headers: { "content-type": "text/plain" } },
    message: /^Content-Type must be application\/json, got "text\/plain"$/,
  },
];

for (const { what, method = "GET", path, options, message } of CASES) {
  test(`${what} is invalid_request, named, and nothing is asked upstream (${method} ${path.slice(0, 40)})`, async () => {
    upstreamCalls = 0;
    const { status, body } = await api.request(method, path, options);
    assert.deepEqual([status, body.error.code], [400, "invalid_request"], JSON.stringify(body));
    assert.match(body.error.message, message);
    assert.equal(upstreamCalls, 0);
  });
}

test("an amount of 2^127−1 and a hash in capitals are taken", async () => {
  const body = { deviceHash: deviceHash.toUpperCase(), asset, amount: max };
  const answer = await api.request("POST", "/v1/payments/check", {
    body,
    headers: { "content-type": "application/json; charset=utf-8" },
  });
  assert.deepEqual([answer.status, answer.body], [200, { ok: false, reason: "device_not_found" }]);
});

test("a body that is not UTF-8 is invalid_request", async () => {
  const request = new Request("http://gateway.test/v1/payments/check", {
    method: "POST",
    headers: { authorization: `Bearer ${api.apiKey}`, "content-type": "application/json" },
    body: new Uint8Array([0x22, 0xff, 0x22]),
  });
  const answer = await api.gateway.fetch(request, { remoteAddress: "" });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /must be UTF-8/);
});

test("a body that says no length is cut off above 192 KiB", async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 16_384;
      controller.enqueue(new Uint8Array(16_384).fill(0x20));
    },
  });
  const request = new Request("http://gateway.test/v1/payments/check", {
    method: "POST",
    headers: { authorization: `Bearer ${api.apiKey}`, "content-type": "application/json" },
    body: endless,
    duplex: "half",
  } as RequestInit);
  const answer = await api.gateway.fetch(request, { remoteAddress: "" });
  assert.equal(answer.status, 413);
  assert.ok(sent < 1_000_000, `${sent} bytes were read`);
});
