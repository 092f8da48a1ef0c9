// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folderForTests } from "../folder.ts";
import { openStore } from "../../lib/store/open.ts";
import { createClient } from "./client.ts";
import { tellSettling } from "./drain_story.ts";
import { HERE, runGateway, type SandboxInfo, type SandboxProcess, startSandbox } from "./sandbox_process.ts";

let sandbox: SandboxProcess;
const start = () => startSandbox(undefined, ["--state", join(folder, "state")]);
before(async () => {
  sandbox = await start();
});
after(() => sandbox.stop());
const folder = folderForTests();

const statusOf = async (key: string) => (await createClient(sandbox.info.gateway, key).get("/v1/network")).status;

test("a key created beside a running gateway works at once, and is refused one second after it is disabled", async () => {
  const { store } = sandbox.info;
  const run = (...args: string[]) => runGateway([...args, "--store", store], {}, HERE);
  const made = await run("keygen", "--name", "beside", "--scopes", "read", "--json");
  assert.equal(made.code, 0, made.stderr);
  const { key, id } = JSON.parse(made.stdout);
  assert.equal(await statusOf(key), 200);
  const disabled = await run("keys", "disable", id);
  assert.equal(disabled.code, 0, disabled.stderr);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(await statusOf(key), 401);
  const shown = await run("keys", "show", id, "--json");
  assert.equal(JSON.parse(shown.stdout).disabled, true);
  assert.ok(!shown.stdout.includes(key));
});

test("the gateway refuses to start on a store in use, with a node of another network, or with a store of another network", async () => {
  const { store, contracts } = sandbox.info;
  const serve = (of: string, ...more: string[]) =>
    runGateway(["serve", "--store", of, "--port", "0", ...more], {}, HERE);
  const passphrase = ["--network-passphrase", sandbox.info.networkPassphrase];
  const second = await serve(store, ...passphrase);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /serv/);
  assert.ok(contracts);

  const own = `${store.startsWith("sqlite") ? "sqlite" : "deno-kv"}:${join(folder, "own.store")}`;
  const rpc = ["--rpc-url", sandbox.info.rpc];
  const wrong = await serve(own, ...rpc);
  assert.equal(wrong.code, 2, "the node speaks for another network than the settings");
  assert.match(wrong.stderr, /Test SDF Network/);
  const untouched = await openStore(own);
  assert.equal(await untouched.network.bound(), undefined, "a forgotten passphrase does not spoil a new store");
  await untouched.network.bind("another network");
  await untouched.close();
  const bound = await serve(own, ...rpc, ...passphrase);
  assert.equal(bound.code, 2, "the store belongs to another network");
  assert.match(bound.stderr, /another network/);
});

test("a sandbox with --state continues after a restart, and completes a webhook post during the stop without repeating it", async () => {
  const { info } = sandbox;
  const deviceHash = "5a".repeat(32);
  const api = createClient(info.gateway, info.apiKey);
  const { owner, agent } = info.accounts;
  const registered = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  assert.equal(registered.status, 200, JSON.stringify(registered.body));

  sandbox = await tellSettling(sandbox, start);
  const lasting = ({ accounts, contracts, apiKey }: SandboxInfo) => ({ accounts, contracts, apiKey });
  assert.deepEqual(lasting(sandbox.info), lasting(info));
  const again = createClient(sandbox.info.gateway, info.apiKey);
  assert.equal((await again.get(`/v1/devices/${deviceHash}`)).body.owner, owner.address);
  const found = await again.get(`/v1/transactions/${registered.body.hash}`);
  assert.deepEqual(found.body, { ...registered.body, status: "success" });
  const funded = await again.write(owner, { kind: "fundEscrow", deviceHash, asset: info.asset, amount: "5" });
  assert.equal(funded.status, 200, JSON.stringify(funded.body));
  assert.ok(funded.body.ledger > registered.body.ledger);
});
