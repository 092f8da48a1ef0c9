import assert from "node:assert/strict";
import { test } from "node:test";
import { storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { sampleSubscription } from "./webhook_samples.ts";

export function networkContract({ store, setting, openAgain, isPersistent }: Subject): void {
  test("a new store is bound to no network", async () => {
    assert.equal(await store().boundNetwork(), undefined);
  });

  test("bindNetwork binds for good and refuses another network, naming both", async () => {
    await store().bindNetwork("Test Network");
    await store().bindNetwork("Test Network");
    assert.equal(await store().boundNetwork(), "Test Network");
    await assert.rejects(
      store().bindNetwork("Public Network"),
      storeError("network_mismatch", "Test Network", "Public Network", store().location),
    );
    assert.equal(await store().boundNetwork(), "Test Network");
  });

  test("of two networks bound at once, one wins and the other is refused", async () => {
    const other = isPersistent ? await openAgain() : store();
    const outcomes = await Promise.allSettled([store().bindNetwork("A"), other.bindNetwork("B")]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const winner = outcomes[0]!.status === "fulfilled" ? "A" : "B";
    assert.equal(await store().boundNetwork(), winner);
  });

  test("location names the scheme and an absolute path", () => {
    assert.equal(store().location, setting());
  });

  test("holdForServing can be called again by its holder", async () => {
    await store().holdForServing();
    await store().holdForServing();
  });

  test("a closed store rejects every call as unavailable, and closing again does nothing", async () => {
    const closed = store();
    await closed.close();
    await closed.close();
    const calls: (() => Promise<unknown>)[] = [
      () => closed.boundNetwork(),
      () => closed.holdForServing(),
      () => closed.getKey("a"),
      () => closed.keysVersion(),
      () => closed.loadBuckets(),
      () => closed.pruneBuckets(1),
      () => closed.readEvents({ limit: 1 }),
      () => closed.gaps(),
      () => closed.recordSubmission({ hash: "a", validUntil: 1, submittedAtMs: 1 }),
      () => closed.getSubmission("a"),
      () => closed.insertSubscription(sampleSubscription("wh_1"), 1),
      () => closed.listSubscriptions({ limit: 1 }),
      () => closed.fanOutCursor(),
      () => closed.leaseSubscriptions({ nowMs: 1, leaseMs: 1, limit: 1 }),
      () => closed.settle([]),
      () => closed.backlog(),
      () => closed.listReplays(1),
      () => closed.pruneEvents(""),
      () => closed.purgeDeleted(),
    ];
    for (const call of calls) await assert.rejects(call(), storeError("unavailable", "closed", closed.location));
  });
}
