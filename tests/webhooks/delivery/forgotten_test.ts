// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetention } from "../../../lib/store/retention.ts";
import { createTestClock } from "../../test_clock.ts";
import { append, eventAt, owedTo, START_MS } from "../parts.ts";
import { hangs, workerStage } from "./worker_stage.ts";

const HOUR_MS = 3_600_000;

for (const isBack of [true, false]) {
  test(`an undelivered event that retention deletes counts as dead once, with the endpoint ${isBack ? "back" : "still down"}`, async () => {
    let isDown = true;
    await using made = await workerStage(() => isDown ? "retry" : "delivered", { retryMs: 100 * HOUR_MS });
    await made.owe(100, "wh_1");
    await made.pass(60_000, 500);
    let ledger = 9_000;
    for (let hour = 1; hour <= 80; hour++) {
      await made.pass(HOUR_MS, 60_000);
      await append(made.store, [], ++ledger, START_MS + hour * HOUR_MS);
      made.worker.wake();
      if (hour === 30) await forgetOld(made);
      if (hour === 31 && isBack) isDown = false;
    }
    const delivered = new Set(await deliveredTo(made)).size;
    const { dead, retrying, cursor } = (await made.store.deliveries.consumer("wh_1"))!.progress;
    assert.deepEqual({ dead: dead + delivered, retrying, cursor }, { dead: 100, retrying: 0, cursor: 100 });
  });
}

test("an event that retention deletes while its endpoint hangs counts as dead once", async () => {
  const clock = createTestClock(START_MS);
  let underWay = 0;
  await using made = await workerStage(async () => {
    underWay++;
    await clock.wait(10_000);
    underWay--;
    return "retry" as const;
  }, { clock, retryMs: 100 * HOUR_MS });
  await made.owe(10, "wh_1");
  await made.pass(120_000, 250);
  await aDayLater(made);
  made.worker.wake();
  await made.pass(60_000, 250);
  while (underWay === 0) await made.pass(250, 250);
  await forgetOld(made);
  assert.equal((await made.store.events.bounds()).forgotten, 10);
  const { dead: before } = (await made.store.deliveries.consumer("wh_1"))!.progress;
  assert.equal(before, 10, "all ten are counted");
  await made.pass(600_000, 250);
  await assertDead(made, 10);
});

test("an event that retention deletes just before its post fails counts as dead once", async () => {
  let fail = () => {};
  await using made = await workerStage(() => new Promise((resolve) => fail = () => resolve("retry")));
  await made.owe(1, "wh_1");
  await made.pass(1_000);
  await aDayLater(made);
  made.worker.wake();
  await made.pass(2_000);
  await forgetOld(made);
  assert.equal((await made.store.events.bounds()).forgotten, 1);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.progress.dead, 1);
  fail();
  await made.pass(60_000, 250);
  await assertDead(made, 1);
});

test("failures behind an unanswered delivery count once when retention deletes all of their events", async () => {
  const made = await workerStage(({ eventId }) => {
    if (eventId === eventAt(102).id) return hangs();
    return eventId === eventAt(103).id ? "rejected" : eventId === eventAt(104).id ? "retry" : "delivered";
  });
  await made.owe(1, "wh_1");
  await made.pass(1_000);
  await made.owe(3);
  await made.pass(1_000);
  await made.worker.stop({ drainMs: 0 });
  await aDayLater(made);
  await forgetOld(made);
  const { cursor, dead, rejected, retrying } = (await made.store.deliveries.consumer("wh_1"))!.progress;
  assert.deepEqual({ cursor, dead, rejected, retrying }, { cursor: 4, dead: 2, rejected: 1, retrying: 0 });
});

type Stage = Awaited<ReturnType<typeof workerStage>>;

/** Moves network and clock a day forward. */
async function aDayLater({ store, clock }: Stage): Promise<void> {
  await append(store, [], 9_000, START_MS + 25 * HOUR_MS);
  clock.advance(25 * HOUR_MS);
}

/** Asserts `count` dead deliveries and no pending retry. */
async function assertDead({ store }: Stage, count: number): Promise<void> {
  const { dead, retrying } = (await store.deliveries.consumer("wh_1"))!.progress;
  assert.deepEqual({ dead, retrying }, { dead: count, retrying: 0 });
}

/** Runs the retention job: it deletes events older than a day by the network's clock. */
async function forgetOld({ store, clock }: Stage): Promise<void> {
  const retention = { store, holder: "retention", now: clock.now, historyDays: 1, attemptDays: 0 };
  await createRetention(retention)(new AbortController().signal);
}

async function deliveredTo({ store }: Stage): Promise<string[]> {
  const attempts = await store.deliveries.attempts("wh_1", { limit: 200 });
  return attempts.filter(({ outcome }) => outcome === "delivered").map(({ eventId }) => eventId);
}

test("an ordered webhook continues as soon as the event that it retries is deleted, before the retry is due", async () => {
  const first = eventAt(101).id;
  await using made = await workerStage(({ eventId }) => eventId === first ? "retry" : "delivered", {
    ordered: true,
    retryMs: 86_400_000,
  });
  await made.owe(2, "wh_1");
  await made.pass(5_000);
  assert.deepEqual(made.idsTo("wh_1"), [first]);
  await made.store.events.forget({ upTo: 1, undelivered: [] });
  await made.pass(5_000);
  assert.deepEqual(made.idsTo("wh_1"), [first, eventAt(102).id]);
  const { pending, dead } = await owedTo(made.store, "wh_1");
  assert.deepEqual({ pending, dead }, { pending: 0, dead: 1 });
});

test("events that retention deletes while the key is disabled are not posted once it is enabled", async () => {
  let isEnabled = false;
  await using made = await workerStage(() => "delivered", { starts: false, isKeyEnabled: () => isEnabled });
  await made.owe(3, "wh_1");
  made.worker.start();
  await made.pass(5_000, 250);
  await made.store.events.forget({ upTo: 2, undelivered: [] });
  await made.pass(2_000, 250);
  isEnabled = true;
  await made.pass(5_000, 250);
  assert.deepEqual(made.idsTo("wh_1"), [eventAt(103).id]);
});
