// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSqlite, SQLITE, type SqliteDatabase, SqliteError } from "../../lib/runtime/sqlite.ts";

const directory = mkdtempSync(join(tmpdir(), "runtime-sqlite-"));

function withCode(code: number): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof SqliteError, `expected a SqliteError, got ${error}`);
    assert.equal(error.code, code, error.message);
    return true;
  };
}

async function openWithTable(): Promise<SqliteDatabase> {
  const database = await openSqlite(":memory:");
  database.exec("CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d REAL) STRICT; CREATE TABLE u (a INTEGER PRIMARY KEY)");
  return database;
}

describe("openSqlite", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("returns stored values: numbers, text, bytes and null", async () => {
    const database = await openWithTable();
    const insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
    const rows = [
      { a: Number.MAX_SAFE_INTEGER, b: "süß 🛒", c: new Uint8Array([0, 1, 255]), d: 1.5 },
      { a: -1, b: "", c: new Uint8Array(0), d: 2 },
      { a: null, b: null, c: null, d: null },
    ];
    for (const { a, b, c, d } of rows) assert.deepEqual(insert.run(a, b, c, d), { changes: 1 });
    assert.deepEqual(database.prepare("SELECT * FROM t").all(), rows);
    assert.deepEqual(database.prepare("SELECT * FROM t WHERE a = ?").get(-1n), rows[1]);
    database.close();
  });

  test("returns undefined for a missing row, an empty list without rows, and the number of changed rows", async () => {
    const database = await openWithTable();
    assert.equal(database.prepare("SELECT * FROM u").get(), undefined);
    assert.deepEqual(database.prepare("SELECT * FROM u").all(), []);
    assert.deepEqual(database.prepare("INSERT INTO u VALUES (1), (2), (3)").run(), { changes: 3 });
    assert.deepEqual(database.prepare("DELETE FROM u WHERE a > ?").run(1), { changes: 2 });
    assert.deepEqual(database.prepare("DELETE FROM u WHERE a > ?").run(1), { changes: 0 });
    database.close();
  });

  test("rejects text with a NUL character, at which one of the runtimes would cut it", async () => {
    const database = await openWithTable();
    assert.throws(() => database.prepare("INSERT INTO t (b) VALUES (?)").run("a\0b"), TypeError);
    database.close();
  });

  test("commits a transaction and returns the result of its function", async () => {
    const database = await openWithTable();
    assert.equal(database.transaction(() => database.prepare("INSERT INTO u VALUES (7)").run().changes), 1);
    assert.deepEqual(database.prepare("SELECT a FROM u").all(), [{ a: 7 }]);
    database.close();
  });

  test("rolls a transaction back when its function throws, and can start another one", async () => {
    const database = await openWithTable();
    const insert = database.prepare("INSERT INTO u VALUES (?)");
    assert.throws(() =>
      database.transaction(() => {
        insert.run(1);
        throw new Error("stop");
      }), /^Error: stop$/);
    assert.throws(() =>
      database.transaction(() => {
        insert.run(2);
        insert.run(2);
      }), withCode(SQLITE.constraint));
    assert.deepEqual(database.prepare("SELECT a FROM u").all(), []);
    database.transaction(() => insert.run(3));
    assert.deepEqual(database.prepare("SELECT a FROM u").all(), [{ a: 3 }]);
    database.close();
  });

  test("rejects a nested transaction, and a transaction whose function returns a promise", async () => {
    const database = await openWithTable();
    const insert = database.prepare("INSERT INTO u VALUES (?)");
    assert.throws(() =>
      database.transaction(() => {
        insert.run(1);
        database.transaction(() => insert.run(2));
      }), /do not nest/);
    assert.throws(() =>
      database.transaction(() => {
        insert.run(3);
        return Promise.resolve();
      }), /must be synchronous/);
    assert.deepEqual(database.prepare("SELECT a FROM u").all(), []);
    database.close();
  });

  test("rejects a write transaction as busy while another connection has one", async () => {
    const path = join(directory, "busy.db");
    const [one, other] = [await openSqlite(path), await openSqlite(path)];
    one.exec("CREATE TABLE u (a)");
    one.transaction(() => {
      assert.throws(() => other.transaction(() => {}), withCode(SQLITE.busy));
      assert.throws(() => other.exec("INSERT INTO u VALUES (1)"), withCode(SQLITE.busy));
    });
    other.transaction(() => {});
    one.close();
    other.close();
  });

  test("throws errors with SQLite's result code at every call", async () => {
    const database = await openWithTable();
    assert.throws(() => database.prepare("INSERT INTO t (a) VALUES (?)").run("text"), withCode(SQLITE.constraint));
    assert.throws(() => database.exec("nonsense"), SqliteError);
    assert.throws(() => database.prepare("nonsense"), SqliteError);
    database.close();
    await assert.rejects(openSqlite(join(directory, "no", "such.db")), withCode(SQLITE.cannotOpen));
  });

  test("opens an existing database read-only, and rejects writes to it", async () => {
    const path = join(directory, "read-only.db");
    const writer = await openSqlite(path);
    writer.exec("CREATE TABLE u (a); INSERT INTO u VALUES (1)");
    writer.close();
    const reader = await openSqlite(path, { readOnly: true });
    assert.deepEqual(reader.prepare("SELECT a FROM u").all(), [{ a: 1 }]);
    assert.throws(() => reader.prepare("INSERT INTO u VALUES (2)").run(), withCode(SQLITE.readOnly));
    reader.close();
    await assert.rejects(openSqlite(join(directory, "missing.db"), { readOnly: true }), withCode(SQLITE.cannotOpen));
  });

  test("releases the file's locks at close while statements are in use, and accepts a second close", async () => {
    const path = join(directory, "close.db");
    const one = await openSqlite(path);
    one.exec("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE u (a); INSERT INTO u VALUES (1), (2)");
    one.prepare("SELECT a FROM u").get();
    one.close();
    one.close();
    const other = await openSqlite(path);
    assert.equal(other.prepare("SELECT a FROM u").all().length, 2);
    other.close();
  });
});
