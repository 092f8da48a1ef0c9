// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertInvalid, gatewayOfFile, type RequestOptions } from "./test_gateway.ts";

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

type Case = [what: string, message: RegExp, method: string, path: string, options?: RequestOptions];

const get = (path: string, what: string, message: RegExp): Case => [what, message, "GET", path];
const events = (query: string, message: RegExp) => get(`/v1/events?${query}`, `the query ${query}`, message);
const post = (path: string, body: unknown, what: string, message: RegExp, headers?: Record<string, string>): Case => {
  return [what, message, "POST", path, { body, headers }];
};
const check = (body: unknown, what: string, message: RegExp) => post("/v1/payments/check", body, what, message);
const paid = (amount: unknown, what: string, message: RegExp = amountRule) =>
  check({ deviceHash, asset, amount }, `an amount that is ${what}`, message);
const submit = (xdr: unknown, what: string, message: RegExp) => post("/v1/transactions/submit", { xdr }, what, message);
const prepare = (operation: unknown, what: string, message: RegExp, source = account) =>
  post("/v1/transactions/prepare", { source, operation }, what, message);
const amountRule = /^amount must be a decimal string of the smallest unit between 1 and \d+; got /;
const fund = { kind: "fundEscrow", deviceHash, asset, amount: "1" };
const pay = { ...fund, kind: "authorize", merchant: account };
const policy = { kind: "registerAgent", deviceHash, asset, agent: account, maxAmount: "1" };
const seed = "SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU7";
const named = /^asset must be a contract id .*; got "native"; on this network that is C[A-Z2-7]{55}$/;
const secret = /^address .*secret key, which must never be sent$/;

const CASES: Case[] = [
  get(`/v1/devices/${"a".repeat(63)}`, "a device hash of 63 digits", /^hash must be 64 hex digits/),
  get(
    `/v1/wallets/${account.slice(0, -1)}A/devices`,
    "an address with a wrong checksum",
    /^address must be .*checksum/,
  ),
  get(`/v1/merchants/${seed}/pending`, "a secret key in place of an address", secret),
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
  paid(5, "a number", /^amount must be .*; got a number$/),
  paid(5.5, "a float"),
  paid("5.5", "a text with a decimal point"),
  paid("-5", "a text with a sign"),
  paid("+5", "a text with a plus"),
  paid("05", "a text with a leading zero"),
  paid("5e3", "a text with an exponent"),
  paid(" 5", "a text with a blank"),
  paid("", "empty"),
  paid("0", "zero"),
  paid("٣", "another script's digit"),
  paid(`${BigInt(max) + 1n}`, "more than an i128"),
  paid(null, "null", /^amount must be .*; got null$/),
  check({ deviceHash, asset }, "a missing amount", /^amount is missing: must be/),
  check({ deviceHash, asset: account, amount: "1" }, "an account in place of an asset", /^asset must be a contract id/),
  check({ deviceHash, asset: "native", amount: "1" }, "the native asset by its name", named),
  check(
    { deviceHash, asset: `USDC:${account}`, amount: "1" },
    "a classic asset by its name",
    /; on this .* is C\w{55}$/,
  ),
  check({ deviceHash, asset, amount: "1", tip: "1" }, "an unknown field", /^unknown field tip$/),
  check([], "an array", /^the body must be/),
  check("null", "null as a body", /^the body must be/),
  check("{", "broken JSON", /^the body must be JSON: a name or } was expected where the body ends$/),
  check("", "an empty body", /^the body must be a JSON object; got an empty body/),
  prepare({ kind: "pay" }, "an unknown kind", /^operation\.kind must be one of authorize, claim/),
  prepare({}, "a missing kind", /^operation\.kind is missing: must be one of authorize/),
  prepare("authorize", "an operation that is a string", /^operation must be an object/),
  prepare({ kind: "claim" }, "a missing asset", /^operation\.asset is missing: must be a contract id/),
  prepare(
    { kind: "claim", asset, amount: "1" },
    "a field of another kind of operation",
    /^unknown field operation\.amount$/,
  ),
  prepare({ ...fund, amount: 7 }, "a number in an operation", /^operation\.amount must be .*got a number/),
  prepare({ ...pay, merchant: "bob" }, "a bad merchant", /^operation\.merchant must be an account address/),
  prepare({ ...pay, nonce: 3 }, "a nonce that is a number", /^operation\.nonce must be/),
  prepare(
    { ...policy, expiresAt: "soon" },
    "an expiry that is text",
    /^operation\.expiresAt must be whole Unix seconds/,
  ),
  prepare({ kind: "claim", asset }, "a source that is a contract", /^source must be an account address/, asset),
  submit("%%%", "an envelope that is not base64", /^xdr /),
  submit(5, "an envelope that is a number", /^xdr must be a base64 transaction envelope/),
  post(
    "/v1/payments/check",
    "a=b",
    "a body of another type",
    /^Content-Type must be application\/json, got "text\/plain"$/,
    { "content-type": "text/plain" },
  ),
];

for (const [what, message, method, path, options] of CASES) {
  test(`the gateway refuses ${what} with invalid_request before it calls a node (${method} ${path.slice(0, 40)})`, async () => {
    upstreamCalls = 0;
    assertInvalid(await api.request(method, path, options), message);
    assert.equal(upstreamCalls, 0);
  });
}

/** Posts raw bytes to the payment check. */
function postBytes(body: BodyInit): Promise<Response> {
  const headers = { authorization: `Bearer ${api.apiKey}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
  return Promise.resolve(
    api.gateway.fetch(new Request("http://gateway.test/v1/payments/check", init), { remoteAddress: "" }),
  );
}

test("the payment check accepts an amount of 2^127−1 and a hash in capitals", async () => {
  const body = { deviceHash: deviceHash.toUpperCase(), asset, amount: max };
  const headers = { "content-type": "application/json; charset=utf-8" };
  const answer = await api.request("POST", "/v1/payments/check", { body, headers });
  assert.deepEqual([answer.status, answer.body], [200, { ok: false, reason: "device_not_found" }]);
});

test("the gateway refuses a body that is not UTF-8 with status 400", async () => {
  const answer = await postBytes(new Uint8Array([0x22, 0xff, 0x22]));
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /must be UTF-8/);
});

test("the gateway refuses a body without Content-Length above 192 KiB with 413 and stops reading", async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 16_384;
      controller.enqueue(new Uint8Array(16_384).fill(0x20));
    },
  });
  assert.equal((await postBytes(endless)).status, 413);
  assert.ok(sent < 1_000_000, `${sent} bytes were read`);
});
