// needs: neutral
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { StrKey } from "@stellar/stellar-sdk";
import { openStore } from "../../lib/store/open.ts";
import { until } from "../until.ts";
import { METRICS_TOKEN, startGateway, startTestNetwork } from "./test_gateway.ts";

test("the metrics gateway_troubles and gateway_contract_problems count a lost store file and a missing contract", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troubles-"));
  const path = join(folder, "gateway.db");
  const on = await startTestNetwork();
  const store = await openStore(`sqlite:${path}`);
  const paymentEscrow = StrKey.encodeContract(new Uint8Array(32).fill(7));
  const api = await startGateway(on, { store: () => store, settings: { metricsToken: METRICS_TOKEN, paymentEscrow } });
  async function figures(): Promise<unknown> {
    const families = await api.scrape();
    return ["gateway_troubles", "gateway_contract_problems"].map((name) => families.get(name)?.samples[0]?.value);
  }
  const status = async () => (await api.request("GET", "/v1/status")).body;
  try {
    await until(async () => (await status()).contracts.some(({ problem }: { problem: unknown }) => problem !== null));
    assert.deepEqual(await figures(), [0, 1]);
    renameSync(path, `${path}.away`);
    await until(async () => (await status()).troubles.length === 1);
    assert.deepEqual(await figures(), [1, 1]);
  } finally {
    await api.stop();
    await store.close();
    await on.network.stop();
    rmSync(folder, { recursive: true });
  }
});
