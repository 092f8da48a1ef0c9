// needs: neutral
import { Keypair, nativeToScVal } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { openStore } from "../../lib/store/open.ts";
import { signed } from "../e2e/client.ts";
import { type GatewayUnderTest, networkOfFile, startGateway } from "../http/test_gateway.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";

const on = networkOfFile();

const i128 = (amount: number) => nativeToScVal(amount, { type: "i128" });
const u64 = (value: number) => nativeToScVal(value, { type: "u64" });

let cards = 10;
/** An agent of a card of its own, with money in escrow. */
async function newPayer() {
  const agent = Keypair.random();
  await on.network.fund(agent.publicKey());
  const { contracts: { deviceRegistry, agentRegistry, paymentEscrow }, asset } = on.sandbox;
  const deviceHash = String(cards++).repeat(32);
  const [self, card, token] = [addressOf(agent), hashVal(deviceHash), addressOf(asset)];
  callNow(on.network, agent, deviceRegistry, "register", self, card, self);
  callNow(on.network, agent, agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  callNow(on.network, agent, paymentEscrow, "fund_escrow", token, self, card, i128(1_000_000));
  return { agent, deviceHash };
}

/** Two agents prepare a payment to one merchant, each at its gateway, then both submit; answers how that ended. */
async function payTogether(...gateways: GatewayUnderTest[]): Promise<number[]> {
  const merchant = Keypair.random().publicKey();
  const key = gateways[0]!.apiKey;
  const prepared: { by: GatewayUnderTest; xdr: string }[] = [];
  for (const by of gateways) {
    const { agent, deviceHash } = await newPayer();
    const operation = { kind: "authorize", deviceHash, merchant, asset: on.sandbox.asset, amount: "7" };
    const { status, body } = await by.request("POST", "/v1/transactions/prepare", {
      key,
      body: { source: agent.publicKey(), operation },
    });
    assert.equal(status, 200, JSON.stringify(body));
    prepared.push({ by, xdr: signed(body.xdr, body.networkPassphrase, agent.secret()) });
  }
  const ended: number[] = [];
  for (const { by, xdr } of prepared) {
    ended.push((await by.request("POST", "/v1/transactions/submit", { key, body: { xdr } })).status);
  }
  return ended;
}

test("different agents pay one merchant at the same moment, through one gateway or through two on one store", async () => {
  const store = await openStore("memory:", { isShared: true });
  const gateway = () => startGateway(on, { store: () => store });
  const [one, two] = [await gateway(), await gateway()];
  try {
    assert.deepEqual(await payTogether(one, one), [200, 200], "through one");
    assert.deepEqual(await payTogether(one, two), [200, 200], "through two");
  } finally {
    await Promise.all([one.stop(), two.stop()]);
    await store.close();
  }
});
