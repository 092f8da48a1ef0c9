import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailedDelivery } from "../../lib/store/webhook.ts";
import { append, appendMany, sampleEvent } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  endedOf,
  freshProgress,
  sampleFailed,
  sampleReplay,
  sampleSubscription,
  settle,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

export function deliveryContract({ store }: Subject): void {
  const only = async (state: FailedDelivery["state"], beyond?: number, limit = 200, subscriptionId = "wh_1") =>
    (await store().deliveries.failed({ subscriptionId, state, beyond, limit })).map(({ delivery }) =>
      delivery.sequence
    );
  const ended = async (subscriptionId: string, before?: number, limit = 200) =>
    (await endedOf(store(), { subscriptionId, before, limit })).map(({ delivery }) => delivery.sequence);

  test("a new subscription begins at the end of the log, with nothing failed and no replay", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 3);
    await subscribe(store(), "wh_2");
    const [first, second] = await store().deliveries.consumers({ limit: 9 });
    assert.deepEqual(first, { subscription: sampleSubscription("wh_1"), progress: freshProgress(0), replay: null });
    assert.deepEqual(second, { subscription: sampleSubscription("wh_2"), progress: freshProgress(3), replay: null });
    assert.deepEqual(await store().deliveries.consumer("wh_2"), second);
    assert.equal(await store().deliveries.consumer("wh_3"), undefined);
  });

  test("consumers returns pages ascending by id, each with its own progress and replay", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) await subscribe(store(), id);
    await appendMany(store(), 1, 9);
    await store().deliveries.insertReplay(sampleReplay("rp_1", "a1"));
    await settle(
      store(),
      { subscriptionId: "a", cursor: 4, failingSinceMs: 7, failed: [sampleFailed(2, "retrying", { dueAtMs: 99 })] },
      { subscriptionId: "c", cursor: 9, failed: [sampleFailed(1, "dead"), sampleFailed(2, "rejected")] },
    );
    const consumers = await store().deliveries.consumers({ limit: 500 });
    assert.deepEqual(consumers.map(({ subscription }) => subscription.id), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(consumers.map(({ replay }) => replay?.id), [undefined, undefined, "rp_1", undefined, undefined]);
    assert.deepEqual(consumers[1]!.progress, freshProgress(4, { failingSinceMs: 7, retrying: 1, nextDueAtMs: 99 }));
    assert.deepEqual(consumers[4]!.progress, freshProgress(9, { rejected: 1, dead: 1 }));
    const page = await store().deliveries.consumers({ after: "a", limit: 2 });
    assert.deepEqual(page, consumers.slice(2, 4));
    assert.deepEqual(await store().deliveries.consumers({ after: "c", limit: 2 }), []);
  });

  test("failed returns retrying deliveries with their events, by sequence, after one if given", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await append(store(), ...[1, 2, 3, 4].map((n) => sampleEvent(10 - n, { amount: String(n) })));
    const failed = [3, 1, 2].map((sequence) => sampleFailed(sequence, "retrying", { attempts: sequence }));
    await settle(store(), { subscriptionId: "wh_1", failed: [...failed, sampleFailed(4, "dead")] });
    const found = await store().deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 200 });
    assert.deepEqual(found.map(({ delivery }) => delivery), [failed[1], failed[2], failed[0]]);
    const events = [1, 2, 3].map((n) => ({ ...sampleEvent(10 - n, { amount: String(n) }), sequence: n }));
    assert.deepEqual(found.map(({ event }) => event), events);
    const retrying = (subscriptionId: string, after?: number, limit?: number) =>
      only("retrying", after, limit, subscriptionId);
    assert.deepEqual(await retrying("wh_1", undefined, 2), [1, 2]);
    assert.deepEqual(await retrying("wh_1", 1), [2, 3]);
    assert.deepEqual(await retrying("wh_1", 1, 1), [2]);
    assert.deepEqual(await retrying("wh_1", 3), []);
    assert.deepEqual(await retrying("wh_2"), []);
    assert.deepEqual(await retrying("wh_3"), []);
  });

  test("failed returns rejected or dead deliveries with their events, newest first, before a sequence if given", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    const states = ["dead", "rejected", "retrying", "dead", "dead", "rejected"] as const;
    const failed = states.map((state, n) => sampleFailed(n + 1, state, { attempts: n, failedAtMs: START_MS + n }));
    const other = { subscriptionId: "wh_2", failed: [sampleFailed(9, "dead")] };
    await settle(store(), { subscriptionId: "wh_1", failed }, other);
    const found = await endedOf(store(), { subscriptionId: "wh_1", limit: 2 });
    const wanted = [6, 5].map((n) => ({ delivery: failed[n - 1], event: { ...sampleEvent(n), sequence: n } }));
    assert.deepEqual(found, wanted);
    assert.deepEqual(await ended("wh_1"), [6, 5, 4, 2, 1]);
    assert.deepEqual(await ended("wh_1", 5), [4, 2, 1]);
    assert.deepEqual(await ended("wh_1", 5, 2), [4, 2]);
    assert.deepEqual(await ended("wh_1", 1), []);
    assert.deepEqual(await ended("wh_3"), []);
    assert.deepEqual(await only("rejected"), [6, 2]);
    assert.deepEqual(await only("dead"), [5, 4, 1]);
    assert.deepEqual(await only("dead", 5, 1), [4]);
    assert.deepEqual(await only("rejected", 2), []);
  });
}
