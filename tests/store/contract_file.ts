import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import { sampleEvent, sampleKey, samplePosition, sampleState, storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";
import type { Subject } from "./store_contract.ts";
import { commitEvents, fanOut, leaseAll, sampleDelivery, settlement, START_MS, subscribe } from "./webhook_samples.ts";

/** What holds for a store that outlives its process. */
export function fileContract({ store, openAgain, setting, isPersistent }: Subject): void {
  if (!isPersistent) return;

  test("everything is there again after the store is closed and opened", async () => {
    await store().bindNetwork("Test Network");
    await store().insertKey(sampleKey("a"));
    const version = await store().keysVersion();
    await store().saveBuckets([{ keyId: "a", tokens: 1.5, updatedAtMs: 3 }]);
    await store().commitEvents({ events: [sampleEvent(1)], state: sampleState(1_001) });
    await store().recordSubmission({ hash: "ab", validUntil: 1, submittedAtMs: 2 });
    await store().close();

    const again = await openAgain();
    assert.equal(await again.boundNetwork(), "Test Network");
    assert.deepEqual(await again.getKey("a"), sampleKey("a"));
    assert.equal(await again.keysVersion(), version);
    assert.deepEqual(await again.loadBuckets(), [{ keyId: "a", tokens: 1.5, updatedAtMs: 3 }]);
    assert.deepEqual(await again.readEvents({ limit: 9 }), [sampleEvent(1)]);
    assert.deepEqual(await again.watcherState(), sampleState(1_001));
    assert.deepEqual(await again.getSubmission("ab"), { hash: "ab", validUntil: 1, submittedAtMs: 2 });
  });

  test("what webhooks keep is there again after the store is closed and opened", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 3);
    await fanOut(store(), [1, 2, 3].map((n) => sampleDelivery("wh_1", n)));
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 1, "delivered"), settlement(lease, 2, "dead")]);
    await store().insertReplay({
      id: "re_1",
      subscriptionId: "wh_2",
      afterPosition: samplePosition(0),
      upToPosition: samplePosition(3),
      position: samplePosition(1),
      deliveries: 3,
      createdAtMs: START_MS,
    });
    await store().resealSecrets({ secrets: [], check: "check" });
    const state = async (of: Store) => [
      await of.listSubscriptions({ limit: 9 }),
      await of.subscriptionsVersion(),
      await of.fanOutCursor(),
      await of.dueDeliveries({ subscriptionId: "wh_1", nowMs: START_MS, limit: 9 }),
      await of.listAttempts("wh_1", { limit: 9 }),
      await of.backlog(),
      await of.listReplays(9),
      await of.secretsCheck(),
      await of.nextDueAtMs(),
    ];
    const before = await state(store());
    await store().close();
    const again = await openAgain();
    assert.deepEqual(await state(again), before);
    // A lease outlives the handle that took it.
    assert.equal((await leaseAll(again)).size, 0);
    await again.settle([settlement(lease, 3, "delivered")]);
    assert.equal((await again.backlog()).pending, 0);
  });

  test("after kill -9 everything fanned out is delivered or pending, and what was settled stays settled", async () => {
    const courier = startStoreProcess(setting(), "deliver-until-killed");
    await courier.said("delivered 20 wh_2");
    await courier.kill();
    const cursor = (await store().fanOutCursor())!;
    for (const id of ["wh_1", "wh_2"]) {
      const due = await store().dueDeliveries({ subscriptionId: id, nowMs: START_MS, limit: 200 });
      const attempts = await store().listAttempts(id, { limit: 200 });
      const all = [...attempts.map(({ eventId }) => eventId), ...due.map(({ event }) => event.position)].sort();
      assert.equal(all.at(-1), cursor.position);
      assert.deepEqual(all, all.map((_, n) => samplePosition(n)));
      assert.ok(attempts.length >= 20);
      assert.equal((await store().backlog(id)).pending, due.length);
    }
    // Its leases end, and others go on.
    const pending = (await store().backlog()).pending;
    let found = 0;
    for (const { subscriptionId } of (await leaseAll(store(), START_MS + 60_000)).values()) {
      found += (await store().dueDeliveries({ subscriptionId, nowMs: START_MS, limit: 200 })).length;
    }
    assert.equal(found, pending);
  });

  test("a second holdForServing is refused until the first holder closes", async () => {
    const other = await openAgain();
    await store().holdForServing();
    await assert.rejects(other.holdForServing(), storeError("locked", store().location, "another gateway"));
    await store().close();
    await other.holdForServing();
  });

  test("who holds the store for serving finds nothing leased: what a killed gateway had leased is free at once", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await commitEvents(store(), 1, 3);
    await fanOut(store(), ["wh_1", "wh_2", "wh_3"].map((id) => sampleDelivery(id, 1)));
    const leases = await leaseAll(store());
    await store().releaseLease(leases.get("wh_2")!, { notBeforeMs: START_MS + 7_000 });
    await store().settle([settlement(leases.get("wh_3")!, 1, "delivered")]);
    const survivor = await openAgain();
    await survivor.holdForServing();
    assert.equal(await survivor.nextDueAtMs(), START_MS);
    const again = await leaseAll(survivor);
    assert.deepEqual([...again.keys()], ["wh_1"], "what was held back stays so, what is owed nothing is not leased");
    assert.deepEqual(await survivor.renewLeases([leases.get("wh_1")!], START_MS + 99_000), []);
    await survivor.settle([settlement(leases.get("wh_1")!, 1, "delivered")]);
    assert.equal((await survivor.backlog("wh_1")).pending, 1, "the killed one's lease writes nothing any more");
    // Only the first hold of a handle means that nobody else serves.
    await survivor.holdForServing();
    assert.equal((await leaseAll(survivor)).size, 0);
    assert.deepEqual([...(await leaseAll(survivor, START_MS + 7_000)).keys()], ["wh_2"]);
  });

  test("a lease of a deleted subscription is no hindrance to holding the store", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 1);
    await fanOut(store(), [sampleDelivery("wh_1", 1)]);
    await leaseAll(store());
    await store().deleteSubscription("wh_1");
    await store().holdForServing();
    assert.equal(await store().nextDueAtMs(), undefined);
  });

  test("keys that another process inserts while this one holds the store are seen through keysVersion", async () => {
    await store().holdForServing();
    const before = await store().keysVersion();
    const other = startStoreProcess(setting(), "insert-keys");
    await other.said("done");
    assert.ok(await store().keysVersion() > before);
    assert.equal((await store().listKeys({ limit: 99 })).length, 10);
    await other.kill();
  });

  test("processes that open a new store at the same time all get it", async () => {
    const openers = [1, 2, 3].map(() => startStoreProcess(`${setting()}.new`, "open"));
    await Promise.all(openers.map((opener) => opener.said("done")));
    await Promise.all(openers.map((opener) => opener.kill()));
  });

  test("another process cannot hold a store that is held, and can once its holder was killed", async () => {
    await store().close();
    const holder = startStoreProcess(setting(), "hold");
    await holder.said("done");
    const mine = await openAgain();
    await assert.rejects(mine.holdForServing(), storeError("locked"));
    await holder.kill();
    await mine.holdForServing();
  });

  test("what was committed is there after kill -9, and nothing of a commit is there in part", async () => {
    const writer = startStoreProcess(setting(), "write-until-killed");
    await writer.said("written 30");
    await writer.kill();
    const { scannedLedger } = (await store().watcherState())!;
    assert.ok(scannedLedger >= 30);
    const events = await store().readEvents({ limit: 1_000 });
    assert.deepEqual(events, Array.from({ length: 10 * scannedLedger }, (_, n) => sampleEvent(n)));
    for (let n = 1; n <= 30; n++) assert.equal((await store().getSubmission(`hash-${n}`))?.validUntil, n);
  });
}
