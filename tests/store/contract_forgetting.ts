import assert from "node:assert/strict";
import { test } from "node:test";
import { append, appendMany, sampleEvent, sampleId } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { endedOf, freshProgress, progressOf, sampleFailed, settle, subscribe } from "./webhook_samples.ts";

export function forgettingContract({ store }: Subject): void {
  const forget = (upTo: number, ...undelivered: { subscriptionId: string; cursor: number; events: number }[]) =>
    store().events.forget({ upTo, undelivered });
  const sequences = async (filter = {}) =>
    (await store().events.read({ filter, order: "asc", limit: 1_000 })).map(({ sequence }) => sequence);

  test("forget deletes the events up to a sequence for every filter, and other events keep their sequences", async () => {
    const fields = { deviceHash: "ab".repeat(32), merchant: "GM", agent: "GA" };
    await append(store(), ...Array.from({ length: 9 }, (_, n) => sampleEvent(n + 1, fields)));
    assert.equal(await forget(4), true);
    assert.deepEqual(await store().events.bounds(), { last: 9, forgotten: 4 });
    const filters = [
      {},
      { types: ["escrow.funded"] },
      { txHash: "cd".repeat(32) },
      { merchant: "GM" },
      { agent: "GA" },
      { deviceHash: fields.deviceHash },
    ];
    for (const filter of filters) {
      assert.deepEqual(await sequences(filter), [5, 6, 7, 8, 9]);
      assert.equal(await store().events.count({ filter, limit: 99 }), 5);
    }
    assert.equal(await store().events.get(sampleId(4)), undefined);
    assert.equal((await store().events.get(sampleId(5)))?.sequence, 5);
    assert.equal(await forget(4), true, "again changes nothing");
    assert.equal(await forget(2), true);
    assert.deepEqual(await store().events.bounds(), { last: 9, forgotten: 4 });
  });

  test("sequences continue after all events are deleted, and late events are still recognised", async () => {
    await appendMany(store(), 1, 5);
    await forget(5);
    assert.deepEqual(await store().events.bounds(), { last: 5, forgotten: 5 });
    assert.deepEqual(await sequences(), []);
    assert.equal(await store().events.before(1_003), 5);
    const added = await append(store(), sampleEvent(3), sampleEvent(9), sampleEvent(2));
    assert.deepEqual(added.map(({ sequence }) => sequence), [6, 7, 8]);
    assert.deepEqual(await sequences({ toHeight: 1_003 }), [6, 8]);
    assert.deepEqual(await sequences({ fromHeight: 1_003 }), [6, 7]);
    assert.deepEqual(await sequences({ fromHeight: 1_003, toHeight: 1_003 }), [6]);
  });

  test("reads by height find the remaining events after some are deleted", async () => {
    const order = [1, 2, 5, 3, 8, 4, 8, 6, 9, 7];
    const idOf = (n: number, at: number) => sampleId(n, 0).replace(/.{10}$/, String(at).padStart(10, "0"));
    await append(store(), ...order.map((n, at) => sampleEvent(n, { id: idOf(n, at) })));
    for (let upTo = 0; upTo <= order.length; upTo++) {
      await forget(upTo);
      for (let n = 0; n <= 10; n++) {
        const [height, left] = [1_000 + n, order.map((at, index) => ({ at, sequence: index + 1 })).slice(upTo)];
        const from = left.filter(({ at }) => at >= n).map(({ sequence }) => sequence);
        const to = left.filter(({ at }) => at <= n).map(({ sequence }) => sequence);
        assert.deepEqual(await sequences({ fromHeight: height }), from, `from ${n} after ${upTo}`);
        assert.deepEqual(await sequences({ toHeight: height }), to, `to ${n} after ${upTo}`);
        const before = await store().events.before(height);
        const isBelow = from.every((sequence) => sequence > before);
        assert.ok(before >= upTo && before <= 10 && isBelow, `before ${n} after ${upTo}`);
      }
    }
  });

  test("forget deletes at most 200 sequences at once, and no sequence after the log's end", async () => {
    await appendMany(store(), 1, 450);
    for (const upTo of [201, 1.5, NaN]) await assert.rejects(forget(upTo), RangeError);
    assert.equal(await forget(200), true);
    assert.equal(await forget(400), true);
    await assert.rejects(forget(451), RangeError);
    assert.deepEqual(await store().events.bounds(), { last: 450, forgotten: 400 });
    assert.equal((await sequences()).length, 50);
  });

  test("forget deletes failed deliveries with their events, and counts retrying ones as dead", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    const failed = (["retrying", "rejected", "dead", "retrying", "retrying"] as const)
      .map((state, n) => sampleFailed(n + 1, state, { dueAtMs: state === "retrying" ? n : null }));
    await settle(store(), { subscriptionId: "wh_1", cursor: 5, failed }, {
      subscriptionId: "wh_2",
      cursor: 9,
      failed: [sampleFailed(4, "retrying"), sampleFailed(9, "rejected")],
    });
    await forget(4);
    const wanted = freshProgress(5, { retrying: 1, rejected: 1, dead: 3, nextDueAtMs: 4 });
    assert.deepEqual(await progressOf(store(), "wh_1"), wanted);
    assert.deepEqual(await progressOf(store(), "wh_2"), freshProgress(9, { rejected: 1, dead: 1 }));
    const left = await store().deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 9 });
    assert.deepEqual(left.map(({ delivery }) => delivery.sequence), [5]);
    assert.deepEqual(await endedOf(store(), { subscriptionId: "wh_1", limit: 9 }), []);
    assert.equal((await endedOf(store(), { subscriptionId: "wh_2", limit: 9 })).length, 1);
  });

  test("forget counts undelivered events as dead, and moves the cursors of the consumers", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await appendMany(store(), 1, 9);
    await settle(store(), { subscriptionId: "wh_2", cursor: 3 }, { subscriptionId: "wh_3", cursor: 9 });
    const consumers = [
      { subscriptionId: "wh_1", cursor: 0, events: 6 },
      { subscriptionId: "wh_2", cursor: 3, events: 0 },
      { subscriptionId: "gone", cursor: 1, events: 5 },
    ];
    assert.equal(await forget(6, ...consumers), true);
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(6, { dead: 6 }));
    assert.deepEqual(await progressOf(store(), "wh_2"), freshProgress(6));
    assert.deepEqual(await progressOf(store(), "wh_3"), freshProgress(9));
  });

  test("forget writes nothing and returns false when one of the consumers has moved", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    await settle(store(), { subscriptionId: "wh_2", cursor: 3, failed: [sampleFailed(2, "retrying")] });
    const consumer = (subscriptionId: string, cursor: number, events: number) => ({ subscriptionId, cursor, events });
    const consumers = [consumer("wh_1", 0, 6), consumer("wh_2", 2, 4)];
    const before = await store().deliveries.consumers({ limit: 9 });
    assert.equal(await forget(6, ...consumers), false);
    assert.deepEqual(await store().deliveries.consumers({ limit: 9 }), before);
    assert.deepEqual(await store().events.bounds(), { last: 9, forgotten: 0 });
    assert.equal((await sequences()).length, 9);
  });

  test("several steps can name the consumers, and forget deletes no event before the last step", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    await settle(store(), { subscriptionId: "wh_2", cursor: 2, failed: [sampleFailed(2, "retrying")] });
    const undelivered = (subscriptionId: string, cursor: number) => ({ subscriptionId, cursor, events: 3 });
    assert.equal(await store().events.forget({ upTo: 6, undelivered: [undelivered("wh_1", 0)], areMore: true }), true);
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(6, { dead: 3 }));
    assert.deepEqual(await store().events.bounds(), { last: 9, forgotten: 0 });
    assert.equal((await progressOf(store(), "wh_2")).retrying, 1);
    assert.equal(await forget(6, undelivered("wh_2", 2)), true);
    assert.deepEqual(await progressOf(store(), "wh_2"), freshProgress(6, { dead: 4 }));
    assert.deepEqual(await store().events.bounds(), { last: 9, forgotten: 6 });
  });

  test("settle ignores a failed delivery of a deleted event, which already counts as dead", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 5);
    await settle(store(), { subscriptionId: "wh_1", cursor: 5 });
    await forget(3);
    const failed = [sampleFailed(2, "retrying"), sampleFailed(3, "rejected"), sampleFailed(4, "retrying")];
    await settle(store(), { subscriptionId: "wh_1", failed });
    const progress = await progressOf(store(), "wh_1");
    assert.deepEqual([progress.retrying, progress.rejected, progress.dead], [1, 0, 0]);
    assert.equal((await store().deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 9 })).length, 1);
  });
}
