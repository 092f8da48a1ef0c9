// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../../lib/store/store.ts";
import { bentStore } from "../../store/bent_store.ts";
import { workerStage } from "./worker_stage.ts";
import { bending } from "../parts.ts";

test("the store lists an attempt once, also when the answer to its commit is lost", async () => {
  let losses = 0;
  await using made = await workerStage(() => "delivered", {
    store: bending("deliveries", "settle", async (settle, step) => {
      await settle(step);
      if (step.settlements.some(({ attempts }) => attempts.length > 0) && losses++ === 0) {
        throw new StoreError("unavailable", "the connection was cut");
      }
    }),
  });
  await made.owe(3, "wh_1");
  await made.pass(3_000);
  const attempts = await made.store.deliveries.attempts("wh_1", { limit: 100 });
  assert.equal(made.postedTo("wh_1").length, 3);
  assert.deepEqual(
    attempts.map(({ eventId }) => eventId).sort(),
    made.postedTo("wh_1").map((one) => one.eventId).sort(),
  );
});

test("the worker commits outcomes after the store fenced a commit and then failed to renew the leases", async () => {
  let [fenced, isFailing] = [0, false];
  await using made = await workerStage(() => "delivered", {
    store: (store) =>
      bentStore(store, {
        deliveries: {
          async settle(step) {
            isFailing = step.settlements.some(({ attempts }) => attempts.length > 0) && fenced++ === 0;
            if (isFailing) throw new StoreError("fenced", "another holds the lease");
            await store.deliveries.settle(step);
          },
        },
        leases: {
          async renew(leases, durationMs) {
            if (isFailing) throw new StoreError("unavailable", "the connection was cut");
            return await store.leases.renew(leases, durationMs);
          },
        },
      }),
  });
  await made.owe(3, "wh_1");
  await made.pass(10_000);
  const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
  assert.ok(fenced > 1, "it was fenced off, and tried again");
  assert.equal(progress.cursor, 3);
});
