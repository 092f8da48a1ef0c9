// needs: runtime
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { createClient } from "./client.ts";
import { NOTHING_OWED } from "./watch_story.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { type SandboxProcess, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";

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

test("a receiver hears the whole life of a card once, signed, in the ledger's order", async () => {
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

  const { body: { deliveries } } = await api.get(`/v1/webhooks/${created.body.id}/deliveries`);
  assert.equal(deliveries.length, 9);
  assert.ok(
    deliveries.every((one: { outcome: string; statusCode: number; responseBody: string | null }) =>
      one.outcome === "delivered" && one.statusCode === 200 && one.responseBody === null
    ),
  );
  assert.deepEqual((await api.get("/v1/status")).body.deliveries, NOTHING_OWED);
  assert.equal(sandbox.log(), "", "nothing was worth a warning");
});
