// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { issueCard } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const CARD = "ab".repeat(32);
/** The answers of the receivers by their host. The slow one answers at the end. */
const STATUS: Record<string, number> = { "gone.example": 410, "broken.example": 500 };

let on: TestNetwork;
let api: GatewayUnderTest;
const slow = Promise.withResolvers<void>();

before(async () => {
  on = await startTestNetwork();
  issueCard(on, Keypair.fromSecret(on.sandbox.accounts.owner.secret), CARD, 1_000_000);
  api = await startGateway(on, {
    targets: {
      resolve: () => Promise.resolve(["1.1.1.1"]),
      poster: {
        async post({ url }) {
          const { hostname } = new URL(url);
          if (hostname === "slow.example") await slow.promise;
          return { statusCode: STATUS[hostname] ?? 204, responseBody: "", durationMs: 1 };
        },
        close() {},
      },
    },
  });
});
after(async () => {
  slow.resolve();
  await api?.stop();
  await on?.network.stop();
});

test("a payment has the deliveries of its events to the key's webhooks, from their creation on", async () => {
  const { accounts: { owner, agent, merchant }, asset } = on.sandbox;
  const ids = new Map<string, string>();
  async function newWebhook(host: string, fields: Record<string, unknown> = {}, key?: string): Promise<void> {
    const { status, body } = await api.request("POST", "/v1/webhooks", {
      key,
      body: { url: `https://${host}.example/hook`, ...fields },
    });
    assert.equal(status, 201, JSON.stringify(body));
    ids.set(body.id, host);
  }
  const authorized = { types: ["payment.authorized"] };
  await newWebhook("all");
  await newWebhook("gone", authorized);
  await newWebhook("broken", authorized);
  await newWebhook("slow", authorized);
  await newWebhook("funding", { types: ["escrow.funded"] });
  await newWebhook("others", { merchant: agent.address });
  const other = await api.newKey();
  await newWebhook("foreign", {}, other);
  await api.write(owner, { kind: "authorize", deviceHash: CARD, merchant: merchant.address, asset, amount: "5" });

  async function deliveries(key?: string): Promise<string[]> {
    const { body: { payments: [payment] } } = await api.request("GET", "/v1/payments", { key });
    if (payment === undefined) return [];
    const { status, body } = await api.request("GET", `/v1/payments/${payment.id}`, { key });
    assert.equal(status, 200, JSON.stringify(body));
    const events = new Map([[body.id, "payment.authorized"], [body.claim?.eventId, "payment.claimed"]]);
    return body.deliveries.map(({ webhookId, eventId, type, state }: Record<string, string>) => {
      assert.equal(type, events.get(eventId!));
      return `${type} to ${ids.get(webhookId!)}: ${state}`;
    }).sort();
  }
  async function come(wanted: string[], key?: string): Promise<void> {
    await until(async () => (await deliveries(key)).join() === wanted.join()).catch(() => {});
    assert.deepEqual(await deliveries(key), wanted);
  }
  const first = [
    "payment.authorized to all: delivered",
    "payment.authorized to broken: retrying",
    "payment.authorized to gone: rejected",
    "payment.authorized to slow: waiting",
  ];
  await come(first);
  await come(["payment.authorized to foreign: delivered"], other);

  await newWebhook("late");
  await api.write(merchant, { kind: "claim", asset });
  await come([...first, "payment.claimed to all: delivered", "payment.claimed to late: delivered"]);
});
