// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { signed } from "../e2e/client.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

let on: TestNetwork;
let api: GatewayUnderTest;
before(async () => {
  on = await startTestNetwork();
  api = await startGateway(on, {});
  api.gateway.start();
});
after(async () => {
  await api.stop();
  await on.network.stop();
});

/** Less than a wait for a second node answer takes, also on a busy machine. */
const MOST_MS = 500;

test("a prepare right after a movement of the same card answers within a median of 500 ms", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const deviceHash = "ef".repeat(32);
  const took: number[] = [];
  const write = async (operation: object) => {
    const beganMs = performance.now();
    const { status, body } = await api.request("POST", "/v1/transactions/prepare", {
      body: { source: owner.address, operation: { deviceHash, ...operation } },
    });
    took.push(performance.now() - beganMs);
    assert.equal(status, 200, JSON.stringify(body));
    const xdr = signed(body.xdr, body.networkPassphrase, Keypair.fromSecret(owner.secret).secret());
    assert.equal((await api.request("POST", "/v1/transactions/submit", { body: { xdr } })).status, 200);
  };
  await write({ kind: "registerDevice", agent: agent.address });
  await write({ kind: "fundEscrow", asset, amount: "5" });
  for (let rounds = 0; rounds < 5; rounds++) {
    await write({ kind: "fundEscrow", asset, amount: "5" });
    await write({ kind: "defundEscrow", asset, amount: "5" });
  }
  if (process.env.SHOW_TIMES) console.log(took.map((ms) => ms.toFixed(0)).join(" "));
  const median = took.slice(2).sort((a, b) => a - b)[5]!;
  assert.ok(median <= MOST_MS, took.map((ms) => ms.toFixed(0)).join(" "));
});
