// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Store, StoreError } from "../../../lib/store/store.ts";
import type { StoredConsumer } from "../../../lib/store/webhook.ts";
import { append, bending, eventAt, idsAt, owedTo, START_MS } from "../parts.ts";
import { failsOnce, workerStage } from "./worker_stage.ts";
import { endedOf } from "../../store/webhook_samples.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test("a rejected delivery is stored, counted and listed as rejected", async () => {
  await using made = await workerStage(({ eventId }) => eventId === eventAt(102).id ? "rejected" : "delivered");
  await made.owe(3, "wh_1");
  await made.pass(100);
  const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
  assert.deepEqual([progress.rejected, progress.dead, progress.retrying], [1, 0, 0]);
  assert.equal(progress.cursor, 3);
  const [ended] = await endedOf(made.store, { subscriptionId: "wh_1", limit: 10 });
  assert.deepEqual([ended?.event.id, ended?.delivery.state], [eventAt(102).id, "rejected"]);
});

test("the worker splits more failures than fit in one commit into several commits", async () => {
  await using made = await workerStage(() => "rejected");
  const ids = Array.from({ length: 40 }, (_, n) => `wh_${n}`);
  await made.owe(60, ...ids);
  await made.pass(2_000, 50);
  for (const id of ids) assert.equal((await made.store.deliveries.consumer(id))!.progress.rejected, 60, id);
  assert.deepEqual(made.problems, []);
});

test("an endpoint that is down gets one probe after each pause, and its waiting deliveries need no rows", async () => {
  await using made = await workerStage(() => "retry", { retryMs: HOUR_MS });
  await made.owe(1_000, "wh_1");
  await made.pass(60_000, 50);
  const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
  assert.ok(progress.retrying <= 16, `${progress.retrying} rows`);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 1_000);
  assert.ok(made.script.posted.length < 30, `${made.script.posted.length} posts in a minute`);
  const probes = made.script.posted.filter(({ kind }) => kind === "probe");
  assert.ok(probes.length > 5);
  const asked = new Set(probes.map(({ eventId }) => eventId)).size;
  assert.ok(asked <= 6, `${asked} events: of those that wait the first, in turns`);
  assert.equal(progress.failingSinceMs, made.script.posted[0]!.atMs);
});

test("an endpoint that recovers gets all waiting deliveries, and no longer counts as failing", async () => {
  let isDown = true;
  await using made = await workerStage(() => isDown ? "retry" : "delivered", { retryMs: 20_000 });
  await made.owe(300, "wh_1");
  await made.pass(60_000, 50);
  isDown = false;
  await made.pass(30_000, 50);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.progress.failingSinceMs, null);
  const delivered = await made.store.deliveries.attempts("wh_1", { limit: 200 });
  assert.ok(delivered.every(({ outcome }) => outcome === "delivered"));
});

/** One more event, so many days later by the network's clock. */
function laterEvent(store: Store, days: number): Promise<void> {
  const atMs = START_MS + days * DAY_MS;
  return append(store, [eventAt(9_000, 1, { knownAt: atMs / 1_000 })], 9_000, atMs);
}

test("two thousand deliveries to an endpoint that is down are dead after three days of network time", async () => {
  await using made = await workerStage(() => "retry", { retryMs: HOUR_MS });
  await made.owe(2_000, "wh_1");
  await made.pass(10_000, 50);
  // The wall clock alone does not age deliveries.
  made.clock.step(40 * DAY_MS);
  await made.pass(10_000, 50);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.progress.dead, 0);
  made.clock.step(-40 * DAY_MS);
  await laterEvent(made.store, 3);
  made.worker.wake();
  await made.pass(30_000, 50);
  const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
  assert.ok(progress.dead >= 2_000 - 16, `${progress.dead} dead`);
  assert.ok(progress.dead <= 2_000, "the new one waits");
});

test("deliveries that waited four days without a gateway do not die before a post to the endpoint", async () => {
  for (const isBack of [true, false]) {
    let answer: "retry" | "delivered" = "retry";
    const made = await workerStage(() => answer, { retryMs: HOUR_MS });
    await made.owe(500, "wh_1");
    await made.pass(10_000, 50);
    await made.worker.stop({ drainMs: 0 });
    made.clock.advance(4 * DAY_MS);
    await laterEvent(made.store, 4);
    if (isBack) answer = "delivered";
    const next = made.newWorker("next");
    next.start();
    await made.pass(60_000, 50);
    const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
    if (isBack) assert.deepEqual([progress.dead, progress.retrying, progress.cursor], [0, 0, 501]);
    else assert.ok(progress.dead >= 498, `${progress.dead} dead`);
    await next.stop({ drainMs: 0 });
  }
});

test("a failed delivery is dead after three days without another attempt while the endpoint is down", async () => {
  let isDown = false;
  await using made = await workerStage(() => isDown ? "retry" : "delivered", { retryMs: HOUR_MS });
  await made.owe(100, "wh_1");
  await made.pass(1_000);
  isDown = true;
  await made.owe(8, "wh_1");
  await made.pass(1_000);
  const { retrying } = (await made.store.deliveries.consumer("wh_1"))!.progress;
  assert.ok(retrying > 1, `${retrying} failed`);
  await append(made.store, [], 9_000, START_MS + 3 * DAY_MS + HOUR_MS);
  await made.pass(HOUR_MS / 2, 5_000);
  assert.equal((await owedTo(made.store, "wh_1")).pending, retrying, "what is not due is not looked at yet");
  const posts = made.script.posted.length;
  await made.pass(HOUR_MS, 5_000);
  const { progress } = (await made.store.deliveries.consumer("wh_1"))!;
  assert.deepEqual([progress.dead, progress.retrying], [8, 0]);
  assert.equal(made.script.posted.length, posts);
});

test("deliveries that waited days for a disabled key are sent after it is enabled, despite one earlier failure", async () => {
  let isEnabled = true;
  await using made = await workerStage(failsOnce(eventAt(101).id), { isKeyEnabled: () => isEnabled, retryMs: 5_000 });
  await made.owe(1, "wh_1");
  await made.pass(100);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.progress.retrying, 1);
  isEnabled = false;
  await made.pass(3_000, 50);
  await made.owe(5, "wh_1");
  await append(made.store, [], 9_000, START_MS + 4 * DAY_MS);
  await made.pass(10_000, 50);
  assert.equal(made.postedTo("wh_1").length, 1);
  isEnabled = true;
  await made.pass(10_000, 50);
  assert.equal(made.postedTo("wh_1").length, 1 + 6);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.progress.dead, 0);
  assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
});

test("an ordered webhook waits at a failed event, and probes the endpoint with this event", async () => {
  let isDown = true;
  await using made = await workerStage(({ eventId }) => isDown && eventId === eventAt(102).id ? "retry" : "delivered", {
    ordered: true,
    retryMs: HOUR_MS,
  });
  await made.owe(5, "wh_1");
  await made.pass(1_000);
  assert.deepEqual(made.idsTo("wh_1"), idsAt(101, 102));
  await made.pass(30_000, 50);
  assert.equal(new Set(made.idsTo("wh_1")).size, 2);
  isDown = false;
  await made.pass(HOUR_MS, 1_000);
  const ids = made.idsTo("wh_1");
  assert.deepEqual([...new Set(ids)], idsAt(101, 102, 103, 104, 105));
  assert.equal(made.script.mostInFlight(), 1);
});

for (const outcome of ["retry", "rejected"] as const) {
  test(`an ordered webhook gets no new event before the commit of the outcome ${outcome}`, async () => {
    const failing = failsOnce(eventAt(102).id);
    await using made = await workerStage((post) => failing(post) === "retry" ? outcome : "delivered", {
      ...{ ordered: true, retryMs: 5_000, gatherMs: 400 },
    });
    await made.owe(1, "wh_1");
    await made.pass(2_000);
    await made.owe(2);
    await made.pass(200);
    await made.owe(1);
    await made.pass(100);
    assert.equal(made.postedTo("wh_1").at(-1)!.eventId, eventAt(102).id);
    await made.pass(30_000, 50);
    const ids = made.idsTo("wh_1");
    const ledgers = outcome === "retry" ? [101, 102, 102, 103, 104] : [101, 102, 103, 104];
    assert.deepEqual(ids, ledgers.map((ledger) => eventAt(ledger).id));
  });
}

/** A store that answers reads of a consumer with `answer` once the consumer has a failed delivery. */
function whenAskedForKept(
  answer: (ask: () => Promise<StoredConsumer | undefined>, nth: number) => Promise<StoredConsumer | undefined>,
) {
  let asked = 0;
  return bending("deliveries", "consumer", async (consumer, id) => {
    const ask = () => consumer(id);
    return ((await ask())?.progress.retrying ?? 0) === 0 ? ask() : answer(ask, ++asked);
  });
}

for (const ordered of [true, false]) {
  const whose = ordered ? "an ordered" : "an unordered";
  test(`${whose} webhook gets the retry of a failed delivery also when the store fails to read it once`, async () => {
    await using made = await workerStage(failsOnce(eventAt(101).id), {
      ordered,
      retryMs: 5_000,
      store: whenAskedForKept((ask, nth) =>
        nth === 1 ? Promise.reject(new StoreError("unavailable", "not just now")) : ask()
      ),
    });
    await made.owe(1, "wh_1");
    await made.pass(500);
    await made.owe(2, "wh_1");
    await made.pass(30_000, 50);
    const ids = made.idsTo("wh_1");
    const inOrder = idsAt(101, 101, 102, 103);
    assert.deepEqual(ordered ? ids : ids.toSorted(), inOrder);
    assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
  });
}

test("an ordered webhook gets no new event while the worker reads its failed one", async () => {
  await using made = await workerStage(failsOnce(eventAt(101).id), {
    starts: false,
    ordered: true,
    retryMs: 5_000,
    store: whenAskedForKept(async (ask) => {
      await made.clock.wait(3_000);
      return await ask();
    }),
  });
  made.worker.start();
  await made.owe(3, "wh_1");
  await made.pass(30_000, 50);
  const ids = made.idsTo("wh_1");
  assert.deepEqual(ids, idsAt(101, 101, 102, 103));
});

const SPANS: [name: string, ms: number][] = [
  ["a minute", 60_000],
  ["an hour", HOUR_MS],
  ["a day", DAY_MS],
  ["forty days", 40 * DAY_MS],
];
for (const [name, stepMs] of SPANS) {
  for (const sign of [1, -1]) {
    test(`a clock that is ${name} ${sign > 0 ? "ahead" : "behind"} for two seconds does not delay later deliveries`, async () => {
      const failing = new Set(idsAt(101, 102));
      await using made = await workerStage(({ eventId, attempt }) =>
        failing.has(eventId) && attempt === 1 ? "retry" : "delivered"
      );
      await made.owe(1, "wh_1");
      await made.pass(100);
      made.clock.step(sign * stepMs);
      await made.owe(2, "wh_1");
      await made.pass(2_000);
      made.clock.step(-sign * stepMs);
      await made.owe(3, "wh_1");
      await made.pass(75_000, 50);
      const attempts = await made.store.deliveries.attempts("wh_1", { limit: 100 });
      const delivered = attempts.filter(({ outcome }) => outcome === "delivered");
      assert.equal(new Set(delivered.map(({ eventId }) => eventId)).size, 6);
      assert.equal((await owedTo(made.store, "wh_1")).pending, 0);
    });
  }
}
