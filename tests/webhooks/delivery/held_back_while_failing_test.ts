// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { owedTo } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

const DAY_MS = 86_400_000;

for (const ordered of [false, true]) {
  const what = `${ordered ? "an ordered" : "a"} webhook whose endpoint failed when its key was disabled`;
  test(`what is held back for days for ${what} is not given up before the endpoint was asked`, async () => {
    let isWell = false;
    let isEnabled = true;
    const made = await workerStage(() => isWell ? "delivered" : "retry", { ordered, isKeyEnabled: () => isEnabled });
    made.worker.start();
    await made.owe(3, "wh_1");
    await made.pass(2_000);
    isEnabled = false;
    await made.owe(2);
    await made.pass(5_000);
    made.clock.advance(4 * DAY_MS);
    await made.owe(0);
    await made.pass(5_000);
    isWell = isEnabled = true;
    await made.pass(20_000);
    const { pending, dead, failing } = await owedTo(made.store, "wh_1");
    assert.deepEqual({ pending, dead, failing }, { pending: 0, dead: 0, failing: 0 });
    assert.equal(new Set(made.postedTo("wh_1").map(({ eventId }) => eventId)).size, 5);
    await made.worker.stop({ drainMs: 0 });
  });
}
