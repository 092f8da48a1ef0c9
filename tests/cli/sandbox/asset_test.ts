// needs: once
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Asset } from "@stellar/stellar-sdk";
import { createClient } from "../../e2e/client.ts";
import { runHere } from "../../e2e/here.ts";
import { failingSandboxHere, startSandboxHere } from "./sandbox_here.ts";
import { folderForTests } from "../../folder.ts";

const folder = folderForTests();

test(
  "gateway sandbox --asset USDC issues the asset, and a card lives its life with it",
  { timeout: 120_000 },
  async () => {
    const state = join(folder, "state");
    const sandbox = await startSandboxHere(["--asset", "USDC", "--state", state]);
    const { asset, gateway, apiKey, rpc, networkPassphrase } = sandbox.info;
    assert.notEqual(asset, Asset.native().contractId(networkPassphrase));
    const { code, stderr } = await runHere(["trigger", "--sandbox", rpc], {});
    assert.equal(code, 0, stderr);
    const api = createClient(gateway, apiKey);
    const { symbol, name, decimals } = (await api.get(`/v1/assets/${asset}`)).body;
    assert.deepEqual([symbol, name.split(":")[0], decimals], ["USDC", "USDC", 7]);
    const { events } = (await api.get("/v1/events?types=payment.claimed")).body;
    assert.equal(events.length, 1);
    assert.deepEqual([await sandbox.stop(), sandbox.log()], [0, ""]);

    const other = await failingSandboxHere(["--state", state, "--asset", "EURC"]);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /--asset must be USDC for the ledger in \S+; got EURC. Leave the flag out/);
  },
);
