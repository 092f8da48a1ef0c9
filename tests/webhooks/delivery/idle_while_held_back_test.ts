// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { workerStage } from "./worker_stage.ts";

test("a worker is idle while all that is owed is held back, its key disabled", async () => {
  let isEnabled = false;
  const made = await workerStage(() => "delivered", { isKeyEnabled: () => isEnabled });
  made.worker.start();
  await made.owe(3, "wh_1");
  await made.pass(5_000);
  assert.equal(await made.worker.isIdle(20_000), true);
  isEnabled = true;
  await made.pass(5_000);
  assert.equal(made.postedTo("wh_1").length, 3);
  await made.worker.stop({ drainMs: 0 });
});
