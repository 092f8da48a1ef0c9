// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { type GatewayUnderTest, networkOfFile, startGateway } from "../http/test_gateway.ts";
import { issueCard } from "../sandbox/past_the_gateway.ts";

const on = networkOfFile();

let cards = 10;
/** An agent with its own card and money in escrow. */
async function newPayer() {
  const agent = Keypair.random();
  await on.network.fund(agent.publicKey());
  const deviceHash = String(cards++).repeat(32);
  issueCard(on, agent, deviceHash, 1_000_000);
  return { agent, deviceHash };
}

/** Two agents prepare a payment to one merchant, each at its own gateway. Then both submit; returns their status codes. */
async function payTogether(...gateways: GatewayUnderTest[]): Promise<number[]> {
  const merchant = Keypair.random().publicKey();
  const key = gateways[0]!.apiKey;
  const prepared: { by: GatewayUnderTest; xdr: string }[] = [];
  for (const by of gateways) {
    const { agent, deviceHash } = await newPayer();
    const operation = { kind: "authorize", deviceHash, merchant, asset: on.sandbox.asset, amount: "7" };
    prepared.push({ by, xdr: await by.signedEnvelope(agent, operation, { key }) });
  }
  const ended: number[] = [];
  for (const { by, xdr } of prepared) {
    ended.push((await by.submit(xdr, { key })).status);
  }
  return ended;
}

test("two agents pay one merchant at the same time, through one gateway or through two gateways on one store", async () => {
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
