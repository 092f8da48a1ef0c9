// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { courierStage } from "./courier_stage.ts";

test("a courier is idle while all that is owed is held back, its key disabled", async () => {
  let isEnabled = false;
  const made = await courierStage(() => "delivered", { isKeyEnabled: () => isEnabled });
  made.courier.start();
  await made.owe(3, "wh_1");
  await made.pass(5_000);
  assert.equal(await made.courier.isIdle(20_000), true);
  isEnabled = true;
  await made.pass(5_000);
  assert.equal(made.postedTo("wh_1").length, 3);
  await made.courier.stop({ drainMs: 0 });
});
