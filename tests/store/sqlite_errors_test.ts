// needs: runtime
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openSqlite, type SqliteDatabase } from "../../lib/runtime/sqlite.ts";
import { checkedStore } from "../../lib/store/checked_store.ts";
import { openStore } from "../../lib/store/open.ts";
import { migrate } from "../../lib/store/sqlite/schema.ts";
import { createSqliteDriver } from "../../lib/store/sqlite/open.ts";
import { sampleEvent, sampleKey, sampleState, storeError, watcherLease } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();

/** A store on a database that the test can reach, without the time-out that makes writes wait for other processes. */
async function openBare(path: string, change: (database: SqliteDatabase) => SqliteDatabase = (same) => same) {
  const database = await openSqlite(path);
  database.exec("PRAGMA journal_mode = WAL");
  migrate(database);
  const hold = () => Promise.resolve({ release() {} });
  const store = checkedStore(createSqliteDriver(change(database), `sqlite:${path}`, {}, hold));
  return { database, store };
}

describe("errors of the sqlite store", () => {
  test("a full disk gives its own error and no partial write, and the store works again with room", async () => {
    const { database, store } = await openBare(join(directory, "full.db"));
    const lease = await watcherLease(store);
    const slice = (n: number) => ({
      lease,
      events: Array.from({ length: 100 }, (_, index) => sampleEvent(100 * n + index, { deviceHash: `d${index}` })),
      state: sampleState(n),
    });
    await store.events.append(slice(0));
    const pages = database.prepare("PRAGMA page_count").get()!.page_count as number;
    database.exec(`PRAGMA max_page_count = ${pages + 12}`);
    let written = 0;
    await assert.rejects(async () => {
      for (written = 0; written < 50; written++) await store.events.append(slice(written + 1));
    }, storeError("full", store.location, "Make room"));
    await assert.rejects(store.events.append(slice(written + 1)), storeError("full"));
    assert.equal(await store.events.count({ filter: {}, limit: 10_000 }), 100 * (written + 1));
    assert.deepEqual(await store.events.watcherState(), sampleState(written));

    database.exec("PRAGMA max_page_count = 100000");
    await store.events.append(slice(written + 1));
    assert.equal(await store.events.count({ filter: {}, limit: 10_000 }), 100 * (written + 2));
    assert.deepEqual(database.prepare("PRAGMA integrity_check").all(), [{ integrity_check: "ok" }]);
    await store.close();
  });

  test("a write lock of another process gives its own error, and reads continue", async () => {
    const { store } = await openBare(join(directory, "locked.db"));
    const other = await openSqlite(join(directory, "locked.db"));
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(store.keys.insert(sampleKey("a")), storeError("locked", store.location, "another process"));
    assert.equal(await store.keys.get("a"), undefined);
    other.exec("ROLLBACK");
    await store.keys.insert(sampleKey("a"));
    other.close();
    await store.close();
  });

  test("a damaged file gives its own error", async () => {
    const path = join(directory, "damaged.db");
    const store = await openStore(`sqlite:${path}`);
    await store.keys.insert(sampleKey("a"));
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill("damaged!", 4_096); // all pages but the first, which says what the file is
    writeFileSync(path, bytes);
    await assert.rejects(async () => {
      const again = await openStore(`sqlite:${path}`);
      await again.keys.get("a").finally(() => again.close());
    }, storeError("unavailable", path, "damaged", "backup"));
  });

  test("submissions that are recorded in one turn share one commit, and fail together", async () => {
    let commits = 0;
    let isBroken = false;
    const { store } = await openBare(":memory:", (database) => ({
      ...database,
      transaction(fn) {
        commits += 1;
        if (isBroken) throw new Error("broken");
        return database.transaction(fn);
      },
    }));
    const note = (n: number) => store.submissions.record({ hash: `hash-${n}`, validUntil: n, submittedAtMs: n });
    await Promise.all([note(1), note(2), note(3)]);
    assert.equal(commits, 1);
    isBroken = true;
    const outcomes = await Promise.allSettled([note(4), note(5)]);
    assert.deepEqual(outcomes.map(({ status }) => status), ["rejected", "rejected"]);
    assert.equal(commits, 2);
    isBroken = false;
    await note(4);
    assert.equal((await store.submissions.get("hash-4"))?.validUntil, 4);
    assert.equal(await store.submissions.get("hash-5"), undefined);
    await store.close();
  });
});
