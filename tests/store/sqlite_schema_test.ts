// needs: runtime
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { migrate, schemaVersion } from "../../lib/store/sqlite/schema.ts";
import type { StoreErrorKind } from "../../lib/store/store.ts";
import { sampleKey, storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();

/** Changes by another program to a database. */
async function change(path: string, statements: string): Promise<void> {
  const database = await openSqlite(path);
  database.exec(statements);
  database.close();
}

describe("the sqlite store's schema", () => {
  const newer = async (path: string) => {
    await (await openStore(`sqlite:${path}`)).close();
    await change(path, "PRAGMA user_version = 99");
  };
  const text = (path: string) => writeFile(path, "To whom it may concern: this is not a database. ".repeat(20));
  const REJECTED: [what: string, make: (path: string) => Promise<void>, kind: StoreErrorKind, ...says: string[]][] = [
    ["a file of a newer version", newer, "newer_schema", "99", "newer version"],
    ["another program's database", (path) => change(path, "CREATE TABLE theirs (a)"), "unavailable", "another program"],
    ["a file that is not a database", text, "unavailable", "not a SQLite database"],
  ];
  for (const [what, make, kind, ...says] of REJECTED) {
    test(`${what} is rejected and left unchanged`, async () => {
      const path = join(directory, `${what}.db`);
      await make(path);
      const before = readFileSync(path);
      await assert.rejects(openStore(`sqlite:${path}`), storeError(kind, path, ...says));
      assert.deepEqual(readFileSync(path), before);
    });
  }

  test("an empty file becomes a store", async () => {
    const path = join(directory, "empty.db");
    writeFileSync(path, "");
    const store = await openStore(`sqlite:${path}`);
    await store.keys.insert(sampleKey("a"));
    await store.close();
  });

  test("is created completely or not at all when the disk has too little room", async () => {
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

  test("keys.version rises when an operator changes a key by hand", async () => {
    const path = join(directory, "by-hand.db");
    const store = await openStore(`sqlite:${path}`);
    await store.keys.insert(sampleKey("a"));
    const before = await store.keys.version();
    await change(path, "UPDATE api_key SET disabled = 1 WHERE id = 'a'");
    assert.ok(await store.keys.version() > before);
    assert.equal((await store.keys.get("a"))?.disabled, true);
    await store.close();
  });
});
