// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { openStore } from "../../lib/store/open.ts";
import { type GatewayUnderTest, networkOfFile, startGateway } from "../http/test_gateway.ts";
import { addressOf, callNow, issueCard } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const on = networkOfFile();
let leader: GatewayUnderTest;
let standby: GatewayUnderTest;
beforeEach(async () => {
  const store = await openStore("memory:", { isShared: true });
  // Gateways poll nodes rarely: only a gateway that is woken reads in time.
  const gateway = () => startGateway(on, { store: () => store, settings: { pollMs: "60000" } });
  leader = await gateway();
  await until(async () => await store.events.watcherState() !== undefined);
  standby = await gateway();
});
afterEach(() => Promise.all([leader.stop(), standby.stop()]));

let cards = 10;
/** A merchant with a new payment that no gateway submitted, and the card. */
async function payPastThem() {
  const { contracts: { paymentEscrow }, asset } = on.sandbox;
  const [owner, merchant] = [Keypair.random(), Keypair.random()];
  for (const account of [owner, merchant]) await on.network.fund(account.publicKey());
  const deviceHash = String(cards++).repeat(32);
  const [self, card, token] = [addressOf(owner), hashVal(deviceHash), addressOf(asset)];
  issueCard(on, owner, deviceHash, 100);
  callNow(on.network, owner, paymentEscrow, "authorize", self, card, addressOf(merchant), token, i128(7), u64(1));
  return { merchant: merchant.publicKey(), deviceHash };
}

async function prepareClaim(by: GatewayUnderTest, merchant: string): Promise<void> {
  const claim = { kind: "claim", asset: on.sandbox.asset };
  const { status, body } = await by.prepare({ address: merchant, secret: "" }, claim, { key: leader.apiKey });
  assert.equal(status, 200, JSON.stringify(body));
}

test("the leader prepares a claim of a new payment that no gateway submitted", async () => {
  await prepareClaim(leader, (await payPastThem()).merchant);
});

test("a follower prepares a claim of a new payment that no gateway submitted", async () => {
  await prepareClaim(standby, (await payPastThem()).merchant);
});

test("a follower prepares a claim of a new payment also when the leader knows the ledger but not its events", async () => {
  const { merchant, deviceHash } = await payPastThem();
  const { status } = await leader.request("GET", `/v1/devices/${deviceHash}`, { key: leader.apiKey });
  assert.equal(status, 200);
  await prepareClaim(standby, merchant);
});
