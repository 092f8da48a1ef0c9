import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { answersAfter, courierStage } from "./courier_stage.ts";
import { eventAt, START_MS } from "../parts.ts";

test("what is due is posted at once, in the ledger's order, and written down", async () => {
  const { store, courier, owe, pass, postedTo } = await courierStage(() => "delivered");
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
  const { store, courier, owe, pass, script, clock } = await courierStage(() => answers.shift()!);
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

test("deliveries of a disabled key are held and go on when it is enabled", async () => {
  const enabled = new Set(["key_of_wh_other"]);
  const made = await courierStage(() => "delivered", { isKeyEnabled: (id) => enabled.has(id) });
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
  const made = await courierStage(answersAfter(() => held.clock, 200), { isKeyEnabled: () => isEnabled });
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
  const made = await courierStage(answersAfter(() => held.clock, 200));
  held.clock = made.clock;
  made.courier.start();
  await made.owe(100, "wh_1");
  await made.pass(500);
  await made.store.subscriptions.delete("wh_1");
  await made.pass(1_500);
  const posted = made.script.posted.length;
  await made.pass(10_000, 50);
  assert.ok(posted < 100);
  assert.equal(made.script.posted.length, posted);
  assert.deepEqual(made.problems, []);
  await made.courier.stop({ drainMs: 0 });
});

test("what is written down while the store is slow to say what is due is not posted again", async () => {
  const held = {} as { clock: { wait(ms: number): Promise<void> } };
  const slow = (bare: Store): Store =>
    Object.create(bare, {
      dueDeliveries: {
        async value({ except = new Set(), limit, ...rest }: Parameters<Store["dueDeliveries"]>[0]) {
          const due = await bare.dueDeliveries({ ...rest, limit: limit + except.size });
          await held.clock.wait(15);
          return due.filter(({ delivery }) => !except.has(delivery.id)).slice(0, limit);
        },
      },
    });
  const made = await courierStage(answersAfter(() => held.clock, 5), { store: slow });
  held.clock = made.clock;
  made.courier.start();
  await made.owe(300, "wh_1");
  await made.pass(5_000);
  assert.equal((await made.store.backlog()).pending, 0);
  assert.equal(made.postedTo("wh_1").length, 300);
  await made.courier.stop({ drainMs: 0 });
});
