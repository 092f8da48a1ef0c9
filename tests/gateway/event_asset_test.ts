// needs: runtime
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createGatewayClient } from "../../lib/client/client.ts";
import { EVENT_TYPES } from "../../lib/escrow/events.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";
import { type FormerSchema, makeFormerFile, makeFormerKvFile } from "../store/former_store.ts";
import { folderForTests } from "../folder.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

/** Of which the fixtures' stores are. */
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

/** A card's life past the gateway: one event of each type there is. */
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
  test("is in its delivery to a webhook, as in the history: of all that move one, and of a policy", async () => {
    const api = await startGateway(on, { targets });
    await newWebhook(api, "/asset");
    liveCard();
    const events = await arrived("/asset", EVENT_TYPES.length);
    const { asset } = on.sandbox;
    assert.deepEqual(Object.fromEntries(events.map((event) => [event.type, event.asset])), {
      "device.registered": undefined,
      "device.revoked": undefined,
      "agent.registered": asset,
      "agent.revoked": undefined,
      "escrow.funded": asset,
      "escrow.defunded": asset,
      "escrow.swept": asset,
      "payment.authorized": asset,
      "payment.claimed": asset,
    });
    for (const event of events) assert.deepEqual((await api.request("GET", `/v1/events/${event.id}`)).body, event);
    await api.stop();
  });
});

/** What a program of before wrote of a payment, when no asset was kept: of all the fixtures' events the one that says all. */
const FORMER_PAYMENT = {
  id: "1-0000000060129546241-0000000002",
  type: "payment.authorized",
  contractId: "CBQHNAXSI55GX2GN6D67GK7BHVPSLJUGZQEU7WJ5LKR5PNUCGLIMAO4K",
  ledger: 14,
  ledgerClosedAt: "2026-03-01T00:01:10Z",
  txHash: "3f6".padStart(64, "0"),
  deviceHash: "0123456789abcdef".repeat(4),
  agent: "GDQERENWDDSQZS7R7WKHZI3BSOYMV3FSWR7TFUYFTKQ447PIX6NREOJM",
  merchant: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
  amount: "170141183460469231731687303715884105727",
  asset: null,
};

describe("a movement that a program of before has read, when its asset was not kept", () => {
  const directory = folderForTests();

  /** The store of a file of then, without its webhooks, whose secrets are none. */
  async function openFormer(setting: string): Promise<Store> {
    const store = await openStore(setting);
    for (const { id } of await store.subscriptions.list({ limit: 100 })) await store.subscriptions.delete(id);
    await store.subscriptions.resealSecrets({ secrets: [], check: null });
    return store;
  }

  async function assertNull(setting: string): Promise<void> {
    const former = await openFormer(setting);
    const api = await startGateway(on, { targets, store: () => former });
    const { id, merchant } = FORMER_PAYMENT;
    assert.deepEqual((await api.request("GET", `/v1/events/${id}`)).body, FORMER_PAYMENT);
    assert.deepEqual((await api.request("GET", `/v1/events?merchant=${merchant}`)).body.events, [FORMER_PAYMENT]);

    const client = createGatewayClient({
      baseUrl: "http://gateway.test",
      apiKey: api.apiKey,
      fetch: (url, init) =>
        Promise.resolve(api.gateway.fetch(new Request(url, init), { remoteAddress: "198.51.100.7" })),
    });
    assert.deepEqual(await client.event(id), { ok: true, ...FORMER_PAYMENT });
    assert.deepEqual(await Array.fromAsync(client.events({ merchant, live: false })), [FORMER_PAYMENT]);

    const path = `/${basename(setting)}`;
    const webhook = await newWebhook(api, path);
    const { status } = await api.request("POST", `/v1/webhooks/${webhook}/replay`, { body: { eventId: id } });
    assert.equal(status, 202);
    assert.deepEqual(await arrived(path, 1), [FORMER_PAYMENT]);
    await api.stop();
    await former.close();
  }

  for (const schema of [1, 2, 3, 4]) {
    test(`is shown and delivered with null: schema ${schema} of sqlite`, async () => {
      const path = join(directory, `${schema}.db`);
      await makeFormerFile(path, schema as FormerSchema);
      await assertNull(`sqlite:${path}`);
    });
  }
  for (const schema of [1, 2]) {
    test(
      `is shown and delivered with null: schema ${schema} of Deno KV`,
      { skip: runtimeName !== "deno" },
      async () => {
        const path = join(directory, `${schema}.kv`);
        makeFormerKvFile(path, schema);
        await assertNull(`deno-kv:${path}`);
      },
    );
  }
});
