// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock, type Wait } from "../../lib/clock.ts";
import { inTime } from "../../lib/gateway/status.ts";
import { METRICS_TOKEN, networkOfFile, startGateway } from "../http/test_gateway.ts";
import { bentStore } from "../store/bent_store.ts";

const on = networkOfFile();

test(
  "the gateway answers a scrape without the store's metrics while the store does not answer",
  { timeout: 60_000 },
  async () => {
    let standstill = Promise.resolve();
    const over = Promise.withResolvers<void>();
    const api = await startGateway(on, {
      settings: { metricsToken: METRICS_TOKEN },
      started: false,
      store: (store) =>
        bentStore(store, {
          events: {
            watcherState: async () => (await standstill, await store.events.watcherState()),
            bounds: async () => (await standstill, await store.events.bounds()),
          },
        }),
    });
    const { scrape } = api;
    assert.ok((await scrape()).has("gateway_deliveries_pending"));
    standstill = over.promise;
    const found = await scrape();
    assert.ok(found.has("gateway_store_errors_total"));
    assert.ok(!found.has("gateway_deliveries_pending"));
    assert.equal(found.get("gateway_metrics_incomplete_total")!.samples[0]!.value, 1);
    over.resolve();
    assert.ok((await scrape()).has("gateway_deliveries_pending"));
    await api.stop();
  },
);

test("inTime returns the last value of a question that takes too long, and rejects when the question fails", async () => {
  const answers: PromiseWithResolvers<number>[] = [];
  const ask = () => (answers[answers.length] = Promise.withResolvers()).promise;
  const atOnce: Wait = (_ms, signal) => systemClock.wait(0, signal);
  const asked = inTime(atOnce, ask, { orLast: true });
  await assert.rejects(asked(), /did not answer/);
  answers[0]!.resolve(1);
  assert.equal(await asked(), 1);
  const soon = asked();
  answers[2]!.resolve(2);
  assert.equal(await soon, 2);
  const failing = asked();
  answers[3]!.reject(new Error("the store is gone"));
  await assert.rejects(failing, /is gone/);
  await assert.rejects(inTime(atOnce, ask)(), /did not answer/);
});
