import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "./client.ts";
import { startServe } from "../faults/serve_process.ts";
import { asArguments, flagsFor, runGateway, type SandboxInfo } from "./sandbox_process.ts";

/**
 * On a running sandbox gateway the operator backs up the store while clients register cards. A second
 * gateway starts on the copy and knows key, events and cursor. The doctor finds no problem with either gateway.
 */
export async function tellBackup(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const api = createClient(info.gateway, info.apiKey);
  const { owner, agent } = info.accounts;
  const deviceHash = (n: number) => n.toString(16).padStart(64, "0");
  const register = (n: number) =>
    api.write(owner, { kind: "registerDevice", deviceHash: deviceHash(n), agent: agent.address });
  assert.equal((await register(0)).status, 200);

  let isBusy = true;
  const load = (async () => {
    for (let n = 1; isBusy; n++) assert.equal((await register(n)).status, 200);
  })();
  const scheme = info.store.slice(0, info.store.indexOf(":"));
  const path = join(folder, "copy.store");
  const backedUp = await runGateway(["backup", path, "--store", info.store, "--json"], {}, command);
  isBusy = false;
  await load;
  assert.equal(backedUp.code, 0, backedUp.stderr);
  assert.equal(JSON.parse(backedUp.stdout).file, path);

  const flags = flagsFor(info, { store: `${scheme}:${path}` });
  const examined = await runGateway(["doctor", ...asArguments(flags)], {}, command);
  assert.equal(examined.code, 0, examined.stdout + examined.stderr);
  assert.match(examined.stdout, /^ok {4}history +read up to ledger \d+/m);

  const restored = await startServe(flags, { command });
  try {
    const copy = createClient(restored.url, info.apiKey);
    const all = (await api.get("/v1/events?limit=1000")).body.events;
    // The gateway reads events since the copy from the network again; no event is stored twice.
    const deadline = Date.now() + 20_000;
    let events = [];
    while (events.length < all.length && Date.now() < deadline) {
      events = (await copy.get("/v1/events?limit=1000")).body.events;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.deepEqual(events, all);
    assert.equal((await copy.get(`/v1/devices/${deviceHash(0)}`)).body.owner, owner.address);
  } finally {
    restored.signal("SIGTERM");
    assert.equal(await restored.ended, 0);
  }
}
