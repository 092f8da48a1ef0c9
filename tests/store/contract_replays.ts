import assert from "node:assert/strict";
import { test } from "node:test";
import { heightOf } from "../../lib/store/event.ts";
import { storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { sampleReplay, settle, subscribe } from "./webhook_samples.ts";

export function replayContract({ store, anotherHandle }: Subject): void {
  const replayOf = async (id: string) => (await store().deliveries.consumer(id))?.replay;

  test("a replay comes with its subscription, and with every field", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    const full = sampleReplay("rp_1", "wh_1", {
      fromHeight: heightOf(9_999, 1),
      toHeight: heightOf(9_999, 0x7fff_ffff),
      cursor: 77,
      endSequence: null,
      deliveries: 10_000,
      atLeast: true,
    });
    await store().deliveries.insertReplay(full);
    assert.deepEqual(await replayOf("wh_1"), full);
    assert.equal(await replayOf("wh_2"), null);
  });

  test("a subscription has one replay at a time, also when several are added at once", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    const other = await anotherHandle();
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map((n) => (n % 2 ? store() : other).deliveries.insertReplay(sampleReplay(`rp_${n}`, "wh_1"))),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    const { id } = (await replayOf("wh_1"))!;
    await assert.rejects(store().deliveries.insertReplay(sampleReplay("rp_9", "wh_1")), storeError("exists", '"wh_1"'));
    await store().deliveries.insertReplay(sampleReplay("rp_9", "wh_2"));
    await settle(store(), { subscriptionId: "wh_1", replay: { id, cursor: 9, done: true } });
    await store().deliveries.insertReplay(sampleReplay("rp_8", "wh_1"));
    assert.equal((await replayOf("wh_1"))?.id, "rp_8");
  });

  test("insertReplay returns `missing` for a deleted subscription", async () => {
    await subscribe(store(), "wh_1");
    await store().subscriptions.delete("wh_1");
    assert.equal(await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1")), "missing");
    await subscribe(store(), "wh_1");
    assert.equal(await replayOf("wh_1"), null);
    assert.equal(await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1")), "written");
  });

  test("a new replay raises subscriptions.version; its progress and its end do not", async () => {
    await subscribe(store(), "wh_1");
    const before = await store().subscriptions.version();
    await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"));
    const raised = await store().subscriptions.version();
    assert.ok(raised > before);
    await assert.rejects(store().deliveries.insertReplay(sampleReplay("rp_2", "wh_1")));
    await settle(store(), { subscriptionId: "wh_1", replay: { id: "rp_1", cursor: 4, done: false } });
    await settle(store(), { subscriptionId: "wh_1", replay: { id: "rp_1", cursor: 9, done: true } });
    assert.equal(await store().subscriptions.version(), raised);
  });
}
