// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayOfFile } from "./test_gateway.ts";

const { api } = gatewayOfFile(() => ({ started: false }));

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
