// needs: once
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Networks, rpc, xdr } from "@stellar/stellar-sdk";
import { createClient } from "../../e2e/client.ts";
import { LIFETIMES_KEY } from "../../../lib/sandbox/ledger/genesis.ts";
import { failingSandboxHere, startSandboxHere } from "./sandbox_here.ts";
import { folderForTests } from "../../folder.ts";

const folder = folderForTests();

const PAGE = "https://app.example";

test("a sandbox takes the standard local passphrase, short lives and the origins of pages", async () => {
  const state = join(folder, "state");
  const own = ["--network-passphrase", Networks.STANDALONE, "--state", state];
  const sandbox = await startSandboxHere([...own, "--entry-ttl", "30", "--cors-origins", PAGE]);
  const { gateway, rpc: rpcUrl, apiKey, networkPassphrase, friendbot } = sandbox.info;
  assert.equal(networkPassphrase, "Standalone Network ; February 2017");
  const node = new rpc.Server(rpcUrl, { allowHttp: true });
  assert.equal((await node.getNetwork()).passphrase, networkPassphrase);
  assert.equal((await createClient(gateway, apiKey).get("/v1/network")).body.networkPassphrase, networkPassphrase);

  const { entries: [settings] } = await node.getLedgerEntries(xdr.LedgerKey.fromXdr(LIFETIMES_KEY));
  const { stateArchivalSettings: lives } = (settings!.val as never as {
    configSetting: { stateArchivalSettings: { minPersistentTtl: number; minTemporaryTtl: number } };
  }).configSetting;
  assert.deepEqual([lives.minPersistentTtl, lives.minTemporaryTtl], [30, 30]);

  for (const url of [`${gateway}/v1/health`, `${rpcUrl}/rpc`, friendbot]) {
    for (const [origin, allowed] of [[PAGE, PAGE], ["https://evil.example", null]] as const) {
      const response = await fetch(url, { headers: { Origin: origin } });
      await response.body?.cancel();
      assert.equal(response.headers.get("Access-Control-Allow-Origin"), allowed, url);
    }
  }
  assert.equal(await sandbox.stop(), 0, sandbox.log());

  const other = await failingSandboxHere([...own, "--entry-ttl", "40"]);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /^gateway sandbox: --entry-ttl must be 30 for the ledger in \S+; got 40/);
});

test("a wrong flag of the sandbox is named, with the allowed values", async () => {
  const wrong: [string[], RegExp][] = [
    [["--entry-ttl", "5"], /--entry-ttl must be an integer from 20 to 3110400; got "5"/],
    [["--asset", "US-DC"], /--asset must be 1 to 12 letters and digits such as USDC, or native; got "US-DC"/],
    [["--cors-origins", "app.example"], /--cors-origins must be origins such as https:\/\/app\.example\.com/],
    [["--protocol", "26"], /--protocol must be 27 or 28, whose Soroban hosts this version has; got "26"/],
    [["--state", "x", "--store", "sqlite:x"], /--state and --store exclude each other/],
  ];
  for (const [flags, message] of wrong) {
    const { code, stderr } = await failingSandboxHere(flags);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});
