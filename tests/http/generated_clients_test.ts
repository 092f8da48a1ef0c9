// needs: long, once
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createClient, signed } from "../e2e/client.ts";
import { type SandboxProcess, startSandbox } from "../e2e/sandbox_process.ts";
import { CLIENTS, MAKE_MS, NotAtHand, type Steps } from "./generated_clients.ts";

/*
 * Clients generated from a gateway's /openapi.json: each compiles and pays. The generators and packages come from PyPI and Go's
 * proxy; without them a test is skipped. openapi_generators_test.ts looks for what generators cannot read.
 */
const skip = "bun" in process.versions ? false : "runs under Bun only: the clients run on neither runtime";
const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const AMOUNT = "2500000";
const HOOK = "http://127.0.0.1:9/hook";

let sandbox: SandboxProcess;
before(async () => {
  if (skip !== false) return;
  sandbox = await startSandbox();
  const { gateway, apiKey } = sandbox.info;
  assert.equal((await createClient(gateway, apiKey).post("/v1/webhooks", { url: HOOK })).status, 201);
});
after(() => sandbox?.stop());

/** A card with an agent and with money. */
async function cardWithMoney(deviceHash: string): Promise<void> {
  const { gateway, apiKey, asset, accounts: { owner, agent }, networkPassphrase } = sandbox.info;
  const api = createClient(gateway, apiKey);
  for (
    const operation of [
      { kind: "registerDevice", deviceHash, agent: agent.address },
      { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: AMOUNT },
      { kind: "fundEscrow", deviceHash, asset, amount: AMOUNT },
    ]
  ) {
    const prepared = await api.post("/v1/transactions/prepare", { source: owner.address, operation });
    const xdr = signed(prepared.body.xdr, networkPassphrase, owner.secret);
    const submitted = await api.post("/v1/transactions/submit", { xdr });
    assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
  }
}

/** Prepares, signs and submits a payment, and lists the webhooks. */
async function pays(step: Steps, deviceHash: string): Promise<void> {
  const { gateway, apiKey, asset, accounts: { agent, merchant }, networkPassphrase } = sandbox.info;
  const api = createClient(gateway, apiKey);
  const env = {
    ...{ GATEWAY: gateway, KEY: apiKey, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
    ...{ SOURCE: agent.address, DEVICE: deviceHash, MERCHANT: merchant.address, ASSET: asset, AMOUNT },
  };
  const prepared = JSON.parse(await step({ ...env, STEP: "prepare" }));
  const xdr = signed(prepared, networkPassphrase, agent.secret);
  const hash = JSON.parse(await step({ ...env, STEP: "submit", XDR: xdr }));
  assert.equal((await api.get(`/v1/transactions/${hash}`)).body.status, "success");
  const { body: { payments } } = await api.get(`/v1/merchants/${merchant.address}/pending`);
  assert.ok(payments.some((one: { deviceHash: string }) => one.deviceHash === deviceHash));
  assert.deepEqual(JSON.parse(await step({ ...env, STEP: "webhooks" })), [HOOK]);
}

for (const [index, [name, makeClient]] of Object.entries(CLIENTS).entries()) {
  test(`a client of ${name} compiles, pays and lists webhooks`, { skip, timeout: MAKE_MS }, async (t) => {
    // Inside the project, so that the TypeScript finds its packages.
    const folder = await mkdtemp(join(ROOT, ".generated-"));
    try {
      await writeFile(join(folder, "openapi.json"), await (await fetch(`${sandbox.info.gateway}/openapi.json`)).text());
      const step = await makeClient(folder);
      const deviceHash = `${index}f`.repeat(32);
      await cardWithMoney(deviceHash);
      await pays(step, deviceHash);
    } catch (error) {
      if (!(error instanceof NotAtHand)) throw error;
      t.skip(error.message);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}
