import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createClient } from "../../e2e/client.ts";
import { runGateway, startSandbox } from "../../e2e/sandbox_process.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
after(() => rmSync(folder, { recursive: true }));

test("gateway sandbox --asset USDC issues it, and a card lives its life in it", { timeout: 120_000 }, async () => {
  const state = join(folder, "state");
  const sandbox = await startSandbox(undefined, ["--asset", "USDC", "--state", state]);
  const { asset, gateway, apiKey, rpc } = sandbox.info;
  const native = await startSandbox();
  assert.notEqual(asset, native.info.asset);
  await native.stop();
  const { code, stderr } = await runGateway(["trigger", "--sandbox", rpc]);
  assert.equal(code, 0, stderr);
  const api = createClient(gateway, apiKey);
  const { symbol, name, decimals } = (await api.get(`/v1/assets/${asset}`)).body;
  assert.deepEqual([symbol, name.split(":")[0], decimals], ["USDC", "USDC", 7]);
  const { events } = (await api.get("/v1/events?types=payment.claimed")).body;
  assert.equal(events.length, 1);
  assert.deepEqual([await sandbox.stop(), sandbox.log()], [0, ""]);

  const again = ["sandbox", "--state", state, "--port", "0", "--rpc-port", "0"];
  const other = await runGateway([...again, "--asset", "EURC"]);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /--asset EURC is for a new ledger; the contracts in \S+ deal in USDC: leave the flag out/);
});
