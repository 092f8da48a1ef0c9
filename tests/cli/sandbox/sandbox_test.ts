// needs: once
import assert from "node:assert/strict";
import { mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "../../e2e/client.ts";
import { runHere } from "../../e2e/here.ts";
import { prepareStateFolder } from "../../sandbox/ready_folder.ts";
import { failingSandboxHere, startReadySandboxHere, startSandboxHere } from "./sandbox_here.ts";
import { folderForTests } from "../../folder.ts";

const folder = folderForTests();

const [secretsKey, anotherKey] = ["ab".repeat(32), "cd".repeat(32)];

test("a sandbox opens a store with encrypted secrets by the same key as serve", async () => {
  const state = join(folder, "sealed");
  const first = await startSandboxHere(["--state", state]);
  const { info } = first;
  const url = "http://127.0.0.1:9/hook";
  const { body: { id } } = await createClient(info.gateway, info.apiKey).post("/v1/webhooks", { url });
  await first.stop();
  const rekey = ["secrets", "rekey", "--store", info.store];
  assert.equal((await runHere(rekey, { SERVICE_API_NEW_SECRETS_KEY: secretsKey })).code, 0);

  const refusals: [Record<string, string>, string][] = [
    [{}, "is not set, but the webhook secrets in the store are sealed with a key; set it to that key"],
    [{ SERVICE_API_SECRETS_KEY: anotherKey }, "is not the key of the webhook secrets in the store; set it to that key"],
  ];
  for (const [env, why] of refusals) {
    const stderr = `gateway sandbox: SERVICE_API_SECRETS_KEY ${why}\nSee: gateway help sandbox\n`;
    assert.deepEqual(await failingSandboxHere(["--state", state], env), { code: 2, stdout: "", stderr });
  }
  const second = await startSandboxHere(["--state", state], { SERVICE_API_SECRETS_KEY: secretsKey });
  assert.deepEqual(second.info.accounts, info.accounts);
  const { status } = await createClient(second.info.gateway, info.apiKey).post(`/v1/webhooks/${id}/test`, undefined);
  assert.equal(status, 200, "its secret signs");
  assert.equal(await second.stop(), 0, second.log());
  assert.equal(statSync(join(state, "ledger.db")).mode & 0o777, 0o600, "it holds the accounts' secrets");
});

test("a restarted sandbox has a working key, even after the old one was disabled or deleted", async () => {
  const state = mkdtempSync(join(folder, "keys-"));
  await prepareStateFolder(state);
  const keys = new Set<string>();
  for (const flags of [["disable"], ["delete", "--yes"], undefined]) {
    const sandbox = await startSandboxHere(["--state", state]);
    const { gateway, apiKey, store } = sandbox.info;
    keys.add(apiKey);
    assert.equal((await createClient(gateway, apiKey).get("/v1/network")).status, 200);
    assert.equal(await sandbox.stop(), 0, sandbox.log());
    const id = apiKey.split("_")[2]!;
    if (flags) assert.equal((await runHere(["keys", ...flags, id, "--store", store], {})).code, 0);
  }
  assert.equal(keys.size, 3);
});

test("a sandbox ignores the variables of serve", async () => {
  const names = ["RPC_URL", "HOST", "STORE", "KEYS", "NETWORK_PASSPHRASE", "PAYMENT_ESCROW", "LOG"];
  const env = Object.fromEntries(names.map((name) => [`SERVICE_API_${name}`, "nonsense"]));
  const sandbox = await startReadySandboxHere([], env);
  const { body } = await createClient(sandbox.info.gateway, sandbox.info.apiKey).get("/v1/network");
  assert.equal(body.rpcUrl, sandbox.info.rpc);
  assert.deepEqual([await sandbox.stop(), sandbox.log()], [0, ""]);
});
