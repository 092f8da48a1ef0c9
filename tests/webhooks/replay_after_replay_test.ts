// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { workerStage } from "./delivery/worker_stage.ts";
import { START_MS } from "./parts.ts";

test("a replay that is begun as soon as the one before it has ended is sent, too", async () => {
  let ended: (() => Promise<void>) | undefined;
  const made = await workerStage(() => "delivered", {
    store: (store): Store => ({
      ...store,
      deliveries: {
        ...store.deliveries,
        async settle(step) {
          await store.deliveries.settle(step);
          if (!step.settlements.some(({ replay }) => replay?.done)) return;
          const begin = ended;
          ended = undefined;
          await begin?.();
        },
      },
    }),
  });
  made.worker.start();
  await made.owe(5, "wh_1");
  await made.pass(500);
  const { subscription } = (await made.store.deliveries.reader("wh_1"))!;
  async function replay(id: string): Promise<void> {
    const plan = await planReplay(made.store, subscription, { fromLedger: 101 });
    await beginReplay(made.store, "wh_1", plan, { id, nowMs: START_MS });
    await made.worker.changed("wh_1");
  }
  // Who waits until the first one has ended begins the second; the log grows meanwhile.
  ended = async () => {
    await replay("rp_2");
    await made.owe(1);
    // The commit stands; its answer is on its way.
    await made.clock.wait(10);
  };
  await replay("rp_1");
  await made.pass(60_000, 50);
  const sent = (id: string) => made.script.posted.filter(({ replayId }) => replayId === id).length;
  assert.deepEqual([sent("rp_1"), sent("rp_2")], [5, 5]);
  assert.equal((await made.store.deliveries.reader("wh_1"))!.replay, null);
  await made.worker.stop({ drainMs: 0 });
});
