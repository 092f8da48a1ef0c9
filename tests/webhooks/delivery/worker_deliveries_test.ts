// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { answersAfter, workerStage } from "./worker_stage.ts";
import { append, eventAt, idsFrom, insert, owedTo, START_MS, subscriptionOf } from "../parts.ts";

test("the worker posts due events at once, in the ledger's order, and commits them", async () => {
  const { store, worker, owe, pass, postedTo } = await workerStage(() => "delivered");
  await pass(100);
  await owe(20, "wh_1");
  await pass(50);
  assert.deepEqual(postedTo("wh_1").map(({ eventId }) => eventId), idsFrom(101, 20));
  assert.equal((await owedTo(store, "wh_1")).pending, 0);
  assert.equal((await store.deliveries.attempts("wh_1", { limit: 200 })).length, 20);
  await worker.stop({ drainMs: 0 });
});

test("a failed delivery is retried when it is due, and not before", async () => {
  let answers: ("retry" | "delivered")[] = ["retry", "delivered"];
  const { store, worker, owe, pass, script, clock } = await workerStage(() => answers.shift()!);
  await owe(1, "wh_1");
  await pass(4_900);
  assert.equal(script.posted.length, 1);
  await pass(300);
  assert.deepEqual(script.posted.map(({ attempt }) => attempt), [1, 2]);
  assert.ok(script.posted[1]!.atMs - START_MS <= 5_150, "not later than needed either");
  assert.equal((await owedTo(store, "wh_1")).pending, 0);
  answers = ["delivered"];
  const asleep = clock.pauses.length;
  await pass(60_000, 1_000);
  assert.ok(clock.pauses.length - asleep < 95, "with nothing due it looks once a second, and after leases every 2.5 s");
  await worker.stop({ drainMs: 0 });
});

test("deliveries of a disabled key wait until the key is enabled", async () => {
  const enabled = new Set(["key_of_wh_other"]);
  await using made = await workerStage(() => "delivered", { isKeyEnabled: (id) => enabled.has(id) });
  await made.owe(3, "wh_1", "wh_other");
  await made.pass(10_000, 50);
  assert.equal(made.postedTo("wh_1").length, 0);
  assert.equal(made.postedTo("wh_other").length, 3);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 3);
  enabled.add("key_of_wh_1");
  await made.pass(3_000, 50);
  assert.equal(made.postedTo("wh_1").length, 3);
});

test("posts of a long queue stop within about a second after their key is disabled", async () => {
  let isEnabled = true;
  await using made = await workerStage(answersAfter(200), { isKeyEnabled: () => isEnabled });
  await made.owe(150, "wh_1");
  await made.pass(500);
  isEnabled = false;
  await made.pass(1_300);
  const posted = made.script.posted.length;
  assert.ok(posted > 10 && posted < 150);
  await made.pass(5_000, 50);
  assert.equal(made.script.posted.length, posted);
  isEnabled = true;
  await made.pass(10_000, 50);
  assert.equal(made.script.posted.length, 150);
});

test("a webhook that waits for its turn gets no post after its key is disabled", async () => {
  let isEnabled = true;
  await using made = await workerStage(answersAfter(8_000), {
    isKeyEnabled: (id) => id !== "key_of_wh_2" || isEnabled,
    limits: { posts: 1, troubledPosts: 1, allPosts: 1 },
  });
  await made.pass(100);
  // The newest in the queue posts first.
  await made.owe(1, "wh_3", "wh_2", "wh_1");
  await made.pass(1_000);
  assert.deepEqual(made.script.posted.map(({ subscriptionId }) => subscriptionId), ["wh_1"]);
  isEnabled = false;
  await made.pass(20_000, 50);
  assert.equal(made.postedTo("wh_2").length, 0);
  assert.equal(made.postedTo("wh_3").length, 1, "those that wait behind it have their turn");
  isEnabled = true;
  await made.pass(12_000, 50);
  assert.equal(made.postedTo("wh_2").length, 1);
});

test("a webhook that is deleted while posts are in flight gets no more posts", async () => {
  await using made = await workerStage(answersAfter(200));
  await made.owe(100, "wh_1");
  await made.pass(500);
  await made.store.subscriptions.delete("wh_1");
  await made.pass(1_500);
  const posted = made.script.posted.length;
  await made.pass(10_000, 50);
  assert.ok(posted < 100);
  assert.equal(made.script.posted.length, posted);
  assert.deepEqual(made.problems, []);
});

test("the worker delivers late events next, in any ledger since the webhook's creation", async () => {
  await using made = await workerStage(() => "delivered");
  await made.owe(3, "wh_1");
  await made.pass(50);
  await append(made.store, [eventAt(101, 9), eventAt(100, 9), eventAt(104)], 104);
  made.worker.wake();
  await made.pass(50);
  assert.deepEqual(
    made.idsTo("wh_1"),
    [eventAt(101).id, eventAt(102).id, eventAt(103).id, eventAt(101, 9).id, eventAt(104).id],
    "but for what is older than the subscription",
  );
});

test("each webhook gets the events of its filter once, in the order of the log", async () => {
  await using made = await workerStage(() => "delivered", { starts: false });
  await insert(made.store, subscriptionOf("wh_swept", { types: ["escrow.swept"] }), subscriptionOf("wh_all"));
  await insert(made.store, subscriptionOf("wh_device", { deviceHash: "cd".repeat(32) }));
  made.worker.start();
  const events = Array.from({ length: 500 }, (_, n) =>
    eventAt(101 + n, 1, {
      type: n % 3 === 0 ? "escrow.swept" : "escrow.funded",
      deviceHash: n % 50 === 0 ? "cd".repeat(32) : "ab".repeat(32),
    }));
  await append(made.store, events, 600);
  await made.pass(2_000);
  const idsOf = (id: string) => made.idsTo(id);
  assert.deepEqual(idsOf("wh_all"), events.map(({ id }) => id));
  assert.deepEqual(idsOf("wh_swept"), events.filter(({ type }) => type === "escrow.swept").map(({ id }) => id));
  assert.deepEqual(idsOf("wh_device"), events.filter((_, n) => n % 50 === 0).map(({ id }) => id));
});

test("the worker commits a cursor past events that do not match the filter", async () => {
  const made = await workerStage(() => "delivered", { starts: false });
  await insert(made.store, subscriptionOf("wh_rare", { types: ["escrow.swept"] }));
  made.worker.start();
  await append(made.store, Array.from({ length: 50 }, (_, n) => eventAt(101 + n)), 150);
  await made.pass(100);
  await made.worker.stop({ drainMs: 0 });
  assert.equal((await made.store.deliveries.consumer("wh_rare"))!.progress.cursor, 50);
});

test("a webhook that is created while events arrive gets the events after its creation", async () => {
  await using made = await workerStage(() => "delivered");
  await made.owe(10, "wh_1");
  await made.owe(10, "wh_2");
  await made.pass(100);
  assert.equal(made.postedTo("wh_1").length, 20);
  assert.deepEqual(made.idsTo("wh_2"), made.postedTo("wh_1").slice(10).map(({ eventId }) => eventId));
});

test("an endpoint slower than the log loses no event", async () => {
  await using made = await workerStage(answersAfter(200), { limits: { postsPerEndpoint: 1 } });
  const events = 150;
  for (let n = 0; n < events; n++) {
    await made.owe(1, "wh_1");
    await made.pass(50);
  }
  await made.pass(60_000, 50);
  assert.deepEqual(made.idsTo("wh_1"), idsFrom(101, events));
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
});
