// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { bentStore } from "../store/bent_store.ts";
import { workerStage } from "./delivery/worker_stage.ts";
import { append, eventAt, START_MS, subscriptionOf } from "./parts.ts";

test("a replay whose end is learnt while something else is written down ends, too", async () => {
  const made = await workerStage(() => "delivered", {
    // A database that is some milliseconds away.
    store: (store) =>
      bentStore(store, {
        events: {
          async read(query) {
            await made.clock.wait(40);
            return await store.events.read(query);
          },
        },
        deliveries: {
          async settle(step) {
            await made.clock.wait(80);
            await store.deliveries.settle(step);
          },
        },
      }),
  });
  made.worker.start();
  await made.owe(5, "wh_0");
  await made.pass(3_000);
  // Made while the watcher was behind: what lies before its start is waited for.
  await made.store.subscriptions.insert(subscriptionOf("wh_1", { startHeight: 107 }), 100);
  await made.worker.changed("wh_1");
  const { subscription } = (await made.store.deliveries.reader("wh_1"))!;
  const plan = await planReplay(made.store, subscription, { fromLedger: 101 });
  assert.equal(plan.endSequence, null);
  await beginReplay(made.store, "wh_1", plan, { id: "rp_1", nowMs: START_MS });
  await made.worker.changed("wh_1");
  await made.pass(5_400);
  // Nothing in ledger 106, the replay's last; 107 is the first that it hears by itself.
  await append(made.store, [eventAt(107)], 107, START_MS + 10_000);
  made.worker.wake();
  await made.pass(60_000, 20);
  assert.equal(made.postedTo("wh_1").length, 6);
  assert.equal((await made.store.deliveries.reader("wh_1"))!.replay, null, "the replay has ended");
  await made.worker.stop({ drainMs: 0 });
});
