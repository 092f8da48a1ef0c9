// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { bending, eventAt, idsFrom } from "../parts.ts";
import { failsOnce, workerStage } from "./worker_stage.ts";

test("the worker continues to post an ordered backlog during a commit", async () => {
  await using made = await workerStage(() => "delivered", {
    starts: false,
    ordered: true,
    store: bending("deliveries", "settle", async (settle, step) => {
      await made.clock.wait(1_000);
      await settle(step);
    }),
  });
  await made.owe(400, "wh_1");
  made.worker.start();
  await made.pass(900);
  assert.ok(made.postedTo("wh_1").length > 300, String(made.postedTo("wh_1").length));
  await made.pass(10_000, 50);
  const posted = made.idsTo("wh_1");
  assert.deepEqual(posted, idsFrom(101, 400));
});

for (const failing of [101 + 46, 101 + 63, 101 + 64]) {
  test(`an ordered backlog waits at ledger ${failing}, whose post fails during a read of the store`, async () => {
    await using made = await workerStage(failsOnce(eventAt(failing).id), {
      starts: false,
      ordered: true,
      store: bending("deliveries", "next", async (next, ...query) => {
        const found = await next(...query);
        await made.clock.wait(60);
        return found;
      }),
    });
    await made.owe(150, "wh_1");
    made.worker.start();
    await made.pass(20_000, 20);
    const posted = made.idsTo("wh_1");
    const all = idsFrom(101, 150);
    const at = failing - 101;
    assert.deepEqual(posted, [...all.slice(0, at + 1), ...all.slice(at)]);
  });
}
