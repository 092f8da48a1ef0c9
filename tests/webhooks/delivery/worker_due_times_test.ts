// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../../lib/store/open.ts";
import { createTestClock } from "../../test_clock.ts";
import { bending, eventAt, owedTo, START_MS } from "../parts.ts";
import { failsOnce, workerStage } from "./worker_stage.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Fails an event once, sets the clock back forty days during a slow store call, and expects one retry. */
async function failsAsClockIsSetBack(made: Awaited<ReturnType<typeof workerStage>>, quicken: () => void) {
  await made.owe(1, "wh_1");
  await made.pass(1_000);
  made.clock.step(-40 * DAY_MS);
  await made.pass(5_000);
  quicken();
  await made.pass(75_000, 50);
  assert.equal(made.postedTo("wh_1").length, 2);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
  await made.worker.stop({ drainMs: 0 });
}

for (const ordered of [true, false]) {
  test(`a clock set back during the commit of a failure does not delay the retry of ${ordered ? "an ordered" : "a"} webhook`, async () => {
    let isSlow = true;
    const made = await workerStage(failsOnce(eventAt(101).id), {
      starts: false,
      ordered,
      retryMs: 5_000,
      store: bending("deliveries", "settle", async (settle, step) => {
        if (isSlow) await made.clock.wait(3_000);
        await settle(step);
      }),
    });
    made.clock.step(40 * DAY_MS);
    made.worker.start();
    await failsAsClockIsSetBack(made, () => isSlow = false);
  });
}

test("a clock set back while the worker reads the due time of a retry does not delay the retry", async () => {
  let isSlow = false;
  const made = await workerStage(failsOnce(eventAt(101).id), {
    starts: false,
    retryMs: 5_000,
    store: bending("deliveries", "consumer", async (consumer, id) => {
      const found = await consumer(id);
      if (isSlow) await made.clock.wait(3_000);
      return found;
    }),
  });
  made.clock.step(40 * DAY_MS);
  made.worker.start();
  await made.owe(0, "wh_1");
  await made.pass(100);
  isSlow = true;
  await failsAsClockIsSetBack(made, () => isSlow = false);
});

test("an ordered event that always fails keeps its pace of attempts after a clock is set back", async () => {
  await using made = await workerStage(() => "retry", { ordered: true, retryMs: 30_000 });
  await made.owe(1, "wh_1");
  await made.pass(40_000, 100);
  made.clock.step(-40 * DAY_MS);
  await made.pass(80_000, 100);
  const [kept] = await made.store.deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 1 });
  // At 0 and 30 s, when the clock was set back, and twice after that.
  assert.equal(kept!.delivery.attempts, 5);
});

test("a restart does not make a retry earlier", async () => {
  const made = await workerStage(() => "retry", { retryMs: 600_000 });
  await made.owe(1, "wh_1");
  await made.pass(100);
  await made.worker.stop({ drainMs: 0 });
  await using next = await workerStage(() => "delivered", { on: made.store, clock: made.clock });
  await next.pass(590_000, 1_000);
  assert.equal(next.script.posted.length, 0);
  await next.pass(20_000, 1_000);
  assert.equal(next.script.posted.length, 1);
});

test("a clock set back before a worker takes over partitions does not delay their failed deliveries", async () => {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  const dead = await workerStage(() => "retry", { on: store, clock, holder: "dead", retryMs: 5_000 });
  await dead.owe(1, "wh_1");
  await dead.pass(1_000, 100);
  await dead.worker.stop({ drainMs: 0 });
  let isHeld = true;
  await using alive = await workerStage(() => "delivered", {
    on: store,
    clock,
    holder: "alive",
    store: bending("leases", "acquire", async (acquire, wanted) => isHeld ? undefined : await acquire(wanted)),
  });
  await alive.pass(1_500, 100);
  clock.step(-7_200_000);
  await alive.pass(3_000, 100);
  isHeld = false;
  await alive.pass(75_000, 100);
  assert.equal(alive.postedTo("wh_1").length, 1);
});
