import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetention } from "../../../lib/store/retention.ts";
import { append, START_MS } from "../parts.ts";
import { courierStage } from "./courier_stage.ts";

const HOUR_MS = 3_600_000;

test("what is forgotten just before its post fails is counted as dead once", async () => {
  let fail = () => {};
  const made = await courierStage(() => new Promise((resolve) => fail = () => resolve("retry")));
  made.courier.start();
  await made.owe(1, "wh_1");
  await made.pass(1_000);
  const forget = createRetention({
    store: made.store,
    holder: "retention",
    now: made.clock.now,
    historyDays: 1,
    attemptDays: 0,
  });
  // The network is a day further on.
  await append(made.store, [], 9_000, START_MS + 25 * HOUR_MS);
  made.clock.advance(25 * HOUR_MS);
  made.courier.wake();
  await made.pass(2_000);
  await forget(new AbortController().signal);
  assert.equal((await made.store.events.bounds()).forgotten, 1);
  assert.equal((await made.store.deliveries.reader("wh_1"))!.progress.dead, 1);
  fail();
  await made.pass(60_000, 250);
  const { dead, retrying } = (await made.store.deliveries.reader("wh_1"))!.progress;
  assert.deepEqual({ dead, retrying }, { dead: 1, retrying: 0 });
  await made.courier.stop({ drainMs: 0 });
});
