// needs: once
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { verifyWebhook } from "../../lib/client/verify_webhook.ts";
import { createClient } from "./client.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { type SandboxProcess, startSandbox } from "./sandbox_process.ts";

let sandbox: SandboxProcess;
let receiver: Receiver;
before(async () => {
  [sandbox, receiver] = await Promise.all([startSandbox(), startReceiver()]);
});
after(async () => {
  await sandbox.stop();
  await receiver.stop();
});

/** The verifiers that a receiver may use; each throws when it does not believe a delivery. */
const VERIFIERS: Record<string, (secret: string, received: Received) => unknown> = {
  standardwebhooks: (secret, { headers, body }) =>
    new StandardWebhook(secret).verify(body, headers as Record<string, string>),
  svix: (secret, { headers, body }) => new SvixWebhook(secret).verify(body, headers as Record<string, string>),
  async "this program's own"(secret, { headers, body }) {
    // Both kinds of signature, and the one alone.
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

test("ready-made verifiers take what is sent, with both secrets during a rotation", async () => {
  const { info: { gateway, apiKey, accounts: { owner, agent }, asset } } = sandbox;
  const api = createClient(gateway, apiKey);
  const { body: { id, secret } } = await api.post("/v1/webhooks", {
    url: `${receiver.url}/hook`,
    types: ["escrow.funded"],
  });
  const { body: { secret: anotherSecret } } = await api.post("/v1/webhooks", { url: `${receiver.url}/other` });
  const deviceHash = "ab".repeat(32);
  const fund = async () => {
    const funded = await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "12" });
    assert.equal(funded.status, 200, JSON.stringify(funded.body));
  };
  const hooks = () => receiver.received.filter(({ path }) => path === "/hook");
  await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  await fund();
  await receiver.until(3);
  const first = hooks().at(-1)!;
  assert.match(String(first.headers["webhook-signature"]), /^v1,\S+$/);
  await assertVerified(first, [secret], anotherSecret);

  const rotated = await api.post(`/v1/webhooks/${id}/secret`, {});
  assert.notEqual(rotated.body.secret, secret);
  await fund();
  await receiver.until(5);
  const second = hooks().at(-1)!;
  assert.match(String(second.headers["webhook-signature"]), /^v1,\S+ v1,\S+$/);
  assert.match(String(second.headers["x-service-signature"]), /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
  await assertVerified(second, [rotated.body.secret, secret], anotherSecret);

  const tested = await api.post(`/v1/webhooks/${id}/test`, {});
  assert.equal(tested.body.attempt.statusCode, 200);
  await assertVerified(hooks().at(-1)!, [rotated.body.secret, secret], anotherSecret);
});
