// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestClock } from "../../test_clock.ts";
import { START_MS } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("200 hanging endpoints do not keep one waiting that has failed once", async () => {
  const clock = createTestClock(START_MS);
  let isFirst = true;
  const made = await workerStage(async ({ subscriptionId }) => {
    if (subscriptionId.startsWith("wh_hangs")) {
      await clock.wait(10_000);
      return "retry";
    }
    const fails = isFirst;
    isFirst = false;
    return fails ? "retry" : "delivered";
  }, { clock });
  made.worker.start();
  await made.owe(300, ...Array.from({ length: 200 }, (_, n) => `wh_hangs_${n}`));
  await made.pass(120_000, 250);
  await made.owe(1, "wh_well");
  for (let n = 0; n < 18; n++) {
    await made.owe(1);
    await made.pass(10_000, 250);
  }
  const taken = new Set(made.postedTo("wh_well").map(({ eventId }) => eventId)).size;
  assert.ok(taken >= 15, `${taken} of 19 events in three minutes`);
  await made.worker.stop({ drainMs: 0 });
});
