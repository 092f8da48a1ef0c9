import assert from "node:assert/strict";
import { test } from "node:test";
import type { Replay } from "../../lib/store/webhook_store.ts";
import { samplePosition, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  commitEvents,
  leaseAll,
  poisoned,
  sampleDelivery,
  settlement,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

function sampleReplay(id: string, subscriptionId: string, fields: Partial<Replay> = {}): Replay {
  return {
    id,
    subscriptionId,
    afterPosition: samplePosition(0),
    upToPosition: samplePosition(9),
    position: samplePosition(0),
    deliveries: 9,
    createdAtMs: START_MS,
    ...fields,
  };
}

export function replayContract({ store, openAgain, isPersistent }: Subject): void {
  const due = async (subscriptionId: string) =>
    (await store().dueDeliveries({ subscriptionId, nowMs: START_MS, limit: 200 })).map(({ delivery }) => delivery.id);

  test("listReplays answers the replays under way, ascending by creation", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    const replays = [
      sampleReplay("re_b", "wh_1", { createdAtMs: 20 }),
      sampleReplay("re_c", "wh_2", { createdAtMs: 10 }),
      sampleReplay("re_a", "wh_3", { createdAtMs: 20 }),
    ];
    for (const replay of replays) await store().insertReplay(replay);
    assert.deepEqual(await store().listReplays(100), [replays[1], replays[2], replays[0]]);
    assert.deepEqual(await store().listReplays(1), [replays[1]]);
    for (const limit of [0, 101]) await assert.rejects(store().listReplays(limit), RangeError);
  });

  test("a subscription has one replay at a time; one that is gone gets none", async () => {
    await subscribe(store(), "wh_1");
    const other = isPersistent ? await openAgain() : store();
    const outcomes = await Promise.allSettled([
      store().insertReplay(sampleReplay("re_1", "wh_1")),
      other.insertReplay(sampleReplay("re_2", "wh_1")),
    ]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await assert.rejects(store().insertReplay(sampleReplay("re_3", "wh_1")), storeError("exists", '"wh_1"'));
    await store().insertReplay(sampleReplay("re_4", "wh_9"));
    const replays = await store().listReplays(9);
    assert.equal(replays.length, 1);
    const [{ id, position }] = replays as [Replay];
    const step = { id, expectedPosition: position, position, done: true, deliveries: [] };
    assert.equal(await store().commitReplay(step), true);
    assert.deepEqual(await store().listReplays(9), []);
    await store().insertReplay(sampleReplay("re_3", "wh_1"));
  });

  test("commitReplay adds deliveries and moves the replay together, and removes it when it is done", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 4);
    await store().insertReplay(sampleReplay("re_1", "wh_1"));
    const again = (n: number) => sampleDelivery("wh_1", n, { id: `again-${n}` });
    const step = { id: "re_1", expectedPosition: samplePosition(0), position: samplePosition(2), done: false };
    assert.equal(await store().commitReplay({ ...step, deliveries: [again(1), again(2)] }), true);
    assert.deepEqual(await store().listReplays(9), [sampleReplay("re_1", "wh_1", { position: samplePosition(2) })]);
    assert.deepEqual(await due("wh_1"), ["again-1", "again-2"]);
    // Repeated it comes to nothing.
    assert.equal(await store().commitReplay({ ...step, deliveries: [again(1), again(3)] }), false);
    const last = { ...step, expectedPosition: samplePosition(2), position: samplePosition(4), done: true };
    assert.equal(await store().commitReplay({ ...last, deliveries: [again(2), again(3)] }), true);
    assert.deepEqual(await store().listReplays(9), []);
    assert.equal(await store().commitReplay({ ...last, deliveries: [again(4)] }), false);
    assert.deepEqual(await due("wh_1"), ["again-1", "again-2", "again-3"]);
    assert.equal((await store().backlog("wh_1")).pending, 3);
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([{ ...settlement(lease, 1, "delivered"), deliveryId: "again-1" }]);
    assert.equal((await store().backlog("wh_1")).pending, 2);
  });

  test("commitReplay that fails leaves nothing", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 2);
    await store().insertReplay(sampleReplay("re_1", "wh_1"));
    const step = { id: "re_1", expectedPosition: samplePosition(0), position: samplePosition(2), done: true };
    const deliveries = [sampleDelivery("wh_1", 1), poisoned(sampleDelivery("wh_1", 2), "attempts")];
    await assert.rejects(store().commitReplay({ ...step, deliveries }), /poisoned/);
    assert.deepEqual(await due("wh_1"), []);
    assert.deepEqual(await store().listReplays(9), [sampleReplay("re_1", "wh_1")]);
    const many = Array.from({ length: 201 }, () => sampleDelivery("wh_1", 1));
    await assert.rejects(store().commitReplay({ ...step, deliveries: many }), RangeError);
  });

  test("of two who carry on one replay, one commits", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 9);
    await store().insertReplay(sampleReplay("re_1", "wh_1"));
    const other = isPersistent ? await openAgain() : store();
    for (let n = 1; n <= 9; n++) {
      const step = (name: string) => ({
        id: "re_1",
        expectedPosition: samplePosition(n - 1),
        position: samplePosition(n),
        done: false,
        deliveries: [sampleDelivery("wh_1", n, { id: `${name}-${n}` })],
      });
      const outcomes = await Promise.all([store().commitReplay(step("a")), other.commitReplay(step("b"))]);
      assert.deepEqual(outcomes.toSorted(), [false, true]);
    }
    assert.equal((await due("wh_1")).length, 9);
  });
}
