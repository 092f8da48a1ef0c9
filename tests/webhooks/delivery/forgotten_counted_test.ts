import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetention } from "../../../lib/store/retention.ts";
import { append, START_MS } from "../parts.ts";
import { courierStage } from "./courier_stage.ts";

const HOUR_MS = 3_600_000;

for (const isBack of [true, false]) {
  test(`what is forgotten undelivered is counted as dead once, endpoint ${isBack ? "back" : "dead"}`, async () => {
    let isDown = true;
    const made = await courierStage(() => isDown ? "retry" : "delivered", { retryMs: 100 * HOUR_MS });
    made.courier.start();
    await made.owe(100, "wh_1");
    await made.pass(60_000, 500);
    const forget = createRetention({
      store: made.store,
      holder: "retention",
      now: made.clock.now,
      historyDays: 1,
      attemptDays: 0,
    });
    let ledger = 9_000;
    for (let hour = 1; hour <= 80; hour++) {
      await made.pass(HOUR_MS, 60_000);
      await append(made.store, [], ++ledger, START_MS + hour * HOUR_MS);
      made.courier.wake();
      if (hour === 30) await forget(new AbortController().signal);
      if (hour === 31 && isBack) isDown = false;
    }
    const delivered = new Set(await deliveredTo(made)).size;
    const { dead, retrying, cursor } = (await made.store.deliveries.reader("wh_1"))!.progress;
    assert.deepEqual({ dead: dead + delivered, retrying, cursor }, { dead: 100, retrying: 0, cursor: 100 });
    await made.courier.stop({ drainMs: 0 });
  });
}

async function deliveredTo({ store }: Awaited<ReturnType<typeof courierStage>>): Promise<string[]> {
  const attempts = await store.deliveries.attempts("wh_1", { limit: 200 });
  return attempts.filter(({ outcome }) => outcome === "delivered").map(({ eventId }) => eventId);
}
