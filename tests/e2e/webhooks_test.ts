// needs: runtime
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { createClient } from "./client.ts";
import { NOTHING_OWED } from "../well_status.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { type SandboxProcess, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { verifyWebhook } from "../../lib/client/verify_webhook.ts";
import { until } from "../until.ts";

let sandbox: SandboxProcess;
let receiver: Receiver;
before(async () => {
  [sandbox, receiver] = await Promise.all([startSandbox(), startReceiver()]);
});
after(async () => {
  await sandbox.stop();
  await receiver.stop();
});

/** Checks both kinds of signature as a receiver would, straight from what was documented. */
function assertSigned({ headers, body }: Received, secret: string): void {
  const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers["x-service-signature"])) ?? [];
  assert.equal(signature, createHmac("sha256", secret).update(`${time}.${body}`).digest("hex"));
  assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < 60);
  assert.equal(headers["webhook-timestamp"], time);
  const key = Uint8Array.from(atob(secret.slice("whsec_".length)), (char) => char.charCodeAt(0));
  const signed = `${headers["webhook-id"]}.${time}.${body}`;
  assert.equal(headers["webhook-signature"], `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  assert.equal(headers["content-type"], "application/json");
}

test("a receiver gets each event of a card's life once, signed, in the ledger's order", async () => {
  const api = createClient(sandbox.info.gateway, sandbox.info.apiKey);
  const created = await api.post("/v1/webhooks", { url: `${receiver.url}/all` });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const claims = await api.post("/v1/webhooks", { url: `${receiver.url}/claims`, types: ["payment.claimed"] });
  await tellStory(sandbox.info);
  const received = await receiver.until(10);

  const all = received.filter(({ path }) => path === "/all");
  for (const one of all) assertSigned(one, created.body.secret);
  const bodies = all.map(({ body }) => JSON.parse(body));
  assert.ok(bodies.every(({ subscription }) => subscription === created.body.id));
  const history = (await api.get("/v1/events")).body.events;
  assert.deepEqual(bodies.map(({ event }) => event), history);
  assert.deepEqual(all.map(({ headers }) => headers["webhook-id"]), history.map(({ id }: { id: string }) => id));

  const [claim, ...more] = received.filter(({ path }) => path === "/claims");
  assertSigned(claim!, claims.body.secret);
  assert.equal(JSON.parse(claim!.body).event.type, "payment.claimed");
  assert.deepEqual(more, []);

  // A receiver has its delivery before the gateway has stored the attempt.
  const attempts = async () => (await api.get(`/v1/webhooks/${created.body.id}/deliveries`)).body.deliveries;
  await until(async () => (await attempts()).length === 9);
  const deliveries = await attempts();
  assert.ok(
    deliveries.every((one: { outcome: string; statusCode: number; responseBody: string | null }) =>
      one.outcome === "delivered" && one.statusCode === 200 && one.responseBody === null
    ),
  );
  assert.deepEqual((await api.get("/v1/status")).body.deliveries, NOTHING_OWED);
  assert.equal(sandbox.log(), "", "the log has no warning");
});

/** The verifiers that a receiver may use. Each throws for an invalid delivery. */
const VERIFIERS: Record<string, (secret: string, received: Received) => unknown> = {
  standardwebhooks: (secret, { headers, body }) =>
    new StandardWebhook(secret).verify(body, headers as Record<string, string>),
  svix: (secret, { headers, body }) => new SvixWebhook(secret).verify(body, headers as Record<string, string>),
  async "this program's own"(secret, { headers, body }) {
    // Both kinds of signature, and x-service-signature alone.
    for (const given of [headers, { "x-service-signature": String(headers["x-service-signature"]) }]) {
      const verified = await verifyWebhook({ body, headers: given, secret });
      if (!verified.ok) throw new Error(verified.message);
    }
  },
};

async function assertVerified(received: Received, secrets: string[], wrongSecret: string): Promise<void> {
  for (const [name, verify] of Object.entries(VERIFIERS)) {
    for (const secret of secrets) await verify(secret, received);
    const forged = { ...received, body: received.body.replace(/"amount":"\d+"|"createdAt":"2/, "$&0") };
    assert.notEqual(forged.body, received.body);
    await assert.rejects(async () => await verify(secrets[0]!, forged), name);
    await assert.rejects(async () => await verify(wrongSecret, received), name);
  }
}

test("ready-made verifiers accept deliveries and test calls, with both secrets during a rotation", async () => {
  const { info: { gateway, apiKey, accounts: { owner, agent }, asset } } = sandbox;
  const api = createClient(gateway, apiKey);
  const wanted = { url: `${receiver.url}/hook`, types: ["escrow.funded"] };
  const { body: { id, secret } } = await api.post("/v1/webhooks", wanted);
  const { body: { secret: anotherSecret } } = await api.post("/v1/webhooks", { url: `${receiver.url}/other` });
  const deviceHash = "ab".repeat(32);
  const fund = async () => {
    const funded = await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "12" });
    assert.equal(funded.status, 200, JSON.stringify(funded.body));
  };
  const hooks = () => receiver.received.filter(({ path }) => path === "/hook");
  await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  await fund();
  while (hooks().length < 1) await receiver.until(receiver.received.length + 1);
  const first = hooks().at(-1)!;
  assert.match(String(first.headers["webhook-signature"]), /^v1,\S+$/);
  await assertVerified(first, [secret], anotherSecret);

  const rotated = await api.post(`/v1/webhooks/${id}/secret`, {});
  assert.notEqual(rotated.body.secret, secret);
  await fund();
  while (hooks().length < 2) await receiver.until(receiver.received.length + 1);
  const second = hooks().at(-1)!;
  assert.match(String(second.headers["webhook-signature"]), /^v1,\S+ v1,\S+$/);
  assert.match(String(second.headers["x-service-signature"]), /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
  await assertVerified(second, [rotated.body.secret, secret], anotherSecret);

  const tested = await api.post(`/v1/webhooks/${id}/test`, {});
  assert.equal(tested.body.attempt.statusCode, 200);
  await assertVerified(hooks().at(-1)!, [rotated.body.secret, secret], anotherSecret);
});
