// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { openStore } from "../../../lib/store/open.ts";
import { type Lease, StoreError } from "../../../lib/store/store.ts";
import { partitionLease, partitionOf, PARTITIONS } from "../../../lib/store/webhook.ts";
import { bentStore } from "../../store/bent_store.ts";
import { createPartitions, type Partitions } from "../../../lib/webhooks/delivery/partitions.ts";
import { createTestClock, type TestClock } from "../../test_clock.ts";
import { insert, owedTo, START_MS, subscriptionOf } from "../parts.ts";
import { hangs, workerStage } from "./worker_stage.ts";

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

/** A shared store with its own clock; the gateways' clocks may be paused or wrong. */
async function sharedStage() {
  const storeClock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: storeClock.now, isShared: true });
  const isIdle = () => false;
  let gateways: { partitions: Partitions; clock: TestClock; isPaused: boolean }[] = [];

  function join(name: string, wallAheadMs = 0) {
    const clock = createTestClock(START_MS + wallAheadMs);
    const gateway = { partitions: createPartitions(store, clock, name), clock, isPaused: false };
    gateways.push(gateway);
    return gateway;
  }

  /** Each running gateway maintains its partitions once a second. Two gateways never hold one partition at once. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      for (const { partitions, isPaused } of gateways) if (!isPaused) await partitions.keep(isIdle);
      for (const partition of ALL) {
        const posting = gateways.filter((one) => !one.isPaused && one.partitions.holds(partition));
        assert.ok(posting.length <= 1, `partition ${partition} has ${posting.length}`);
      }
      storeClock.advance(1_000);
      for (const { clock } of gateways) clock.advance(1_000);
    }
  }

  return {
    store,
    join,
    pass,
    kill: (gateway: typeof gateways[number]) => gateways = gateways.filter((one) => one !== gateway),
    shares: () => gateways.map(({ partitions }) => ALL.filter((one) => partitions.holds(one)).length),
  };
}

test("one gateway on a shared store holds all partitions; newcomers get an even share", async () => {
  const { join, pass, shares } = await sharedStage();
  join("a");
  await pass(1);
  assert.deepEqual(shares(), [8]);
  join("b");
  await pass(18);
  assert.deepEqual(shares(), [4, 4]);
  join("c");
  await pass(18);
  assert.deepEqual(shares(), [3, 3, 2]);
  for (const name of ["d", "e", "f", "g", "h", "i", "j"]) join(name);
  await pass(20);
  assert.deepEqual(shares().sort(), [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
});

test("the other gateways share a dead gateway's partitions within 15 s", async () => {
  for (const diesAfter of [0, 1, 2, 3]) {
    const { join, pass, kill, shares } = await sharedStage();
    const [, dead] = [join("a"), join("b"), join("c"), join("d")];
    await pass(20 + diesAfter);
    assert.deepEqual(shares(), [2, 2, 2, 2]);
    kill(dead!);
    await pass(14);
    assert.equal(shares().reduce((sum, one) => sum + one), 8, `killed ${diesAfter} s later`);
    await pass(3);
    assert.deepEqual(shares(), [3, 3, 2]);
  }
});

test("a worker that stops releases its partitions at once", async () => {
  const { join, pass, kill, shares } = await sharedStage();
  const [, stopped] = [join("a"), join("b")];
  await pass(18);
  assert.deepEqual(shares(), [4, 4]);
  kill(stopped!);
  await stopped!.partitions.release();
  await pass(4);
  assert.deepEqual(shares(), [8]);
});

test("a gateway that was paused past the end of its leases uses no old lease, and gets a share again", async () => {
  const { join, pass, shares } = await sharedStage();
  const [, paused] = [join("a"), join("b")];
  await pass(18);
  assert.deepEqual(shares(), [4, 4]);
  paused!.isPaused = true;
  await pass(20);
  assert.deepEqual(shares(), [8, 0]);
  paused!.isPaused = false;
  assert.deepEqual(ALL.filter((partition) => paused!.partitions.holds(partition)), []);
  await pass(8);
  assert.deepEqual(shares(), [4, 4]);
});

test("a gateway whose own clock is a day off gets an equal share", async () => {
  const { join, pass, shares } = await sharedStage();
  join("a");
  join("ahead", 86_400_000);
  join("behind", -86_400_000);
  await pass(22);
  assert.deepEqual(shares(), [3, 3, 2]);
});

test("a worker's entry with a time a day ahead does not count", async () => {
  const { store, join, pass, shares } = await sharedStage();
  await store.sharedState.change("workers", (_, nowMs) => {
    return { value: { ghost: nowMs + 86_400_000 }, keepMs: 90_000_000, answer: undefined };
  });
  join("a");
  await pass(2);
  assert.deepEqual(shares(), [8]);
});

/** Two workers on one shared store and clock. */
async function twoWorkers(answer: Parameters<typeof workerStage>[0]) {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const [one, two] = [
    await workerStage(answer, { starts: false, on: store, clock, holder: "one" }),
    await workerStage(answer, { starts: false, on: store, clock, holder: "two" }),
  ];
  return { store, one, two };
}

const IDS = Array.from({ length: 24 }, (_, n) => `wh_${n}`);

test("two workers share the deliveries, and the release of partitions repeats none of them", async () => {
  const { store, one, two } = await twoWorkers(() => yieldToOthers("delivered" as const));
  one.worker.start();
  await one.owe(3, ...IDS);
  await one.pass(2_000, 50);
  assert.equal(one.script.posted.length, 72);
  two.worker.start();
  // Also while partitions change their holder.
  for (let n = 0; n < 22; n++) {
    await one.owe(1, ...IDS);
    await one.pass(900, 50);
  }
  const all = [...one.script.posted, ...two.script.posted];
  assert.equal(new Set(all.map(({ subscriptionId, eventId }) => `${subscriptionId} ${eventId}`)).size, 25 * 24);
  assert.equal(all.length, 25 * 24, "each once");
  const partitionsOf = (made: typeof one) =>
    new Set(made.script.posted.slice(-20).map(({ subscriptionId }) => partitionOf(subscriptionId)));
  assert.ok(partitionsOf(one).isDisjointFrom(partitionsOf(two)));
  assert.ok(two.script.posted.length > 24);
  for (const id of IDS) assert.equal((await owedTo(store, id)).pending, 0);
  await Promise.all([one.worker.stop({ drainMs: 0 }), two.worker.stop({ drainMs: 0 })]);
});

test("a worker commits posts in flight before it releases their partition", async () => {
  let answerAll: (() => void)[] = [];
  const { one, two } = await twoWorkers(() => new Promise((resolve) => answerAll.push(() => resolve("delivered"))));
  one.worker.start();
  await one.owe(1, ...IDS);
  await one.pass(1_000, 50);
  assert.equal(one.script.inFlight(), 24);
  two.worker.start();
  await one.pass(16_000, 50);
  assert.equal(two.script.posted.length, 0, "they are not done yet");
  for (const answer of answerAll) answer();
  answerAll = [];
  await one.pass(6_000, 50);
  await one.owe(1, ...IDS);
  await one.pass(2_000, 50);
  assert.ok(two.script.posted.length > 0);
  assert.equal(one.script.posted.length + two.script.posted.length, 48);
  for (const answer of answerAll) answer();
  await one.pass(100);
  await Promise.all([one.worker.stop({ drainMs: 0 }), two.worker.stop({ drainMs: 0 })]);
});

test("another worker continues a dead worker's deliveries within 15 s, with their counts of attempts", async () => {
  let isDead = false;
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const dead = await workerStage(
    ({ subscriptionId }) => isDead ? hangs() : subscriptionId === "wh_0" ? "retry" : "delivered",
    {
      on: store,
      clock,
      holder: "dead",
      // A killed process writes nothing more.
      store: (bare) =>
        new Proxy(bare, {
          get(target, noun) {
            const whole = Reflect.get(target, noun);
            if (typeof whole !== "object") return whole;
            return new Proxy(whole, { get: (_, method) => isDead ? () => hangs() : Reflect.get(whole, method) });
          },
        }),
    },
  );
  await dead.owe(1, ...IDS);
  await dead.pass(30_000, 100);
  assert.notEqual((await store.deliveries.consumer("wh_0"))!.progress.failingSinceMs, null);
  const [kept] = await store.deliveries.failed({ state: "retrying", subscriptionId: "wh_0", limit: 1 });
  assert.ok(kept!.delivery.attempts > 2);
  isDead = true;
  await using alive = await workerStage(() => "delivered", { on: store, clock, holder: "alive" });
  await alive.owe(1, ...IDS.slice(1));
  await alive.pass(15_000, 100);
  for (const id of IDS.slice(1)) assert.equal((await owedTo(store, id)).pending, 0, id);
  const [first, ...more] = alive.postedTo("wh_0");
  assert.equal(first?.attempt, kept!.delivery.attempts + 1, "attempts are counted on");
  assert.deepEqual(more, []);
  assert.equal((await store.deliveries.consumer("wh_0"))!.progress.failingSinceMs, null);
});

for (const [what, wrongMs] of [["ahead of", 86_400_000], ["behind", -86_400_000]] as const) {
  test(`a worker whose clock is a day ${what} the store's clock uses the store's clock for posts and retries`, async () => {
    const storeClock = createTestClock(START_MS);
    const store = await openStore("memory:", { now: storeClock.now, isShared: true });
    const clock = createTestClock(START_MS + wrongMs);
    const { worker, owe, pass, postedTo } = await workerStage(() => "retry", { on: store, clock });
    const both = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        storeClock.advance(50);
        await pass(50, 50);
      }
    };
    await owe(1, "wh_0");
    await both(1_000);
    const [kept] = await store.deliveries.failed({ state: "retrying", subscriptionId: "wh_0", limit: 1 });
    const dueInMs = kept!.delivery.dueAtMs! - storeClock.now();
    assert.ok(dueInMs > 3_500 && dueInMs <= 5_000, String(dueInMs));
    await both(5_000);
    const ats = postedTo("wh_0").map(({ atMs }) => atMs - START_MS);
    assert.equal(ats.length, 2);
    assert.ok(ats[0]! <= 1_000 && ats[1]! >= 5_000 && ats[1]! <= 6_000, ats.join());
    await worker.stop({ drainMs: 0 });
  });
}

test("a lease's time runs from its request, also when the store answers late", async () => {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  let answersAfterMs = 0;
  const late = <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) => async (...args: Args) => {
    const answer = await call(...args);
    clock.advance(answersAfterMs);
    return answer;
  };
  const { acquire, renew } = store.leases;
  const leases = { ...store.leases, acquire: late(acquire), renew: late(renew) };
  const partitions = createPartitions({ leases, sharedState: store.sharedState, isShared: true }, clock, "slow");
  const held = () => ALL.filter((one) => partitions.holds(one)).length;
  answersAfterMs = 1_000;
  await partitions.keep(() => false);
  assert.equal(held(), 8);
  // The first lease was requested eight seconds ago.
  clock.advance(2_000);
  assert.equal(held(), 7);
  answersAfterMs = 9_000;
  await partitions.keep(() => false);
  assert.equal(held(), 8);
  clock.advance(1_000);
  assert.equal(held(), 0, "another may have taken them");
  await store.close();
});

for (const failing of ["the next lease request", "the check for new webhooks"] as const) {
  test(`a worker delivers after a takeover, also when the store fails at ${failing}`, async () => {
    const bare = await openStore("memory:", { isShared: true });
    let hasTaken = false;
    let hasFailed = false;
    const failOnce = (what: typeof failing) => {
      if (!hasTaken || hasFailed || what !== failing) return;
      hasFailed = true;
      throw new StoreError("unavailable", "the store could not be reached");
    };
    const { worker, pass, owe, postedTo } = await workerStage(() => "delivered", {
      starts: false,
      on: bentStore(bare, {
        leases: {
          async acquire(step) {
            failOnce("the next lease request");
            const lease = await bare.leases.acquire(step);
            hasTaken ||= lease !== undefined;
            return lease;
          },
        },
        subscriptions: {
          async version() {
            failOnce("the check for new webhooks");
            return await bare.subscriptions.version();
          },
        },
      }),
    });
    await insert(bare, subscriptionOf("wh_1"));
    const leases: Lease[] = [];
    for (const name of ALL.map(partitionLease)) {
      leases.push((await bare.leases.acquire({ name, holder: "other", durationMs: 60_000 }))!);
    }
    worker.start();
    await pass(3_000);
    // The other partitions stay with their holder.
    await bare.leases.release(leases.splice(partitionOf("wh_1"), 1));
    await pass(10_000);
    assert.ok(hasFailed);
    await owe(2, "wh_1");
    await pass(5_000);
    assert.equal(postedTo("wh_1").length, 2);
    await worker.stop({ drainMs: 0 });
  });
}

test("a worker that keeps crashing leaves the others their shares", async () => {
  for (const livesSeconds of [1, 2, 9]) {
    const { join, pass, kill, shares } = await sharedStage();
    join("m");
    join("n");
    await pass(20);
    assert.deepEqual(shares(), [4, 4]);
    const held: number[] = [];
    for (let start = 0; start < 30; start++) {
      const dying = join(`${"abcdefghijklmnopqrstuvwxyz"[start * 7 % 26]}${start}`);
      await pass(livesSeconds);
      kill(dying);
      await pass(1);
      held.push(shares().reduce((sum, one) => sum + one));
    }
    assert.ok(Math.min(...held) === 8, `of 8 partitions ${held} were looked after`);
  }
});
