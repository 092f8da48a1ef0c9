import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleEvent, storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";
import type { Subject } from "./store_contract.ts";
import { dueOf, progressOf, START_MS } from "./webhook_samples.ts";

/** The contract between processes, and after a kill. */
export function killContract({ store, reopen, setting, newSetting, isPersistent, isShared }: Subject): void {
  if (!isPersistent) return;

  test("after kill -9 every event up to the cursor is delivered or stored as failed, and no commit is partial", async () => {
    const worker = startStoreProcess(setting(), "deliver-until-killed");
    await worker.said("delivered 300 wh_2");
    await worker.kill();
    for (const subscriptionId of ["wh_1", "wh_2"]) {
      const { cursor, retrying, nextDueAtMs } = await progressOf(store(), subscriptionId);
      assert.ok(cursor >= 300 && cursor % 10 === 0, `cursor ${cursor}`);
      assert.deepEqual([retrying, nextDueAtMs], [cursor / 10, START_MS + 10_000]);
      const kept = await store().deliveries.failed({ state: "retrying", subscriptionId, limit: 200 });
      assert.deepEqual(await dueOf(store(), subscriptionId), kept);
      const sequences = Array.from({ length: Math.min(200, cursor / 10) }, (_, n) => 10 * (n + 1));
      assert.deepEqual(kept.map(({ event }) => event.sequence), sequences);
      const [newest] = await store().deliveries.attempts(subscriptionId, { limit: 1 });
      assert.equal(newest!.ordinal, cursor);
    }
  });

  test("after kill -9 every commit is complete or absent, and answered commits are complete", async () => {
    const writer = startStoreProcess(setting(), "write-until-killed");
    await writer.said("written 30");
    await writer.kill();
    const { scannedLedger } = (await store().events.watcherState())!;
    assert.ok(scannedLedger >= 30);
    const events = await store().events.read({ filter: {}, order: "asc", limit: 1_000 });
    const wanted = Array.from({ length: 10 * scannedLedger }, (_, n) => ({ ...sampleEvent(n), sequence: n + 1 }));
    assert.deepEqual(events, wanted);
    assert.deepEqual(await store().events.bounds(), { last: 10 * scannedLedger, forgotten: 0 });
    for (let n = 1; n <= 30; n++) assert.equal((await store().submissions.get(`hash-${n}`))?.validUntil, n);
  });

  test("keys.version rises when another process inserts keys into a store that this one has locked", async () => {
    await store().holdForServing();
    const before = await store().keys.version();
    const other = startStoreProcess(setting(), "insert-keys");
    await other.said("done");
    assert.ok(await store().keys.version() > before);
    assert.equal((await store().keys.list({ limit: 99 })).length, 10);
    await other.kill();
  });

  test("processes that open a new store at the same time all succeed", async () => {
    const openers = [1, 2, 3].map(() => startStoreProcess(newSetting(), "open"));
    await Promise.all(openers.map((opener) => opener.said("done")));
    await Promise.all(openers.map((opener) => opener.kill()));
  });

  test(
    "another process can lock a locked store only after the lock holder was killed",
    { skip: isShared },
    async () => {
      await store().close();
      const holder = startStoreProcess(setting(), "hold");
      await holder.said("done");
      const mine = await reopen();
      await assert.rejects(mine.holdForServing(), storeError("locked"));
      await holder.kill();
      await mine.holdForServing();
    },
  );
}
