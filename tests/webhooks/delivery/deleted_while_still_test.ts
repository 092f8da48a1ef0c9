// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { bentStore } from "../../store/bent_store.ts";
import { workerStage } from "./worker_stage.ts";

/** What waits for it goes on once it is opened. */
function createGate() {
  let { promise, resolve } = Promise.withResolvers<void>();
  resolve();
  return {
    passed: () => promise,
    close() {
      ({ promise, resolve } = Promise.withResolvers<void>());
    },
    open: () => resolve(),
  };
}

test("a webhook that was deleted while the process stood still is posted to no more when that goes on", async () => {
  const [keys, versions] = [createGate(), createGate()];
  const made = await workerStage(() => "delivered", {
    async isKeyEnabled() {
      await keys.passed();
      return true;
    },
    store: (store) =>
      bentStore(store, {
        subscriptions: {
          async version() {
            await versions.passed();
            return await store.subscriptions.version();
          },
        },
      }),
  });
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(3_000);
  assert.equal(made.postedTo("wh_1").length, 1);
  // It is about to post the next event when it stands still; by another gateway the webhook is deleted meanwhile.
  keys.close();
  await made.owe(1);
  await made.pass(100);
  assert.ok(await made.store.subscriptions.delete("wh_1"));
  versions.close();
  made.clock.advance(80_000);
  keys.open();
  // It has its leases again, as nobody has taken them, before it hears who is there.
  await made.pass(3_000);
  versions.open();
  await made.pass(3_000);
  assert.equal(made.postedTo("wh_1").length, 1);
  await made.worker.stop({ drainMs: 0 });
});
