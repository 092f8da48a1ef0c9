import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openSqliteStore } from "../../lib/store/sqlite/store.ts";
import { sampleEvent, sampleKey, sampleState, sampleUndecoded } from "./samples.ts";
import { SCHEMA_1 } from "./schema_1.ts";
import { fanOut, leaseAll, sampleDelivery, sampleSubscription, settlement, START_MS } from "./webhook_samples.ts";

const directory = mkdtempSync(join(tmpdir(), "sqlite-schema-1-"));

/** A file as the first release left it, with something in every table. */
async function firstReleasesFile(name: string): Promise<string> {
  const path = join(directory, name);
  const database = await openSqlite(path);
  database.exec(`PRAGMA journal_mode = WAL; ${SCHEMA_1}`);
  const { contractId, txHash } = sampleEvent(1);
  const { raw } = sampleUndecoded(2);
  const rows: [string, (string | number | null)[]][] = [
    ["network", ["Test Network"]],
    ["api_key", ["a", "key a", "ab".repeat(32), "read,webhooks", 60, 0, "2026-11-01T00:00:00.000Z", null, null]],
    ["bucket", ["a", 1.5, 3]],
    ["event", [
      sampleEvent(1).position,
      "event-1",
      "escrow.funded",
      contractId,
      1_001,
      "2026-11-01T00:00:05Z",
      txHash,
      "d1",
      null,
      null,
      "7",
    ]],
    ["undecoded_event", [
      sampleUndecoded(2).position,
      "event-2",
      contractId,
      1_002,
      "2026-11-01T00:00:05Z",
      txHash,
      JSON.stringify(raw),
    ]],
    ["watcher", [1, JSON.stringify(sampleState(1_002))]],
    ["gap", [1, 5, 9, "2026-11-01T00:00:00Z"]],
    ["submission", ["ab", 1, 2]],
  ];
  for (const [table, values] of rows) {
    database.prepare(`INSERT INTO ${table} VALUES (${values.map(() => "?").join(", ")})`).run(...values);
  }
  database.close();
  return path;
}

describe("a file of the first release", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("keeps all its data when it is opened", async () => {
    const store = await openSqliteStore(await firstReleasesFile("data.db"));
    assert.equal(await store.boundNetwork(), "Test Network");
    assert.deepEqual(await store.getKey("a"), sampleKey("a", { scopes: ["read", "webhooks"], rate: 60 }));
    assert.deepEqual(await store.loadBuckets(), [{ keyId: "a", tokens: 1.5, updatedAtMs: 3 }]);
    assert.deepEqual(await store.readEvents({ limit: 9 }), [sampleEvent(1, { deviceHash: "d1", amount: "7" })]);
    assert.deepEqual(await store.undecodedEvents({ limit: 9 }), [sampleUndecoded(2)]);
    assert.deepEqual(await store.watcherState(), sampleState(1_002));
    assert.equal((await store.gaps()).length, 1);
    assert.deepEqual(await store.getSubmission("ab"), { hash: "ab", validUntil: 1, submittedAtMs: 2 });
    await store.close();
  });

  test("serves webhooks from then on, for the events it had", async () => {
    const path = await firstReleasesFile("webhooks.db");
    let store = await openSqliteStore(path);
    assert.equal(await store.fanOutCursor(), undefined);
    assert.equal(await store.subscriptionsVersion(), 0);
    await store.insertSubscription(sampleSubscription("wh_1", { keyId: "a" }), 100);
    await fanOut(store, [sampleDelivery("wh_1", 1)]);
    await store.close();
    store = await openSqliteStore(path);
    const lease = (await leaseAll(store)).get("wh_1")!;
    const due = await store.dueDeliveries({ subscriptionId: "wh_1", nowMs: START_MS, limit: 9 });
    assert.deepEqual(due.map(({ event }) => event), [sampleEvent(1, { deviceHash: "d1", amount: "7" })]);
    await store.settle([settlement(lease, 1, "delivered")]);
    assert.equal(await store.deleteKey("a"), true);
    assert.deepEqual(await store.listSubscriptions({ limit: 9 }), []);
    await store.close();
  });
});
