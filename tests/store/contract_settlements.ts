import assert from "node:assert/strict";
import { test } from "node:test";
import { FAILED_KEPT, type FailedDelivery, partitionOf } from "../../lib/store/webhook.ts";
import { appendMany, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  endedOf,
  failedAttempt,
  freshProgress,
  progressOf,
  sampleAttempt,
  sampleFailed,
  sampleReplay,
  settle,
  START_MS,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";

export function settlementContract({ store, anotherHandle, pass }: Subject): void {
  const kept = async (subscriptionId: string) => {
    const [retrying, ended] = [
      await store().deliveries.failed({ state: "retrying", subscriptionId, limit: 200 }),
      await endedOf(store(), { subscriptionId, limit: 200 }),
    ];
    return [...retrying, ...ended].map(({ delivery }) => delivery);
  };

  test("settle writes cursor, failed deliveries, attempts and failingSince of a subscription together", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 5);
    const failed = [sampleFailed(2, "retrying"), sampleFailed(3, "rejected"), sampleFailed(4, "dead")];
    const outcomes = ["retry", "rejected", "dead"] as const;
    const attempts = [sampleAttempt(1), ...outcomes.map((outcome, n) => failedAttempt(n + 2, outcome))];
    await settle(store(), { subscriptionId: "wh_1", cursor: 4, failed, failingSinceMs: START_MS, attempts });
    assert.deepEqual(
      await progressOf(store(), "wh_1"),
      freshProgress(4, { failingSinceMs: START_MS, retrying: 1, rejected: 1, dead: 1, nextDueAtMs: START_MS + 10_000 }),
    );
    assert.deepEqual(await kept("wh_1"), [failed[0], failed[2], failed[1]]);
    assert.equal((await store().deliveries.attempts("wh_1", { limit: 9 })).length, 4);
    assert.deepEqual(await progressOf(store(), "wh_2"), freshProgress(0));
  });

  test("settle never moves the cursor back, and keeps fields that a settlement leaves out", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 9);
    await settle(store(), { subscriptionId: "wh_1", cursor: 7, failingSinceMs: 5 });
    await settle(store(), { subscriptionId: "wh_1", cursor: 3 });
    await settle(store(), { subscriptionId: "wh_1", attempts: [sampleAttempt(1)] });
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(7, { failingSinceMs: 5 }));
    await settle(store(), { subscriptionId: "wh_1", failingSinceMs: null });
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(7));
  });

  test("a failed delivery replaces the stored one of its sequence, and settle deletes it after a success", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 3);
    const states: FailedDelivery["state"][] = ["retrying", "rejected", "dead"];
    const counts = (state?: FailedDelivery["state"]) =>
      freshProgress(0, {
        ...(state && { [state]: 1 }),
        ...(state === "retrying" && { nextDueAtMs: START_MS + 10_000 }),
      });
    for (const from of states) {
      for (const to of states) {
        const after = sampleFailed(2, to, { attempts: 2, failedAtMs: START_MS + 1 });
        await settle(store(), { subscriptionId: "wh_1", failed: [sampleFailed(2, from)] });
        assert.deepEqual(await progressOf(store(), "wh_1"), counts(from), `${from} → ${to}`);
        await settle(store(), { subscriptionId: "wh_1", failed: [after] });
        assert.deepEqual(await progressOf(store(), "wh_1"), counts(to), `${from} → ${to}`);
        assert.deepEqual(await kept("wh_1"), [after]);
        await settle(store(), { subscriptionId: "wh_1", delivered: [1, 2, 3] });
        assert.deepEqual(await progressOf(store(), "wh_1"), counts(), `${from} → ${to}`);
        assert.deepEqual(await kept("wh_1"), []);
      }
    }
  });

  test("settle rejects a failed delivery of a future event", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 3);
    await assert.rejects(settle(store(), { subscriptionId: "wh_1", failed: [sampleFailed(4, "dead")] }), RangeError);
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(0));
  });

  test("settle writes all settlements or none, under the leases of all their partitions", async () => {
    const other = await anotherHandle();
    const ids = Array.from({ length: 40 }, (_, n) => `wh_${n}`);
    assert.equal(new Set(ids.map(partitionOf)).size, 8);
    await subscribe(store(), ...ids);
    await appendMany(store(), 1, 3);
    const leases = await workerLeases(store(), ...ids);
    assert.equal(leases.length, 8);
    const settlements = ids.map((subscriptionId) => ({ subscriptionId, cursor: 2, attempts: [sampleAttempt(1)] }));
    await store().deliveries.settle({ leases, settlements });
    const consumers = await store().deliveries.consumers({ limit: 100 });
    assert.deepEqual(consumers.map(({ progress }) => progress.cursor), ids.map(() => 2));

    pass(60_000);
    await other.leases.acquire({ name: leases[5]!.name, holder: "another", durationMs: 60_000 });
    const later = settlements.map((one) => ({ ...one, cursor: 3 }));
    const settling = store().deliveries.settle({ leases, settlements: later });
    await assert.rejects(settling, storeError("fenced", leases[5]!.name));
    assert.deepEqual(await store().deliveries.consumers({ limit: 100 }), consumers);
  });

  test("settle skips a deleted subscription, and writes the other settlements", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 3);
    await store().subscriptions.delete("wh_1");
    const part = { cursor: 3, failed: [sampleFailed(1, "dead")], attempts: [sampleAttempt(1)] };
    await settle(store(), { subscriptionId: "wh_1", ...part }, { subscriptionId: "wh_2", ...part });
    assert.deepEqual(await progressOf(store(), "wh_2"), freshProgress(3, { dead: 1 }));
    await subscribe(store(), "wh_1");
    assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(3));
    assert.deepEqual(await kept("wh_1"), []);
    assert.deepEqual(await store().deliveries.attempts("wh_1", { limit: 9 }), []);
  });

  test("a settlement moves its replay, ends it when it is done, and ignores an unknown replay", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 9);
    await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"));
    const replayOf = async (id: string) => (await store().deliveries.consumer(id))!.replay;
    await settle(store(), { subscriptionId: "wh_1", replay: { id: "rp_1", cursor: 4, done: false } });
    assert.deepEqual(await replayOf("wh_1"), sampleReplay("rp_1", "wh_1", { cursor: 4 }));
    await settle(store(), { subscriptionId: "wh_1", replay: { id: "rp_0", cursor: 9, done: true } });
    await settle(store(), { subscriptionId: "wh_2", cursor: 5, replay: { id: "rp_1", cursor: 9, done: true } });
    assert.deepEqual(await replayOf("wh_1"), sampleReplay("rp_1", "wh_1", { cursor: 4 }));
    assert.equal((await progressOf(store(), "wh_2")).cursor, 5);
    const replay = { id: "rp_1", cursor: 9, done: true };
    await settle(store(), { subscriptionId: "wh_1", replay, failed: [sampleFailed(9, "retrying")] });
    assert.equal(await replayOf("wh_1"), null);
    assert.equal((await progressOf(store(), "wh_1")).retrying, 1);
  });

  test("one call writes its maximum of probes, also with a long response each", async () => {
    const ids = Array.from({ length: 81 }, (_, n) => `wh_${String(n).padStart(22, "0")}`);
    await subscribe(store(), ...ids);
    const attempt = { ...failedAttempt(1, "retry"), number: 0, responseBody: `—${"x".repeat(1_021)}` };
    await settle(store(), ...ids.map((subscriptionId) => ({ subscriptionId, attempts: [attempt, attempt] })));
    for (const id of [ids[0]!, ids[80]!]) {
      const wanted = [2, 1].map((ordinal) => ({ ...attempt, ordinal }));
      assert.deepEqual(await store().deliveries.attempts(id, { limit: 9 }), wanted);
    }
  });

  test("one call writes its maximum of attempts of one subscription, with a long response each", async () => {
    await subscribe(store(), "wh_1");
    const responseBody = `—${"x".repeat(1_021)}`;
    const attempts = Array.from({ length: 179 }, (_, n) => ({ ...failedAttempt(n, "retry"), responseBody }));
    await settle(store(), { subscriptionId: "wh_1", cursor: 0, failingSinceMs: 7, attempts });
    assert.equal((await progressOf(store(), "wh_1")).failingSinceMs, 7);
    for (const before of [180, 150, 101]) {
      const found = await store().deliveries.attempts("wh_1", { before, limit: 100 });
      assert.deepEqual(found, found.map((_, n) => ({ ...attempts[before - n - 2], ordinal: before - n - 1 })));
      assert.equal(found.length, 100);
    }
  });

  test(
    "the store keeps the newest rejected and the newest dead deliveries, and counts all",
    { timeout: 120_000 },
    async () => {
      const more = 150;
      await subscribe(store(), "wh_1");
      await appendMany(store(), 1, 2 * (FAILED_KEPT + more));
      for (let n = 0; n < 2 * (FAILED_KEPT + more); n += 200) {
        const count = Math.min(200, 2 * (FAILED_KEPT + more) - n);
        const failed = Array.from({ length: count }, (_, at) => sampleFailed(n + at + 1, at % 2 ? "dead" : "rejected"));
        await settle(store(), { subscriptionId: "wh_1", failed });
      }
      const all = FAILED_KEPT + more;
      assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(0, { rejected: all, dead: all }));
      const oldest = await endedOf(store(), { subscriptionId: "wh_1", before: 2 * more + 3, limit: 9 });
      assert.deepEqual(oldest.map(({ delivery }) => delivery.sequence), [2 * more + 2, 2 * more + 1]);
    },
  );
}
