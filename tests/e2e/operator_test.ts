// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createClient } from "./client.ts";
import { tellSettling } from "./drain_story.ts";
import { HERE, runGateway, type SandboxProcess, startSandbox } from "./sandbox_process.ts";

let folder: string;
let sandbox: SandboxProcess;
const start = () => startSandbox(undefined, ["--state", join(folder, "state")]);
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-operator-"));
  sandbox = await start();
});
after(async () => {
  await sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

const statusOf = async (key: string) => (await createClient(sandbox.info.gateway, key).get("/v1/network")).status;

test("a key made beside a running gateway works at once, and stops working within a second of being disabled", async () => {
  const { store } = sandbox.info;
  const made = await runGateway(
    ["keygen", "--name", "beside", "--scopes", "read", "--store", store, "--json"],
    {},
    HERE,
  );
  assert.equal(made.code, 0, made.stderr);
  const { key, id } = JSON.parse(made.stdout);
  assert.equal(await statusOf(key), 200);
  const disabled = await runGateway(["keys", "disable", id, "--store", store], {}, HERE);
  assert.equal(disabled.code, 0, disabled.stderr);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(await statusOf(key), 401);
  const shown = await runGateway(["keys", "show", id, "--store", store, "--json"], {}, HERE);
  assert.equal(JSON.parse(shown.stdout).disabled, true);
  assert.ok(!shown.stdout.includes(key));
});

test("a second gateway on the same store is refused, and so is a store of another network", async () => {
  const { store, contracts } = sandbox.info;
  const second = await runGateway(
    ["serve", "--store", store, "--port", "0", "--network-passphrase", sandbox.info.networkPassphrase],
    {},
    HERE,
  );
  assert.equal(second.code, 1);
  assert.match(second.stderr, /serv/);
  assert.ok(contracts);

  const own = `${store.startsWith("sqlite") ? "sqlite" : "deno-kv"}:${join(folder, "own.store")}`;
  const rpc = ["--rpc-url", sandbox.info.rpc, "--port", "0"];
  const wrong = await runGateway(["serve", "--store", own, ...rpc], {}, HERE);
  assert.equal(wrong.code, 2, "the node speaks for another network than the settings");
  assert.match(wrong.stderr, /Test SDF Network/);
  const untouched = await openStore(own);
  assert.equal(await untouched.network.bound(), undefined, "a forgotten passphrase does not spoil a new store");
  await untouched.network.bind("another network");
  await untouched.close();
  const bound = await runGateway(
    ["serve", "--store", own, ...rpc, "--network-passphrase", sandbox.info.networkPassphrase],
    {},
    HERE,
  );
  assert.equal(bound.code, 2, "the store belongs to another network");
  assert.match(bound.stderr, /another network/);
});

test("with --state a restart goes on where it was, and what is being posted is posted to its end, and once", async () => {
  const { info } = sandbox;
  const deviceHash = "5a".repeat(32);
  const api = createClient(info.gateway, info.apiKey);
  const { owner, agent } = info.accounts;
  const registered = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  assert.equal(registered.status, 200, JSON.stringify(registered.body));

  sandbox = await tellSettling(sandbox, start);
  assert.deepEqual(
    [sandbox.info.accounts, sandbox.info.contracts, sandbox.info.apiKey],
    [info.accounts, info.contracts, info.apiKey],
  );
  const again = createClient(sandbox.info.gateway, info.apiKey);
  assert.equal((await again.get(`/v1/devices/${deviceHash}`)).body.owner, owner.address);
  assert.deepEqual(
    (await again.get(`/v1/transactions/${registered.body.hash}`)).body,
    { ...registered.body, status: "success" },
  );
  const funded = await again.write(owner, { kind: "fundEscrow", deviceHash, asset: info.asset, amount: "5" });
  assert.equal(funded.status, 200, JSON.stringify(funded.body));
  assert.ok(funded.body.ledger > registered.body.ledger);
});
