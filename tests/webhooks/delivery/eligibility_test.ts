// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestClock } from "../../test_clock.ts";
import { bending, memoryStore, owedTo, START_MS } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("a worker that waited for the store does not post a delivery after another gateway took it over", async () => {
  const clock = createTestClock(START_MS);
  const bare = await memoryStore();
  /** While true, the first gateway's store does not answer. */
  let isStuck = false;
  let asked = 0;
  const answers: (() => void)[] = [];
  const stuck = () => isStuck ? new Promise<void>((resolve) => answers.push(resolve)) : Promise.resolve();
  await using first = await workerStage(async ({ subscriptionId }) => {
    if (subscriptionId === "wh_slow") await clock.wait(5_000);
    return "delivered" as const;
  }, {
    starts: false,
    on: bare,
    clock,
    ordered: true,
    limits: { posts: 1, slowMs: 2_000 },
    store: bending("leases", "renew", async (renew, ...args) => {
      await stuck();
      return await renew(...args);
    }),
    async isKeyEnabled(keyId) {
      if (keyId === "key_of_wh_1" && ++asked === 1) isStuck = true;
      await stuck();
      return true;
    },
  });
  await using second = await workerStage(() => "delivered", { starts: false, on: bare, clock, ordered: true });
  first.worker.start();
  await first.owe(1, "wh_slow");
  await first.pass(100);
  await first.owe(1, "wh_1");
  await first.pass(3_000);
  assert.ok(isStuck, "the first is about to post to wh_1");
  assert.equal(first.postedTo("wh_1").length, 0);
  await first.pass(20_000, 50);
  // A store of one process gives its leases to any caller; a shared store's leases would have expired by now.
  second.worker.start();
  await first.pass(5_000);
  assert.equal(second.postedTo("wh_1").length, 1, "the second has taken over and posted it");
  isStuck = false;
  // The store answers in the order of the calls.
  for (const answer of answers) answer();
  await first.pass(5_000);
  assert.equal(first.postedTo("wh_1").length, 0, "the first posts it, too");
});

test("the worker posts nothing on a key check that took 10 s: the key may be disabled by then", async () => {
  const clock = createTestClock(START_MS);
  let isDisabled = false;
  let asked = 0;
  const made = await workerStage(async ({ subscriptionId }) => {
    if (subscriptionId === "wh_slow") await clock.wait(5_000);
    return "delivered" as const;
  }, {
    clock,
    limits: { posts: 1, slowMs: 2_000 },
    async isKeyEnabled(keyId) {
      const answer = keyId !== "key_of_wh_1" || !isDisabled;
      if (keyId === "key_of_wh_1" && ++asked >= 1) await clock.wait(10_000);
      return answer;
    },
  });
  await made.owe(1, "wh_slow");
  await made.pass(100);
  await made.owe(1, "wh_1");
  await made.pass(3_000);
  assert.equal(asked, 1, "it is about to post to wh_1");
  isDisabled = true;
  await made.pass(30_000);
  assert.equal(made.postedTo("wh_1").length, 0);
  const stopped = made.worker.stop({ drainMs: 0 });
  await made.pass(20_000);
  await stopped;
});

const DAY_MS = 86_400_000;

for (const ordered of [false, true]) {
  const what = `${ordered ? "an ordered" : "a"} webhook whose endpoint failed when its key was disabled`;
  test(`deliveries that waited days for ${what} do not die before a post to the endpoint`, async () => {
    let isWell = false;
    let isEnabled = true;
    await using made = await workerStage(() => isWell ? "delivered" : "retry", {
      ordered,
      isKeyEnabled: () => isEnabled,
    });
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
    assert.equal(new Set(made.idsTo("wh_1")).size, 5);
  });
}

test("a worker is idle while the key of all pending deliveries is disabled", async () => {
  let isEnabled = false;
  await using made = await workerStage(() => "delivered", { isKeyEnabled: () => isEnabled });
  await made.owe(3, "wh_1");
  await made.pass(5_000);
  assert.equal(await made.worker.isIdle(20_000), true);
  isEnabled = true;
  await made.pass(5_000);
  assert.equal(made.postedTo("wh_1").length, 3);
});
