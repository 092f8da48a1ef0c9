import assert from "node:assert/strict";
import { test } from "node:test";
import { createCourier } from "../../../lib/webhooks/delivery/courier.ts";
import { answersAfter, courierStage, hangs } from "./courier_stage.ts";
import { failingStore } from "../parts.ts";

test("a store that cannot be written to for a while loses nothing and repeats nothing", async () => {
  let fails = false;
  const made = await courierStage(() => "delivered", { store: (store) => failingStore(store, "settle", () => fails) });
  made.courier.start();
  fails = true;
  await made.owe(30, "wh_1");
  await made.pass(5_000, 50);
  assert.equal((await made.store.backlog()).pending, 30);
  fails = false;
  await made.pass(2_000, 50);
  assert.equal((await made.store.backlog()).pending, 0);
  assert.equal(made.script.posted.length, 30);
  assert.deepEqual(made.problems, ["attempts cannot be written down; trying on"]);
  await made.courier.stop({ drainMs: 0 });
});

test("a store that cannot be read for a while delays what is due", async () => {
  let fails = true;
  const made = await courierStage(() => "delivered", {
    store: (store) => failingStore(store, "dueDeliveries", () => fails),
  });
  made.courier.start();
  await made.owe(5, "wh_1");
  await made.pass(3_000, 50);
  fails = false;
  await made.pass(6_000, 50);
  assert.equal(made.script.posted.length, 5);
  await made.courier.stop({ drainMs: 0 });
});

test("leases are prolonged while a post is under way", async () => {
  let answerIt: (() => void) | undefined;
  const made = await courierStage(
    () => new Promise<"delivered">((resolve) => answerIt = () => resolve("delivered")),
    { limits: { leaseMs: 5_000 } },
  );
  made.courier.start();
  await made.owe(1, "wh_1");
  await made.pass(30_000, 100);
  assert.equal(made.script.posted.length, 1);
  assert.deepEqual(await made.store.leaseSubscriptions({ nowMs: made.clock.now(), leaseMs: 1_000, limit: 10 }), []);
  answerIt!();
  await made.pass(100);
  assert.equal((await made.store.backlog()).pending, 0);
  await made.courier.stop({ drainMs: 0 });
});

test("a courier that lost its lease settles nothing, and the next one delivers", async () => {
  const made = await courierStage(() => hangs(), {
    limits: { leaseMs: 5_000 },
    store: (store) => failingStore(store, "renewLeases", () => true),
  });
  made.courier.start();
  await made.owe(2, "wh_1");
  await made.pass(4_900, 100);
  assert.equal((await made.store.leaseSubscriptions({ nowMs: made.clock.now(), leaseMs: 60_000, limit: 1 })).length, 0);
  const others = await made.store.leaseSubscriptions({ nowMs: made.clock.now() + 200, leaseMs: 60_000, limit: 1 });
  assert.equal(others.length, 1);
  await made.pass(1_000);
  assert.equal((await made.store.backlog()).pending, 2);
  await made.courier.stop({ drainMs: 0 });
});

test("a stop lets quick posts end, cuts off those that hang, and gives every lease back", async () => {
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const quick = answersAfter(() => held.clock, 100);
  const made = await courierStage(({ subscriptionId }) => subscriptionId === "wh_hangs" ? hangs() : quick());
  held.clock = made.clock;
  made.courier.start();
  await made.owe(1, "wh_quick", "wh_hangs");
  await made.pass(20);
  const stopped = made.courier.stop({ drainMs: 3_000 });
  await made.pass(4_000, 50);
  await stopped;
  assert.equal((await made.store.backlog("wh_quick")).pending, 0);
  assert.equal((await made.store.backlog("wh_hangs")).pending, 1);
  const free = await made.store.leaseSubscriptions({ nowMs: made.clock.now(), leaseMs: 1_000, limit: 10 });
  assert.deepEqual(free.map(({ subscriptionId }) => subscriptionId), ["wh_hangs"]);
  assert.equal(
    (await made.store.listAttempts("wh_hangs", { limit: 10 })).length,
    0,
    "nothing is said of what was cut off",
  );
});

test("two couriers on one store deliver everything once", async () => {
  const made = await courierStage(() => "delivered");
  const other = createCourier({
    store: made.store,
    attempt: made.script.attempt,
    isKeyEnabled: () => Promise.resolve(true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: (event) => ({ id: event.id, type: event.type!, json: "{}" }),
    now: made.clock.now,
    wait: made.clock.wait,
    onProblem: () => {},
    gatherMs: 1,
  });
  const ids = Array.from({ length: 150 }, (_, n) => `wh_${n}`);
  made.courier.start();
  other.start();
  await made.owe(5, ...ids);
  other.wake(ids);
  await made.pass(3_000, 20);
  assert.equal(made.script.posted.length, 750);
  assert.equal((await made.store.backlog()).pending, 0);
  await Promise.all([made.courier.stop({ drainMs: 0 }), other.stop({ drainMs: 0 })]);
});
