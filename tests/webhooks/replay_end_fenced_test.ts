// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { bentStore } from "../store/bent_store.ts";
import { workerStage } from "./delivery/worker_stage.ts";
import { START_MS } from "./parts.ts";

test("a replay whose end was fenced off goes on when its lease has come back", async () => {
  const refused: unknown[] = [];
  const made = await workerStage(() => "delivered", {
    store: (store) =>
      bentStore(store, {
        deliveries: {
          async settle(step) {
            if (step.settlements.some(({ replay }) => replay?.done) && refused.length === 0) {
              // The process was held for longer than its lease, and another one had that for a moment.
              const name = partitionLease(partitionOf("wh_1"));
              const taken = await store.leases.acquire({ name, holder: "another", durationMs: 10_000 });
              assert.ok(taken);
              await store.leases.release([taken]);
            }
            await store.deliveries.settle(step).catch((cause) => {
              refused.push(cause.kind);
              throw cause;
            });
          },
        },
      }),
  });
  // Its holder takes every lease that it asks for, whoever has it.
  await made.store.holdForServing();
  made.worker.start();
  await made.owe(5, "wh_1");
  await made.pass(3_000);
  const { subscription } = (await made.store.deliveries.reader("wh_1"))!;
  const plan = await planReplay(made.store, subscription, { fromLedger: 101 });
  await beginReplay(made.store, "wh_1", plan, { id: "rp_1", nowMs: START_MS });
  await made.worker.changed("wh_1");
  await made.pass(60_000, 20);
  assert.deepEqual(refused, ["fenced"]);
  assert.equal((await made.store.deliveries.reader("wh_1"))!.replay, null, "the replay has ended");
  await made.worker.stop({ drainMs: 0 });
});
