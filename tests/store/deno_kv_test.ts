import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openDenoKvStore } from "../../lib/store/deno_kv/store.ts";
import { openSqliteStore } from "../../lib/store/sqlite/store.ts";
import { sampleEvent, sampleKey, sampleState, storeError } from "./samples.ts";
import { describeStore } from "./store_contract.ts";
import { commitEvents, fanOut, leaseAll, sampleDelivery, START_MS, subscribe } from "./webhook_samples.ts";

function describeDenoKv(): void {
  const directory = mkdtempSync(join(tmpdir(), "deno-kv-"));

  describe("the Deno KV store", () => {
    after(() => rmSync(directory, { recursive: true }));

    test("a database that a newer version wrote is refused", async () => {
      const path = join(directory, "newer.kv");
      const kv = await openKv(path);
      await kv.set(["schema"], 99);
      kv.close();
      await assert.rejects(openDenoKvStore(path), storeError("newer_schema", path, "99", "newer version"));
    });

    test("a database of the first release keeps its data, and is not for that release any more", async () => {
      const path = join(directory, "schema-1.kv");
      const first = await openDenoKvStore(path);
      await first.keys.insert(sampleKey("a"));
      await first.commitEvents({ events: [sampleEvent(1)], state: sampleState(1) });
      await first.close();
      const kv = await openKv(path);
      await kv.set(["schema"], 1);
      const stores = await Promise.all([1, 2].map(() => openDenoKvStore(path)));
      for (const store of stores) {
        assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
        assert.deepEqual(await store.readEvents({ limit: 9 }), [sampleEvent(1)]);
        await store.close();
      }
      assert.equal((await kv.get(["schema"])).value, 2);
      kv.close();
    });

    test("a fan-out with a value that Deno KV refuses leaves nothing", async () => {
      const store = await openDenoKvStore(join(directory, "delivery-too-large.kv"));
      await subscribe(store, "wh_1");
      await commitEvents(store, 1, 2);
      const deliveries = [sampleDelivery("wh_1", 1), sampleDelivery("wh_1", 2, { id: "x".repeat(3_000) })];
      await assert.rejects(fanOut(store, deliveries), storeError("unavailable", "too large"));
      assert.equal(await store.fanOutCursor(), undefined);
      assert.equal((await store.backlog()).pending, 0);
      assert.deepEqual(await store.dueDeliveries({ subscriptionId: "wh_1", nowMs: START_MS, limit: 9 }), []);
      await store.close();
    });

    test("what a killed fan-out wrote ahead of its commit is not seen, and is no hindrance", async () => {
      const path = join(directory, "ahead.kv");
      const store = await openDenoKvStore(path);
      await subscribe(store, "wh_1");
      await commitEvents(store, 1, 2);
      const { id, position, attempts, dueAtMs, createdAtMs } = sampleDelivery("wh_1", 1);
      const kv = await openKv(path);
      await kv.set(["delivery", "wh_1", id], { position, attempts, dueAtMs, createdAtMs });
      await kv.set(["owed", position, id], [{ subscriptionId: "wh_1", id }]);
      kv.close();
      assert.deepEqual((await leaseAll(store)).size, 0);
      assert.equal((await store.backlog("wh_1")).pending, 0);
      await fanOut(store, [], sampleDelivery("wh_1", 1).position);
      assert.equal(await store.pruneEvents("2027-01-01T00:00:00Z"), 1);
      await fanOut(store, [sampleDelivery("wh_1", 1), sampleDelivery("wh_1", 2)]);
      assert.equal((await store.backlog("wh_1")).pending, 2);
      await store.close();
    });

    test("another program's database is refused", async () => {
      const path = join(directory, "foreign.kv");
      const kv = await openKv(path);
      await kv.set(["theirs"], 1);
      kv.close();
      await assert.rejects(openDenoKvStore(path), storeError("unavailable", path, "another program"));
    });

    test("a file of the sqlite store is refused and left alone", async () => {
      const path = join(directory, "gateway.db");
      await (await openSqliteStore(path)).close();
      const before = readFileSync(path);
      await assert.rejects(openDenoKvStore(path), storeError("unavailable", path, "not one of Deno KV"));
      assert.deepEqual(readFileSync(path), before);
    });

    test("a file of Deno KV is refused by the sqlite store", async () => {
      const path = join(directory, "gateway.kv");
      await (await openDenoKvStore(path)).close();
      await assert.rejects(openSqliteStore(path), storeError("unavailable", path, "another program"));
    });

    test("a slice with a value that Deno KV refuses leaves nothing", async () => {
      const store = await openDenoKvStore(join(directory, "too-large.kv"));
      const events = [sampleEvent(1), sampleEvent(2, { amount: "9".repeat(70_000) })];
      await assert.rejects(
        store.commitEvents({ events, state: sampleState(1) }),
        storeError("unavailable", "too large"),
      );
      assert.deepEqual(await store.readEvents({ limit: 9 }), []);
      assert.equal(await store.watcherState(), undefined);
      await store.close();
    });
  });

  describeStore("deno-kv", true, (name) => `deno-kv:${name}/gateway.kv`);
}

if (runtimeName === "deno") describeDenoKv();
