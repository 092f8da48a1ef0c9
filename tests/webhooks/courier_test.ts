import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as othersTurn } from "node:timers/promises";
import type { Store } from "../../lib/store/store.ts";
import type { CourierLimits } from "../../lib/webhooks/lane.ts";
import { createCourier } from "../../lib/webhooks/courier.ts";
import { createTestClock } from "../events/parts.ts";
import {
  type Answer,
  commitEvents,
  eventAt,
  failingStore,
  insert,
  memoryStore,
  type Posted,
  scriptedAttempts,
  START_MS,
  subscriptionOf,
} from "./parts.ts";

interface Options {
  limits?: Partial<CourierLimits>;
  isKeyEnabled?: (keyId: string) => boolean;
  store?: (store: Store) => Store;
  retryMs?: number;
}

/** A courier on a clock that stands still, and endpoints that answer as `answer` says. */
async function fixture(answer: (post: Posted) => Answer, options: Options = {}) {
  const bare = await memoryStore();
  const store = options.store?.(bare) ?? bare;
  const clock = createTestClock(START_MS);
  const script = scriptedAttempts(clock.now, answer, options.retryMs);
  const problems: string[] = [];
  const courier = createCourier({
    store,
    attempt: script.attempt,
    isKeyEnabled: (keyId) => Promise.resolve(options.isKeyEnabled?.(keyId) ?? true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: (event) => ({ id: event.id, type: event.type!, json: "{}" }),
    now: clock.now,
    wait: clock.wait,
    onProblem: (message) => problems.push(message),
    limits: options.limits,
    gatherMs: 1,
  });

  /** Lets so much time pass, in small steps, so that everything has its turn. */
  async function pass(ms: number, stepMs = 10): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      for (let turn = 0; turn < 20; turn++) await othersTurn();
      clock.advance(Math.min(stepMs, ms - passed));
    }
    for (let turn = 0; turn < 20; turn++) await othersTurn();
  }

  let ledger = 100;
  /** Owes so many events, each a ledger later, to each of these subscriptions. */
  async function owe(count: number, ...ids: string[]): Promise<void> {
    for (const id of ids) {
      if (await bare.getSubscription(id) === undefined) {
        await insert(bare, subscriptionOf(id, { keyId: `key_of_${id}` }));
      }
    }
    const events = Array.from({ length: count }, () => eventAt(++ledger));
    await commitEvents(bare, events, ledger);
    for (const event of events) {
      const expected = await bare.fanOutCursor();
      const dueAtMs = Math.max(clock.now(), expected?.lastDueAtMs ?? 0);
      for (let from = 0; from < ids.length; from += 200) {
        await bare.commitFanOut({
          expected: await bare.fanOutCursor(),
          cursor: {
            position: event.position,
            subscriptionId: ids[Math.min(from + 199, ids.length - 1)]!,
            lastDueAtMs: dueAtMs,
          },
          deliveries: ids.slice(from, from + 200).map((subscriptionId) => ({
            id: event.position,
            subscriptionId,
            position: event.position,
            attempts: 0,
            dueAtMs,
            createdAtMs: dueAtMs,
          })),
        });
      }
    }
    courier.wake(ids);
  }

  const postedTo = (id: string) => script.posted.filter(({ subscriptionId }) => subscriptionId === id);
  return { store: bare, clock, courier, script, problems, pass, owe, postedTo };
}

const hangs = () => new Promise<never>(() => {});
/** Answers after so many milliseconds of the clock. */
const after = (clock: () => { wait(ms: number): Promise<void> }, ms: number) => async () => {
  await clock().wait(ms);
  return "delivered" as const;
};

test("what is due is posted at once, in the ledger's order, and written down", async () => {
  const { store, courier, owe, pass, postedTo } = await fixture(() => "delivered");
  courier.start();
  await pass(100);
  await owe(20, "wh_1");
  await pass(50);
  assert.deepEqual(
    postedTo("wh_1").map(({ eventId }) => eventId),
    Array.from({ length: 20 }, (_, n) => eventAt(101 + n).id),
  );
  assert.equal((await store.backlog()).pending, 0);
  assert.equal((await store.listAttempts("wh_1", { limit: 200 })).length, 20);
  await courier.stop({ drainMs: 0 });
});

test("a failed delivery is tried again when its time has come, and not before", async () => {
  let answers: ("retry" | "delivered")[] = ["retry", "delivered"];
  const { store, courier, owe, pass, script, clock } = await fixture(() => answers.shift()!);
  courier.start();
  await owe(1, "wh_1");
  await pass(4_900);
  assert.equal(script.posted.length, 1);
  await pass(300);
  assert.deepEqual(script.posted.map(({ attempt }) => attempt), [1, 2]);
  assert.ok(script.posted[1]!.atMs - START_MS <= 5_150, "not later than needed either");
  assert.equal((await store.backlog()).pending, 0);
  answers = ["delivered"];
  const asleep = clock.pauses.length;
  await pass(60_000, 1_000);
  assert.ok(clock.pauses.length - asleep < 50, "with nothing due it hardly ever looks");
  await courier.stop({ drainMs: 0 });
});

test("posts to one endpoint are few at once, and to all of them bounded", async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `wh_${n}`);
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const made = await fixture(after(() => held.clock, 30), { limits: { posts: 64, postsPerLane: 8 } });
  held.clock = made.clock;
  const perLane = new Map<string, number>();
  made.courier.start();
  await made.owe(30, ...ids);
  await made.pass(3_000);
  for (const { subscriptionId } of made.script.posted) {
    perLane.set(subscriptionId, (perLane.get(subscriptionId) ?? 0) + 1);
  }
  assert.equal(made.script.mostInFlight(), 64);
  assert.ok(ids.every((id) => perLane.get(id) === 30), "all of them got everything, once");
  assert.equal((await made.store.backlog()).pending, 0);
  await made.courier.stop({ drainMs: 0 });
});

test("100 hanging endpoints do not keep the others waiting", async () => {
  const hanging = Array.from({ length: 100 }, (_, n) => `wh_hangs_${n}`);
  const well = Array.from({ length: 20 }, (_, n) => `wh_well_${n}`);
  const made = await fixture(
    ({ subscriptionId }) => subscriptionId.startsWith("wh_hangs") ? hangs() : "delivered",
    { limits: { posts: 64, troubledPosts: 16 } },
  );
  made.courier.start();
  await made.owe(20, ...hanging);
  await made.pass(3_000);
  await made.owe(20, ...well);
  await made.pass(200);
  for (const id of well) assert.equal(made.postedTo(id).length, 20, id);
  await made.courier.stop({ drainMs: 0 });
  assert.equal((await made.store.backlog()).pending, 2_000, "what hung is still owed");
});

test("what is new for an endpoint with a slow post under way does not wait for it", async () => {
  let count = 0;
  const made = await fixture(() => ++count === 3 ? hangs() : "delivered", { limits: { slowMs: 60_000 } });
  made.courier.start();
  await made.owe(3, "wh_1");
  await made.pass(100);
  assert.equal(made.script.inFlight(), 1);
  await made.owe(1, "wh_1");
  await made.pass(50);
  assert.equal(made.script.posted.length, 4);
  await made.courier.stop({ drainMs: 0 });
});

test("an endpoint that keeps failing is left in peace for longer and longer, and found alive within seconds", async () => {
  let isDown = true;
  const made = await fixture(() => isDown ? "retry" : "delivered", { retryMs: 3_600_000 });
  made.courier.start();
  await made.owe(200, "wh_1");
  await made.pass(60_000, 50);
  assert.ok(made.script.posted.length < 30, `${made.script.posted.length} posts in a minute`);
  isDown = false;
  const before = made.script.posted.length;
  await made.pass(6_000, 50);
  assert.equal(made.script.posted.length, 200, `${before} before it was up again`);
  assert.equal(made.script.posted[before]!.eventId, eventAt(101 + before).id);
  await made.courier.stop({ drainMs: 0 });
});

test("deliveries of a disabled key are held and go on when it is enabled", async () => {
  const enabled = new Set(["key_of_wh_other"]);
  const made = await fixture(() => "delivered", { isKeyEnabled: (id) => enabled.has(id) });
  made.courier.start();
  await made.owe(3, "wh_1", "wh_other");
  await made.pass(10_000, 50);
  assert.equal(made.postedTo("wh_1").length, 0);
  assert.equal(made.postedTo("wh_other").length, 3);
  assert.equal((await made.store.backlog("wh_1")).pending, 3);
  enabled.add("key_of_wh_1");
  await made.pass(3_000, 50);
  assert.equal(made.postedTo("wh_1").length, 3);
  await made.courier.stop({ drainMs: 0 });
});

test("a key that is disabled in the midst of a long queue is heeded within a second or so", async () => {
  let isEnabled = true;
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const made = await fixture(after(() => held.clock, 200), { isKeyEnabled: () => isEnabled });
  held.clock = made.clock;
  made.courier.start();
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
  await made.courier.stop({ drainMs: 0 });
});

test("a subscription deleted while its posts are under way gets nothing more", async () => {
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const made = await fixture(after(() => held.clock, 200));
  held.clock = made.clock;
  made.courier.start();
  await made.owe(100, "wh_1");
  await made.pass(500);
  await made.store.deleteSubscription("wh_1");
  await made.pass(1_500);
  const posted = made.script.posted.length;
  await made.pass(10_000, 50);
  assert.ok(posted < 100);
  assert.equal(made.script.posted.length, posted);
  assert.deepEqual(made.problems, []);
  await made.courier.stop({ drainMs: 0 });
});

test("a store that cannot be written to for a while loses nothing and repeats nothing", async () => {
  let fails = false;
  const made = await fixture(() => "delivered", { store: (store) => failingStore(store, "settle", () => fails) });
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
  const made = await fixture(() => "delivered", {
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
  const made = await fixture(
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
  const made = await fixture(() => hangs(), {
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
  const quick = after(() => held.clock, 100);
  const made = await fixture(({ subscriptionId }) => subscriptionId === "wh_hangs" ? hangs() : quick());
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

test("with more subscriptions due than lanes, all of them have their turn", async () => {
  const busy = Array.from({ length: 10 }, (_, n) => `wh_a_${n}`);
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const made = await fixture(after(() => held.clock, 400), { limits: { lanes: 10, postsPerLane: 1, slowMs: 1_000 } });
  held.clock = made.clock;
  made.courier.start();
  await made.owe(150, ...busy);
  await made.pass(1_000, 20);
  await made.owe(1, "wh_late");
  await made.pass(12_000, 50);
  assert.equal(made.postedTo("wh_late").length, 1);
  assert.ok(made.script.posted.length > 100, "the others went on");
  await made.courier.stop({ drainMs: 0 });
});

test("two couriers on one store deliver everything once", async () => {
  const made = await fixture(() => "delivered");
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
