// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOfFile, startGateway } from "../http/test_gateway.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const on = networkOfFile();

test("the retention job deletes an old submission although more unknown outcomes are left than it has time to look up", async () => {
  const api = await startGateway(on, {
    started: false,
    async fetch(url, init) {
      const { method } = JSON.parse(String(init.body));
      if (method === "getTransaction") await new Promise((resolve) => setTimeout(resolve, 300));
      return await on.fetch(url, init);
    },
  });
  await api.gateway.turn(20_000);
  const hashOf = (n: number) => String(n).padStart(64, "0");
  const record = (n: number, agoMs: number) =>
    api.store.submissions.record({
      hash: hashOf(n),
      validUntil: Math.floor((Date.now() - HOUR_MS) / 1_000),
      submittedAtMs: Date.now() - agoMs,
      source: on.sandbox.accounts.owner.address,
      operation: "ab".repeat(32),
    });
  for (let n = 0; n < 20; n++) await record(n, HOUR_MS);
  await record(99, 31 * DAY_MS);
  await api.gateway.tidy(1_000);
  assert.equal(await api.store.submissions.get(hashOf(99)), undefined);
  await api.stop();
});
