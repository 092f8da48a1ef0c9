// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { issueCard } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const CARD = "ab".repeat(32);
/** The answers of the receivers by their host. The slow one answers at the end, and the silent one never. */
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
          if (hostname === "silent.example") return { error: "timeout", responseBody: "", durationMs: 1 };
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

const ids = new Map<string, string>();
async function newWebhook(host: string, fields: Record<string, unknown> = {}, key?: string): Promise<void> {
  const { status, body } = await api.request("POST", "/v1/webhooks", {
    key,
    body: { url: `https://${host}.example/hook`, ...fields },
  });
  assert.equal(status, 201, JSON.stringify(body));
  ids.set(body.id, host);
}

type Delivery = { webhookId: string; eventId: string; type: string; state: string } & Record<string, unknown>;
/** Of the newest payment. */
async function deliveriesNow(key?: string): Promise<Delivery[]> {
  const { body: { payments: [payment] } } = await api.request("GET", "/v1/payments", { key });
  if (payment === undefined) return [];
  const { status, body } = await api.request("GET", `/v1/payments/${payment.id}`, { key });
  assert.equal(status, 200, JSON.stringify(body));
  const events = new Map([[body.id, "payment.authorized"], [body.claim?.eventId, "payment.claimed"]]);
  for (const { type, eventId } of body.deliveries) assert.equal(type, events.get(eventId));
  return body.deliveries;
}

/** Waits for these lines, in alphabetical order. */
async function come(lineOf: (delivery: Delivery) => string | undefined, wanted: string[], key?: string): Promise<void> {
  const lines = async () => (await deliveriesNow(key)).map(lineOf).filter((line) => line !== undefined).sort();
  await until(async () => (await lines()).join() === wanted.join()).catch(() => {});
  assert.deepEqual(await lines(), wanted);
}

test("a payment has the deliveries of its events to the key's webhooks, from their creation on", async () => {
  const { accounts: { owner, agent, merchant }, asset } = on.sandbox;
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

  const state = ({ type, webhookId, state }: Delivery) => `${type} to ${ids.get(webhookId)}: ${state}`;
  const first = [
    "payment.authorized to all: delivered",
    "payment.authorized to broken: retrying",
    "payment.authorized to gone: rejected",
    "payment.authorized to slow: waiting",
  ];
  await come(state, first);
  await come(state, ["payment.authorized to foreign: delivered"], other);

  await newWebhook("late");
  await api.write(merchant, { kind: "claim", asset });
  await come(state, [...first, "payment.claimed to all: delivered", "payment.claimed to late: delivered"]);
});

test("a payment's delivery has the number of its attempts, and the last one, as long as the gateway keeps them", async () => {
  const { accounts: { owner, merchant }, asset } = on.sandbox;
  await newWebhook("silent");
  const beganAt = new Date().toISOString();
  await api.write(owner, { kind: "authorize", deviceHash: CARD, merchant: merchant.address, asset, amount: "7" });
  const chosen = ["all", "gone", "slow", "silent"];
  const line = ({ webhookId, state, attempts, lastAttemptAt, lastStatus }: Delivery) => {
    const host = ids.get(webhookId)!;
    if (!chosen.includes(host)) return undefined;
    const isRecent = typeof lastAttemptAt === "string" && lastAttemptAt >= beganAt;
    // A retry may come in between.
    const number = state === "retrying" && Number(attempts) >= 1 ? "some" : attempts;
    return `${host} ${state}: ${number} attempts, ${isRecent ? "the last one now" : lastAttemptAt}, ${lastStatus}`;
  };
  const waiting = "slow waiting: 0 attempts, null, null";
  await come(line, [
    "all delivered: 1 attempts, the last one now, 204",
    "gone rejected: 1 attempts, the last one now, 410",
    "silent retrying: some attempts, the last one now, null",
    waiting,
  ]);
  for (const id of ids.keys()) await api.store.deliveries.pruneAttempts(id, Number.MAX_SAFE_INTEGER);
  await come(line, [
    "all delivered: null attempts, null, null",
    "gone rejected: 1 attempts, the last one now, null",
    "silent retrying: some attempts, the last one now, null",
    waiting,
  ]);
});
