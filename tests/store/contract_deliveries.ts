import assert from "node:assert/strict";
import { test } from "node:test";
import { append, appendMany, sampleEvent } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  freshProgress,
  progressOf,
  sampleFailed,
  sampleReplay,
  sampleSubscription,
  settle,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

export function deliveryContract({ store }: Subject): void {
  const retrying = async (subscriptionId: string, dueByMs?: number, limit = 200) =>
    (await store().deliveries.retrying({ subscriptionId, dueByMs, limit })).map(({ delivery }) => delivery.sequence);
  const ended = async (subscriptionId: string, before?: number, limit = 200) =>
    (await store().deliveries.ended({ subscriptionId, before, limit })).map(({ delivery }) => delivery.sequence);

  test("a new subscription begins at the end of the log, with nothing failed and no replay", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 3);
    await subscribe(store(), "wh_2");
    const [first, second] = await store().deliveries.readers({ limit: 9 });
    assert.deepEqual(first, { subscription: sampleSubscription("wh_1"), progress: freshProgress(0), replay: null });
    assert.deepEqual(second, { subscription: sampleSubscription("wh_2"), progress: freshProgress(3), replay: null });
    assert.deepEqual(await store().deliveries.reader("wh_2"), second);
    assert.equal(await store().deliveries.reader("wh_3"), undefined);
  });

  test("readers pages ascending by id, each with its own progress and replay", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) await subscribe(store(), id);
    await appendMany(store(), 1, 9);
    await store().deliveries.insertReplay(sampleReplay("rp_1", "a1"));
    await settle(
      store(),
      { subscriptionId: "a", cursor: 4, failingSinceMs: 7, failed: [sampleFailed(2, "retrying", { dueAtMs: 99 })] },
      { subscriptionId: "c", cursor: 9, failed: [sampleFailed(1, "dead"), sampleFailed(2, "rejected")] },
    );
    const readers = await store().deliveries.readers({ limit: 500 });
    assert.deepEqual(readers.map(({ subscription }) => subscription.id), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(readers.map(({ replay }) => replay?.id), [undefined, undefined, "rp_1", undefined, undefined]);
    assert.deepEqual(readers[1]!.progress, freshProgress(4, { failingSinceMs: 7, retrying: 1, nextDueAtMs: 99 }));
    assert.deepEqual(readers[4]!.progress, freshProgress(9, { rejected: 1, dead: 1 }));
    const page = await store().deliveries.readers({ after: "a", limit: 2 });
    assert.deepEqual(page, readers.slice(2, 4));
    assert.deepEqual(await store().deliveries.readers({ after: "c", limit: 2 }), []);
  });

  test("retrying answers what is due with its events, by due time and then sequence, and without a time all after a sequence", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await append(store(), ...[1, 2, 3, 4, 5, 6].map((n) => sampleEvent(10 - n, { amount: String(n) })));
    const due = [30, 10, 20, 10, 40, 10];
    await settle(store(), {
      subscriptionId: "wh_1",
      failed: due.map((dueAtMs, n) =>
        sampleFailed(n + 1, n === 5 ? "dead" : "retrying", { dueAtMs: n === 5 ? null : dueAtMs, attempts: n + 1 })
      ),
    }, { subscriptionId: "wh_2", failed: [sampleFailed(3, "retrying", { dueAtMs: 5 })] });
    const found = await store().deliveries.retrying({ subscriptionId: "wh_1", dueByMs: 20, limit: 200 });
    const failed = (sequence: number, dueAtMs: number) =>
      sampleFailed(sequence, "retrying", { attempts: sequence, dueAtMs });
    assert.deepEqual(found.map(({ delivery }) => delivery), [failed(2, 10), failed(4, 10), failed(3, 20)]);
    assert.deepEqual(
      found.map(({ event }) => event),
      [2, 4, 3].map((n) => ({ ...sampleEvent(10 - n, { amount: String(n) }), sequence: n })),
    );
    assert.deepEqual(await retrying("wh_1", 9), []);
    assert.deepEqual(await retrying("wh_1", 99, 2), [2, 4]);
    assert.deepEqual(await retrying("wh_1"), [1, 2, 3, 4, 5]);
    assert.deepEqual(await retrying("wh_1", undefined, 2), [1, 2]);
    const after = async (sequence: number, limit = 200) =>
      (await store().deliveries.retrying({ subscriptionId: "wh_1", after: sequence, limit }))
        .map(({ delivery }) => delivery.sequence);
    assert.deepEqual(await after(2), [3, 4, 5]);
    assert.deepEqual(await after(2, 2), [3, 4]);
    assert.deepEqual(await after(5), []);
    assert.deepEqual(await retrying("wh_2"), [3]);
    assert.deepEqual(await retrying("wh_3"), []);
  });

  test("ended answers what was rejected or is dead with its events, newest first, before a sequence, or one of the two", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    const states = ["dead", "rejected", "retrying", "dead", "dead", "rejected"] as const;
    const failed = states.map((state, n) => sampleFailed(n + 1, state, { attempts: n, failedAtMs: START_MS + n }));
    await settle(store(), { subscriptionId: "wh_1", failed }, {
      subscriptionId: "wh_2",
      failed: [sampleFailed(9, "dead")],
    });
    const found = await store().deliveries.ended({ subscriptionId: "wh_1", limit: 2 });
    assert.deepEqual(
      found,
      [6, 5].map((n) => ({
        delivery: failed[n - 1],
        event: { ...sampleEvent(n), sequence: n },
      })),
    );
    assert.deepEqual(await ended("wh_1"), [6, 5, 4, 2, 1]);
    assert.deepEqual(await ended("wh_1", 5), [4, 2, 1]);
    assert.deepEqual(await ended("wh_1", 5, 2), [4, 2]);
    assert.deepEqual(await ended("wh_1", 1), []);
    assert.deepEqual(await ended("wh_3"), []);
    const only = async (state: "rejected" | "dead", before?: number, limit = 200) =>
      (await store().deliveries.ended({ subscriptionId: "wh_1", state, before, limit }))
        .map(({ delivery }) => delivery.sequence);
    assert.deepEqual(await only("rejected"), [6, 2]);
    assert.deepEqual(await only("dead"), [5, 4, 1]);
    assert.deepEqual(await only("dead", 5, 1), [4]);
    assert.deepEqual(await only("rejected", 2), []);
  });

  test("clampDue brings back the due times that lie after a time, and says how many", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 5);
    const due = [10, 50, 20, 90].map((dueAtMs, n) => sampleFailed(n + 1, "retrying", { dueAtMs }));
    await settle(
      store(),
      { subscriptionId: "wh_1", failed: [...due, sampleFailed(5, "dead")] },
      { subscriptionId: "wh_2", failed: due },
    );
    const version = await store().subscriptions.version();
    assert.equal(await store().deliveries.clampDue("wh_1", 20), 2);
    const raised = await store().subscriptions.version();
    assert.ok(raised > version, "others hear of it");
    assert.equal(await store().deliveries.clampDue("wh_1", 20), 0);
    assert.equal(await store().deliveries.clampDue("wh_3", 20), 0);
    assert.equal(await store().subscriptions.version(), raised);
    assert.deepEqual(await retrying("wh_1", 20), [1, 2, 3, 4]);
    assert.deepEqual(await retrying("wh_2", 20), [1, 3]);
    assert.equal((await progressOf(store(), "wh_1")).nextDueAtMs, 10);
    assert.equal(await store().deliveries.clampDue("wh_1", 5), 4);
    assert.equal((await progressOf(store(), "wh_1")).nextDueAtMs, 5);
  });
}
