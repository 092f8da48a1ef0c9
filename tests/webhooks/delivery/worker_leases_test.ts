// needs: neutral
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openStore } from "../../../lib/store/open.ts";
import { type Store, StoreError } from "../../../lib/store/store.ts";
import { partitionLease, partitionOf, PARTITIONS } from "../../../lib/store/webhook.ts";
import { bentStore } from "../../store/bent_store.ts";
import { createTestClock } from "../../test_clock.ts";
import { bending, failingStore, insert, owedTo, START_MS, subscriptionOf } from "../parts.ts";
import { answersAfter, hangs, workerStage } from "./worker_stage.ts";

const directory = mkdtempSync(join(tmpdir(), "worker-"));
after(() => rmSync(directory, { recursive: true }));

test("the worker loses and repeats no delivery while the store cannot be written for five seconds", async () => {
  let fails = false;
  await using made = await workerStage(() => "delivered", {
    store: (store) => failingStore(store, "deliveries", "settle", () => fails),
  });
  await made.owe(0, "wh_1");
  await made.pass(50);
  fails = true;
  await made.owe(30, "wh_1");
  await made.pass(5_000, 50);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 30);
  fails = false;
  await made.pass(2_000, 50);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
  assert.equal(made.script.posted.length, 30);
  assert.deepEqual(made.problems, ["webhook attempts cannot be committed; retrying"]);
});

test("the worker delivers new events after a store that could not be read works again", async () => {
  let fails = true;
  await using made = await workerStage(() => "delivered", {
    store: (store) => failingStore(store, "events", "read", () => fails),
  });
  await made.owe(5, "wh_1");
  await made.pass(3_000, 50);
  fails = false;
  await made.pass(12_000, 50);
  assert.equal(made.script.posted.length, 5);
});

test("a worker commits nothing after another takes its partitions, and the other one delivers", async () => {
  const made = await workerStage(() => hangs());
  await made.owe(2, "wh_1");
  await made.pass(100);
  assert.equal(made.script.posted.length, 1);
  await using other = await workerStage(() => "delivered", { on: made.store, clock: made.clock });
  // A store of one process gives its leases to any caller.
  await other.pass(100);
  assert.equal(other.script.posted.length, 2);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
  await made.worker.stop({ drainMs: 0 });
  assert.equal((await made.store.deliveries.attempts("wh_1", { limit: 10 })).length, 2);
});

/** Another holder acquires all partitions. */
async function loseLeases(store: Store, durationMs = 60_000): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const name = partitionLease(partition);
    assert.ok(await store.leases.acquire({ name, holder: "another", durationMs }));
  }
}

test("a worker keeps its partitions while the store takes half a minute to list webhooks", async () => {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  let isSlow = false;
  await using made = await workerStage(() => "delivered", {
    on: store,
    clock,
    store: () =>
      bentStore(store, {
        deliveries: {
          async consumers(page) {
            if (isSlow) await clock.wait(30_000);
            return await store.deliveries.consumers(page);
          },
        },
      }),
  });
  await made.owe(1, "wh_1");
  await made.pass(3_000, 50);
  assert.equal(made.postedTo("wh_1").length, 1);
  isSlow = true;
  await insert(store, subscriptionOf("wh_2"));
  await made.owe(1);
  for (let seconds = 0; seconds < 29; seconds++) {
    await made.pass(1_000, 50);
    const name = partitionLease(partitionOf("wh_1"));
    assert.equal(await store.leases.acquire({ name, holder: "another", durationMs: 1 }), undefined, `${seconds} s`);
  }
  await made.pass(35_000, 50);
  assert.equal(made.postedTo("wh_2").length, 1);
});

test("a worker that takes over from a dead one delivers, also when the store fails at the takeover", async () => {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  await loseLeases(store, 5_000);
  let fails = false;
  await using made = await workerStage(() => "delivered", {
    on: store,
    clock,
    store: () =>
      failingStore(
        bentStore(store, {
          leases: {
            async acquire(request) {
              const lease = await store.leases.acquire(request);
              fails = lease !== undefined;
              return lease;
            },
          },
        }),
        "events",
        "bounds",
        () => fails && !(fails = false),
      ),
  });
  await made.owe(1, "wh_1");
  await made.pass(4_000);
  assert.equal(made.script.posted.length, 0);
  await made.pass(8_000);
  assert.equal(made.problems.length, 1);
  assert.equal(made.script.posted.length, 1);
});

test("the store keeps no attempt of a fenced commit", async () => {
  let answerIt: (() => void) | undefined;
  await using made = await workerStage(() => new Promise((resolve) => answerIt = () => resolve("delivered")), {
    starts: false,
  });
  // The store's lock holder acquires every lease, also one of another holder.
  await made.store.holdForServing();
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(100);
  await loseLeases(made.store);
  answerIt!();
  await made.pass(100);
  assert.equal((await made.store.deliveries.attempts("wh_1", { limit: 10 })).length, 0);
});

test("the worker drops a fenced commit after a store failure ends", async () => {
  let answerIt: (() => void) | undefined;
  let isDown = false;
  await using made = await workerStage(() => new Promise((resolve) => answerIt = () => resolve("delivered")), {
    starts: false,
    store: bending("leases", "renew", async (renew, ...step) => {
      if (isDown) throw new StoreError("unavailable", "not just now");
      return await renew(...step);
    }),
  });
  await made.store.holdForServing();
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(100);
  await loseLeases(made.store);
  isDown = true;
  answerIt!();
  await made.pass(5_000, 50);
  isDown = false;
  await made.pass(5_000, 50);
  assert.ok(made.problems.length > 0);
  assert.equal((await made.store.deliveries.attempts("wh_1", { limit: 10 })).length, 0);
});

test("a failing webhook loses no later event when the store fails at the takeover", async () => {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const leaving = await workerStage(() => "retry", { starts: false, on: store, clock, holder: "leaving" });
  let calls = 0;
  await using staying = await workerStage(() => "delivered", {
    starts: false,
    on: store,
    clock,
    holder: "staying",
    store: (whole) => failingStore(whole, "deliveries", "next", () => calls++ === 0),
  });
  await leaving.owe(0, "wh_1");
  leaving.worker.start();
  await leaving.pass(50);
  staying.worker.start();
  await leaving.pass(12_000, 50);
  await leaving.owe(1, "wh_1");
  await leaving.pass(50);
  assert.equal(leaving.postedTo("wh_1").length, 1, "it is its own");
  await leaving.worker.stop({ drainMs: 0 });
  while (calls === 0) await staying.pass(50);
  await leaving.pass(1_100, 50);
  await leaving.owe(3, "wh_1");
  await staying.pass(20_000, 50);
  assert.equal(new Set(staying.idsTo("wh_1")).size, 4);
  assert.equal((await owedTo(store, "wh_1")).pending, 0);
});

test("a stop waits for quick posts and aborts hanging ones, and the next start posts those again", async () => {
  const quick = answersAfter(100);
  const made = await workerStage((post, clock) => post.subscriptionId === "wh_hangs" ? hangs() : quick(post, clock));
  await made.owe(1, "wh_quick", "wh_hangs");
  await made.pass(20);
  const stopped = made.worker.stop({ drainMs: 3_000 });
  await made.pass(4_000, 50);
  await stopped;
  assert.equal((await owedTo(made.store, "wh_quick")).pending, 0);
  assert.equal((await owedTo(made.store, "wh_hangs")).pending, 1);
  assert.deepEqual(await made.store.deliveries.attempts("wh_hangs", { limit: 10 }), [], "nothing is said of it");
  await using next = await workerStage(() => "delivered", { on: made.store, clock: made.clock });
  await next.pass(50);
  assert.deepEqual(next.script.posted.map(({ subscriptionId }) => subscriptionId), ["wh_hangs"]);
});

test("after a kill the next start repeats only posts that were in flight", async () => {
  const setting = `sqlite:${join(directory, "killed.db")}`;
  const [dead, alive] = [await openStore(setting), await openStore(setting)];
  const clock = createTestClock(START_MS);
  let answered = 0;
  const killed = await workerStage(() => ++answered > 40 ? hangs() : "delivered", { on: dead, clock });
  await killed.owe(100, "wh_1");
  await killed.pass(500);
  const written = (await dead.deliveries.consumer("wh_1"))!.progress.cursor;
  assert.ok(written >= 40, String(written));
  await alive.holdForServing();
  const next = await workerStage(() => "delivered", { on: alive, clock });
  await next.pass(1_000);
  assert.equal(next.postedTo("wh_1").length, 100 - written);
  await Promise.all([killed.worker.stop({ drainMs: 0 }), next.worker.stop({ drainMs: 0 })]);
  await dead.close();
  await alive.close();
});
