import assert from "node:assert/strict";
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { startServe } from "../faults/serve_process.ts";
import { createClient } from "./client.ts";
import { flagsFor, makeKey, type SandboxInfo } from "./sandbox_process.ts";

/**
 * The store's file and folder are moved away under a running gateway. The gateway reports it, accepts no work that it
 * could not store, still answers reads, and exits with a failure code.
 */
export async function tellLostStore(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const ownFolder = join(folder, "lost");
  mkdirSync(ownFolder);
  const store = `sqlite:${join(ownFolder, "lost.db")}`;
  const key = await makeKey(command, store, { scopes: "read,write,webhooks", rate: 6_000 });
  const gateway = await startServe(flagsFor(info, { store, "poll-ms": "100" }), { command });
  const api = createClient(gateway.url, key);
  const hook = { url: "https://9.9.9.9/hook" };
  const payment = { source: info.accounts.merchant.address, operation: { kind: "claim", asset: info.asset } };
  try {
    const made = await api.post("/v1/webhooks", hook);
    assert.equal(made.status, 201);
    renameSync(ownFolder, `${ownFolder}.away`);
    for (const deadline = Date.now() + 300_000; (await api.get("/v1/health")).status !== 503;) {
      assert.ok(Date.now() < deadline, gateway.log());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.match(gateway.log(), /lost\.db was removed: all further writes are lost at the end of this process/);
    const refused = [
      await api.post("/v1/webhooks", hook),
      await api.post("/v1/transactions/prepare", payment),
      await api.post("/v1/transactions/submit", { xdr: "AAAA" }),
      await api.request("DELETE", `/v1/webhooks/${made.body.id}`),
    ];
    for (const { status, body } of refused) {
      assert.deepEqual([status, body.error.code, body.error.retry], [503, "unavailable", "same"]);
      assert.match(body.error.message, /the gateway has lost its store/);
    }
    assert.equal((await api.get("/v1/events")).status, 200);
    assert.equal((await api.get("/v1/webhooks")).body.webhooks.length, 1);
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 1, gateway.log());
  } finally {
    gateway.kill();
  }
}
