// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { failingStore, memoryStore } from "../parts.ts";
import { courierStage } from "./courier_stage.ts";

test("a webhook that is deleted while it is taken in with retries is neither posted to nor asked for over and over", async () => {
  const on = await memoryStore();
  const before = await courierStage(() => "retry", { on, holder: "before" });
  before.courier.start();
  await before.owe(3, "wh_1");
  await before.pass(1_000);
  await before.courier.stop({ drainMs: 0 });

  let letGo = () => {};
  const held = new Promise<void>((resolve) => letGo = resolve);
  let looks = 0;
  const made = await courierStage(() => "delivered", {
    on,
    clock: before.clock,
    // What goes on for ever would let nothing else have its turn, this test included.
    store: (store) => failingStore(holding(store, held), "deliveries", "reader", () => ++looks > 1_000),
  });
  await made.pass(10_000);
  made.courier.start();
  await made.pass(100);
  await on.subscriptions.delete("wh_1");
  await made.courier.changed("wh_1");
  letGo();
  await made.pass(5_000);
  assert.deepEqual([made.script.posted, made.problems], [[], []]);
  await made.courier.stop({ drainMs: 0 });
});

/** A store that brings back what is due too late no sooner than it may. */
function holding(store: Store, held: Promise<void>): Store {
  const value: Store["deliveries"]["clampDue"] = async (...args) => {
    await held;
    return await store.deliveries.clampDue(...args);
  };
  return Object.create(store, { deliveries: { value: Object.create(store.deliveries, { clampDue: { value } }) } });
}
