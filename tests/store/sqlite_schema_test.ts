// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { migrate, schemaVersion } from "../../lib/store/sqlite/schema.ts";
import { sampleKey, storeError } from "./samples.ts";

const directory = mkdtempSync(join(tmpdir(), "sqlite-schema-"));

describe("the sqlite store's schema", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("a file of a newer version is rejected and left unchanged", async () => {
    const path = join(directory, "newer.db");
    await (await openStore(`sqlite:${path}`)).close();
    const database = await openSqlite(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    const before = readFileSync(path);
    await assert.rejects(openStore(`sqlite:${path}`), storeError("newer_schema", path, "99", "newer version"));
    assert.deepEqual(readFileSync(path), before);
  });

  test("another program's database is rejected and left unchanged", async () => {
    const path = join(directory, "foreign.db");
    const database = await openSqlite(path);
    database.exec("CREATE TABLE theirs (a)");
    database.close();
    const before = readFileSync(path);
    await assert.rejects(openStore(`sqlite:${path}`), storeError("unavailable", path, "another program"));
    assert.deepEqual(readFileSync(path), before);
  });

  test("a file that is no database is rejected and left unchanged", async () => {
    const path = join(directory, "text.db");
    writeFileSync(path, "To whom it may concern: this is not a database. ".repeat(20));
    await assert.rejects(openStore(`sqlite:${path}`), storeError("unavailable", path, "not a SQLite database"));
    assert.match(readFileSync(path, "utf8"), /^To whom/);
  });

  test("an empty file becomes a store", async () => {
    const path = join(directory, "empty.db");
    writeFileSync(path, "");
    const store = await openStore(`sqlite:${path}`);
    await store.keys.insert(sampleKey("a"));
    await store.close();
  });

  test("is made completely or not at all when the disk has room for a part", async () => {
    const database = await openSqlite(join(directory, "no-room.db"));
    // All of it needs about 45 pages of 4 KB.
    database.exec("PRAGMA max_page_count = 30");
    assert.throws(() => migrate(database), /full/);
    assert.equal(schemaVersion(database), 0);
    assert.deepEqual(database.prepare("SELECT name FROM sqlite_schema").all(), []);
    database.exec("PRAGMA max_page_count = 1000");
    migrate(database);
    assert.ok(Number(database.prepare("PRAGMA page_count").get()!.page_count) > 30);
    database.close();
  });

  test("the file is in WAL mode, so that readers and a writer do not wait for one another", async () => {
    const path = join(directory, "durable.db");
    const store = await openStore(`sqlite:${path}`);
    const database = await openSqlite(path);
    assert.deepEqual(database.prepare("PRAGMA journal_mode").get(), { journal_mode: "wal" });
    database.close();
    await store.close();
  });

  test("a key that is changed by hand is noticed by keys.version", async () => {
    const path = join(directory, "by-hand.db");
    const store = await openStore(`sqlite:${path}`);
    await store.keys.insert(sampleKey("a"));
    const before = await store.keys.version();
    const database = await openSqlite(path);
    database.exec("UPDATE api_key SET disabled = 1 WHERE id = 'a'");
    database.close();
    assert.ok(await store.keys.version() > before);
    assert.equal((await store.keys.get("a"))?.disabled, true);
    await store.close();
  });
});
