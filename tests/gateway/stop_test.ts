// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { sleep } from "../../lib/clock.ts";
import { networkOfFile, startGateway } from "../http/test_gateway.ts";
import { until } from "../until.ts";

const on = networkOfFile();

test("a stopping gateway does not wait for a hanging key source, and logs which step did not stop", async () => {
  let hangs = false;
  const api = await startGateway(on, {
    keys: (store) => {
      const source = keySourceFromStore(store);
      return { ...source, version: () => hangs ? new Promise<number>(() => {}) : source.version() };
    },
    // The time limit of the keys ends at once. All other waits take their real time.
    wait: (ms, signal) => ms === 3_000 ? Promise.resolve() : sleep(ms, signal),
  });
  hangs = true;
  assert.equal(await api.gateway.stop(), false);
  assert.match(api.log(), /uses of keys did not stop within 3000 ms/);
  await api.store.close();
});

test("a stopping gateway aborts the outcome lookup at a node that does not answer, and stops cleanly", async () => {
  let asked = 0;
  const api = await startGateway(on, {
    started: false,
    async fetch(url, init) {
      if (JSON.parse(String(init.body)).method !== "getTransaction") return await on.fetch(url, init);
      asked += 1;
      return await new Promise((_, reject) =>
        init.signal!.addEventListener("abort", () => reject(init.signal!.reason))
      );
    },
  });
  await api.gateway.turn(20_000);
  await api.store.submissions.record({
    hash: "ab".repeat(32),
    validUntil: Math.floor(Date.now() / 1_000) - 3_600,
    submittedAtMs: Date.now() - 3_600_000,
    source: on.sandbox.accounts.owner.address,
    operation: "cd".repeat(32),
  });
  api.gateway.start();
  await until(() => asked > 0);
  assert.equal(await api.gateway.stop(), true, api.log());
  await api.store.close();
});

test("a draining gateway answers every request with Connection: close, and its health check with 503", async () => {
  const api = await startGateway(on, { started: false });
  const connection = async (path: string) => {
    const { status, headers } = await api.request("GET", path);
    return [status, headers.get("connection")];
  };
  assert.deepEqual(await connection("/v1/health"), [200, null]);
  assert.deepEqual(await connection("/v1/network"), [200, null]);
  api.gateway.drain();
  assert.deepEqual(await connection("/v1/network"), [200, "close"]);
  assert.deepEqual(await connection("/v1/nowhere"), [404, "close"]);
  assert.deepEqual(await connection("/openapi.json"), [200, "close"]);
  assert.deepEqual(await connection("/v1/health"), [503, "close"]);
  const { body } = await api.request("GET", "/v1/health");
  assert.equal(body.error.code, "unavailable");
  await api.stop();
  assert.deepEqual(await connection("/v1/network"), [503, "close"]);
});
