// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { POSTS_IN_A_ROW } from "../../../lib/webhooks/delivery/consumer.ts";
import { createTestClock } from "../../test_clock.ts";
import { eventAt, owedTo, START_MS } from "../parts.ts";
import { answersAfter, hangs, workerStage } from "./worker_stage.ts";

test("the worker limits its concurrent posts to all endpoints to 64", async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `wh_${n}`);
  await using made = await workerStage(answersAfter(30), { limits: { posts: 64, postsPerEndpoint: 8 } });
  const perSubscription = new Map<string, number>();
  await made.owe(30, ...ids);
  await made.pass(3_000);
  for (const { subscriptionId } of made.script.posted) {
    perSubscription.set(subscriptionId, (perSubscription.get(subscriptionId) ?? 0) + 1);
  }
  assert.equal(made.script.mostInFlight(), 64);
  assert.ok(ids.every((id) => perSubscription.get(id) === 30), "all of them got everything, once");
  for (const id of ids) assert.equal((await owedTo(made.store, id)).pending, 0);
});

test("100 hanging endpoints do not delay posts to the others", async () => {
  const hanging = Array.from({ length: 100 }, (_, n) => `wh_hangs_${n}`);
  const well = Array.from({ length: 20 }, (_, n) => `wh_well_${n}`);
  const made = await workerStage(
    ({ subscriptionId }) => subscriptionId.startsWith("wh_hangs") ? hangs() : "delivered",
    { limits: { posts: 64, troubledPosts: 16 } },
  );
  await made.owe(20, ...hanging);
  await made.pass(3_000);
  await made.owe(20, ...well);
  await made.pass(200);
  for (const id of well) assert.equal(made.postedTo(id).length, 20, id);
  await made.worker.stop({ drainMs: 0 });
  assert.equal((await owedTo(made.store, hanging[0]!)).pending, 40, "what hung is still owed");
});

test("a slow post in flight does not delay new events of the same endpoint", async () => {
  let count = 0;
  await using made = await workerStage(() => ++count === 3 ? hangs() : "delivered", { limits: { slowMs: 60_000 } });
  await made.owe(3, "wh_1");
  await made.pass(100);
  assert.equal(made.script.inFlight(), 1);
  await made.owe(1, "wh_1");
  await made.pass(50);
  assert.equal(made.script.posted.length, 4);
});

test("an endpoint that keeps failing gets fewer than 30 posts a minute, and its backlog seconds after it recovers", async () => {
  let isDown = true;
  await using made = await workerStage(() => isDown ? "retry" : "delivered", { retryMs: 3_600_000 });
  await made.owe(200, "wh_1");
  await made.pass(60_000, 50);
  assert.ok(made.script.posted.length < 30, `${made.script.posted.length} posts in a minute`);
  isDown = false;
  const before = made.script.posted.length;
  await made.pass(6_000, 50);
  const { retrying } = (await made.store.deliveries.consumer("wh_1"))!.progress;
  assert.ok(retrying > 0 && retrying <= 16, `${retrying} failed before it was left in peace`);
  assert.equal((await owedTo(made.store, "wh_1")).pending, retrying);
  const waiting = [0, 1, 2, 3].map((n) => eventAt(101 + retrying + n).id);
  assert.ok(waiting.includes(made.script.posted[before]!.eventId), "one of those that wait first");
});

test("failing and hanging endpoints share few posts in flight, and leave room for the others", async () => {
  const troubled = Array.from({ length: 40 }, (_, n) => `wh_troubled_${n}`);
  const well = Array.from({ length: 5 }, (_, n) => `wh_well_${n}`);
  await using made = await workerStage(({ subscriptionId, kind }) => {
    if (subscriptionId.startsWith("wh_well")) return "delivered";
    return kind === "probe" ? hangs() : "retry";
  }, { limits: { posts: 8, troubledPosts: 6, allPosts: 16 }, retryMs: 3_600_000 });
  await made.owe(12, ...troubled);
  await made.pass(30_000, 50);
  assert.equal(made.script.inFlight(), 6);
  await made.owe(10, ...well);
  await made.pass(200);
  for (const id of well) assert.equal(made.postedTo(id).length, 10, id);
  assert.equal(made.script.inFlight(), 6);
});

test("webhooks with long backlogs take turns when they outnumber the concurrent posts", async () => {
  const ids = Array.from({ length: 6 }, (_, n) => `wh_${n}`);
  await using made = await workerStage(answersAfter(30), { limits: { posts: 2, postsPerEndpoint: 1 } });
  await made.owe(1_000, ...ids);
  await made.pass(12_000);
  const counts = ids.map((id) => made.postedTo(id).length);
  assert.ok(Math.min(...counts) > 0 && Math.max(...counts) - Math.min(...counts) <= POSTS_IN_A_ROW, counts.join());
});

test("a webhook with one event gets its turn beside many busy webhooks", async () => {
  const busy = Array.from({ length: 10 }, (_, n) => `wh_a_${n}`);
  await using made = await workerStage(answersAfter(400), {
    limits: { posts: 10, postsPerEndpoint: 1, slowMs: 1_000 },
  });
  await made.owe(150, ...busy);
  await made.pass(1_000, 20);
  await made.owe(1, "wh_late");
  await made.pass(20_000, 50);
  assert.equal(made.postedTo("wh_late").length, 1);
  assert.ok(made.script.posted.length > 100, "the others went on");
});

test("200 hanging endpoints do not delay an endpoint that failed once", async () => {
  const clock = createTestClock(START_MS);
  let isFirst = true;
  await using made = await workerStage(async ({ subscriptionId }) => {
    if (subscriptionId.startsWith("wh_hangs")) {
      await clock.wait(10_000);
      return "retry";
    }
    const fails = isFirst;
    isFirst = false;
    return fails ? "retry" : "delivered";
  }, { clock });
  await made.owe(300, ...Array.from({ length: 200 }, (_, n) => `wh_hangs_${n}`));
  await made.pass(120_000, 250);
  await made.owe(1, "wh_well");
  for (let n = 0; n < 18; n++) {
    await made.owe(1);
    await made.pass(10_000, 250);
  }
  const taken = new Set(made.idsTo("wh_well")).size;
  assert.ok(taken >= 15, `${taken} of 19 events in three minutes`);
});
