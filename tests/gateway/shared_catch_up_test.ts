// needs: neutral
import { Keypair, nativeToScVal } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { openStore } from "../../lib/store/open.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";

let on: TestNetwork;
let leader: GatewayUnderTest;
let standby: GatewayUnderTest;
before(async () => on = await startTestNetwork());
after(() => on.network.stop());
beforeEach(async () => {
  const store = await openStore("memory:", { isShared: true });
  // Nodes are seldom polled: only who is woken looks in time.
  const gateway = () => startGateway(on, { store: () => store, settings: { pollMs: "60000" } });
  leader = await gateway();
  await until(async () => await store.events.watcherState() !== undefined);
  standby = await gateway();
});
afterEach(() => Promise.all([leader.stop(), standby.stop()]));

const i128 = (amount: number) => nativeToScVal(amount, { type: "i128" });
const u64 = (value: number) => nativeToScVal(value, { type: "u64" });

let cards = 10;
/** A merchant who was just paid past the gateways, and the card. */
async function payPastThem() {
  const { contracts: { deviceRegistry, agentRegistry, paymentEscrow }, asset } = on.sandbox;
  const [owner, merchant] = [Keypair.random(), Keypair.random()];
  for (const account of [owner, merchant]) await on.network.fund(account.publicKey());
  const deviceHash = String(cards++).repeat(32);
  const [self, card, token] = [addressOf(owner), hashVal(deviceHash), addressOf(asset)];
  callNow(on.network, owner, deviceRegistry, "register", self, card, self);
  callNow(on.network, owner, agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  callNow(on.network, owner, paymentEscrow, "fund_escrow", token, self, card, i128(100));
  callNow(on.network, owner, paymentEscrow, "authorize", self, card, addressOf(merchant), token, i128(7), u64(1));
  return { merchant: merchant.publicKey(), deviceHash };
}

async function prepareClaim(by: GatewayUnderTest, merchant: string): Promise<void> {
  const { status, body } = await by.request("POST", "/v1/transactions/prepare", {
    key: leader.apiKey,
    body: { source: merchant, operation: { kind: "claim", asset: on.sandbox.asset } },
  });
  assert.equal(status, 200, JSON.stringify(body));
}

test("a claim of what was just paid past the gateways is prepared by the one that watches", async () => {
  await prepareClaim(leader, (await payPastThem()).merchant);
});

test("and by one that stands by", async () => {
  await prepareClaim(standby, (await payPastThem()).merchant);
});

test("and by one that stands by where the one that watches has seen the ledger, without its events", async () => {
  const { merchant, deviceHash } = await payPastThem();
  const { status } = await leader.request("GET", `/v1/devices/${deviceHash}`, { key: leader.apiKey });
  assert.equal(status, 200);
  await prepareClaim(standby, merchant);
});
