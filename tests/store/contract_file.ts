import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleEvent, sampleKey, sampleState, storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";
import type { Subject } from "./store_contract.ts";

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

  test("a second holdForServing is refused until the first holder closes", async () => {
    const other = await openAgain();
    await store().holdForServing();
    await assert.rejects(other.holdForServing(), storeError("locked", store().location, "another gateway"));
    await store().close();
    await other.holdForServing();
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
