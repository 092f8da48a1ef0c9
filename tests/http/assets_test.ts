// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertInvalid, gatewayOfFile } from "./test_gateway.ts";

let simulations = 0;
const { on, api } = gatewayOfFile((on) => ({
  started: false,
  fetch: (url, init) => {
    if (String(init.body).includes("simulateTransaction")) simulations += 1;
    return on.fetch(url, init);
  },
}));

test("GET /v1/assets/:asset answers symbol, name and decimals of the contract, and simulates them only once", async () => {
  const { asset } = on.sandbox;
  const first = await api.request("GET", `/v1/assets/${asset}`);
  assert.deepEqual([first.status, first.body], [200, { asset, symbol: "native", name: "native", decimals: 7 }]);
  const asked = simulations;
  assert.deepEqual((await api.request("GET", `/v1/assets/${asset}`)).body, first.body);
  assert.equal(simulations, asked);
});

test("GET /v1/assets/:asset answers 404 with a reason for a contract that is not a token", async () => {
  const { paymentEscrow } = on.sandbox.contracts;
  const absent = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM";
  for (const contract of [paymentEscrow, absent]) {
    const { status, body } = await api.request("GET", `/v1/assets/${contract}`);
    assert.deepEqual([status, body.error.code], [404, "not_found"], contract);
    assert.match(body.error.message, new RegExp(`^${contract} is no token on this network: it has no \\w+\\(\\)`));
  }
  assertInvalid(await api.request("GET", "/v1/assets/XLM"), /./);
});

test("GET /v1/assets/:asset answers a classic asset's name with an error that states its contract id", async () => {
  const issued = `USDC:${on.sandbox.accounts.owner.address}`;
  for (const name of ["native", issued, encodeURIComponent(issued)]) {
    const answer = await api.request("GET", `/v1/assets/${name}`);
    assertInvalid(answer, /; on this network that is C[A-Z2-7]{55}$/, "asset");
  }
  const { body } = await api.request("GET", "/v1/assets/native");
  assert.ok(body.error.message.endsWith(on.sandbox.asset));
});
