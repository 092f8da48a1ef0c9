// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { bentStore } from "../../store/bent_store.ts";
import { eventAt } from "../parts.ts";
import { failsOnce, workerStage } from "./worker_stage.ts";

test("an ordered backlog goes on during a commit", async () => {
  const made = await workerStage(() => "delivered", {
    ordered: true,
    store: (store) =>
      bentStore(store, {
        deliveries: {
          async settle(step) {
            await made.clock.wait(1_000);
            await store.deliveries.settle(step);
          },
        },
      }),
  });
  await made.owe(400, "wh_1");
  made.worker.start();
  await made.pass(900);
  assert.ok(made.postedTo("wh_1").length > 300, String(made.postedTo("wh_1").length));
  await made.pass(10_000, 50);
  const posted = made.postedTo("wh_1").map(({ eventId }) => eventId);
  assert.deepEqual(posted, Array.from({ length: 400 }, (_, n) => eventAt(101 + n).id));
  await made.worker.stop({ drainMs: 0 });
});

for (const failing of [101 + 46, 101 + 63, 101 + 64]) {
  test(`an ordered backlog waits at ledger ${failing}, which fails during a read of the store`, async () => {
    const made = await workerStage(failsOnce(eventAt(failing).id), {
      ordered: true,
      store: (store) =>
        bentStore(store, {
          deliveries: {
            async next(...query) {
              const found = await store.deliveries.next(...query);
              await made.clock.wait(60);
              return found;
            },
          },
        }),
    });
    await made.owe(150, "wh_1");
    made.worker.start();
    await made.pass(20_000, 20);
    const posted = made.postedTo("wh_1").map(({ eventId }) => eventId);
    const all = Array.from({ length: 150 }, (_, n) => eventAt(101 + n).id);
    const at = failing - 101;
    assert.deepEqual(posted, [...all.slice(0, at + 1), ...all.slice(at)]);
    await made.worker.stop({ drainMs: 0 });
  });
}
