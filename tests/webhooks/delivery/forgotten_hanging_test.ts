import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetention } from "../../../lib/store/retention.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, START_MS } from "../parts.ts";
import { courierStage } from "./courier_stage.ts";

const HOUR_MS = 3_600_000;

test("what is forgotten while it is posted to an endpoint that hangs is counted as dead once", async () => {
  const clock = createTestClock(START_MS);
  let underWay = 0;
  const made = await courierStage(async () => {
    underWay++;
    await clock.wait(10_000);
    underWay--;
    return "retry" as const;
  }, { clock, retryMs: 100 * HOUR_MS });
  made.courier.start();
  await made.owe(10, "wh_1");
  await made.pass(120_000, 250);
  const forget = createRetention({
    store: made.store,
    holder: "retention",
    now: made.clock.now,
    historyDays: 1,
    attemptDays: 0,
  });
  // The network is a day further on.
  await append(made.store, [], 9_000, START_MS + 25 * HOUR_MS);
  clock.advance(25 * HOUR_MS);
  made.courier.wake();
  await made.pass(60_000, 250);
  while (underWay === 0) await made.pass(250, 250);
  await forget(new AbortController().signal);
  assert.equal((await made.store.events.bounds()).forgotten, 10);
  const { dead: before } = (await made.store.deliveries.reader("wh_1"))!.progress;
  assert.equal(before, 10, "all ten are counted");
  await made.pass(600_000, 250);
  const { dead, retrying } = (await made.store.deliveries.reader("wh_1"))!.progress;
  assert.deepEqual({ dead, retrying }, { dead: 10, retrying: 0 });
  await made.courier.stop({ drainMs: 0 });
});
