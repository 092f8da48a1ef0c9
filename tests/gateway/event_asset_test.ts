// needs: runtime
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CONTRACT_EVENT_TYPES } from "../../lib/escrow/events.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const PASSPHRASE = "Test Network";
const CARD = "ab".repeat(32);

let on: TestNetwork;
let receiver: Receiver;
before(async () => {
  on = await startTestNetwork(PASSPHRASE);
  receiver = await startReceiver();
});
after(async () => {
  await receiver.stop();
  await on.network.stop();
});

const targets = { allowLoopbackHttp: true };

async function newWebhook({ request }: GatewayUnderTest, path: string): Promise<string> {
  const { status, body } = await request("POST", "/v1/webhooks", { body: { url: receiver.url + path } });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** The events that arrived at a path, once there are so many. */
// deno-lint-ignore no-explicit-any -- what JSON holds
async function arrived(path: string, count: number): Promise<any[]> {
  for (;;) {
    const found = receiver.received.filter((one) => one.path === path);
    if (found.length >= count) return found.map(({ body }) => JSON.parse(body).event);
    await receiver.until(receiver.received.length + 1);
  }
}

/** A card's whole life without the gateway: one event of each type. */
function liveCard(): void {
  const { network, sandbox: { accounts, contracts, asset } } = on;
  const [owner, merchant] = [accounts.owner, accounts.merchant].map(({ secret }) => Keypair.fromSecret(secret));
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;
  const [self, shop, card, token] = [addressOf(owner!), addressOf(merchant!), hashVal(CARD), addressOf(asset)];
  callNow(network, owner!, deviceRegistry, "register", self, card, self);
  callNow(network, owner!, agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  callNow(network, owner!, paymentEscrow, "fund_escrow", token, self, card, i128(40));
  callNow(network, owner!, paymentEscrow, "authorize", self, card, shop, token, i128(10), u64(1));
  callNow(network, merchant!, paymentEscrow, "claim", token, shop);
  callNow(network, owner!, paymentEscrow, "defund_escrow", token, card, i128(5));
  callNow(network, owner!, agentRegistry, "revoke_agent", self, card);
  callNow(network, owner!, paymentEscrow, "sweep_on_revoke", token, card, self);
  callNow(network, owner!, deviceRegistry, "revoke", self, card);
}

describe("the asset of an event", () => {
  test("is in webhook deliveries and in the history, for each event type that has an asset", async () => {
    const api = await startGateway(on, { targets });
    await newWebhook(api, "/asset");
    liveCard();
    const events = await arrived("/asset", CONTRACT_EVENT_TYPES.length);
    const { asset } = on.sandbox;
    for (const { type, asset: found } of events) {
      const hasNone = ["device.registered", "device.revoked", "agent.revoked"].includes(type);
      assert.equal(found, hasNone ? undefined : asset, type);
    }
    assert.deepEqual(events.map(({ type }) => type).sort(), CONTRACT_EVENT_TYPES.toSorted());
    for (const event of events) assert.deepEqual((await api.request("GET", `/v1/events/${event.id}`)).body, event);
    await api.stop();
  });
});
