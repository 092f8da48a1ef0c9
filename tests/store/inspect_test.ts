// needs: runtime
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { inspectStore } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import { SCHEMA_VERSION } from "../../lib/store/sqlite/schema.ts";
import { makeFormerFile } from "./former_store.ts";
import { sampleKey, storeError } from "./samples.ts";

const directory = mkdtempSync(join(tmpdir(), "inspect-"));
let count = 0;
const fresh = () => mkdtempSync(join(directory, `${count++}-`));

describe("inspectStore", () => {
  after(() => rmSync(directory, { recursive: true }));

  for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
    test(`of a ${scheme} store that is not there says so, and makes none`, async () => {
      const folder = fresh();
      const { state, location, isServed, freeBytes } = await inspectStore(`${scheme}:${join(folder, "gateway.db")}`);
      assert.deepEqual([state, location, isServed], ["new", `${scheme}:${join(folder, "gateway.db")}`, false]);
      assert.ok(freeBytes > 0);
      assert.deepEqual(readdirSync(folder), []);
    });

    test(`of a ${scheme} store tells its schema, its size and whether a gateway serves from it`, async () => {
      const setting = `${scheme}:${join(fresh(), "gateway.db")}`;
      const store = await openStore(setting);
      await store.keys.insert(sampleKey("a"));
      const { state, schema, bytes, isServed } = await inspectStore(setting);
      assert.deepEqual([state, isServed], ["current", false]);
      assert.equal(schema!.found, schema!.newest);
      assert.ok(bytes > 0);
      await store.holdForServing();
      assert.equal((await inspectStore(setting)).isServed, true);
      assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
      await store.close();
      assert.equal((await inspectStore(setting)).isServed, false);
    });

    test(`of a ${scheme} store that no gateway has served from leaves no lock behind`, async () => {
      const folder = fresh();
      const setting = `${scheme}:${join(folder, "gateway.db")}`;
      await (await openStore(setting)).close();
      const before = readdirSync(folder);
      assert.equal((await inspectStore(setting)).isServed, false);
      assert.deepEqual(readdirSync(folder), before);
    });
  }

  test("of a store of an older schema leaves it as it is", async () => {
    const path = join(fresh(), "gateway.db");
    await makeFormerFile(path, 1);
    const before = readFileSync(path);
    const { state, schema } = await inspectStore(`sqlite:${path}`);
    assert.deepEqual([state, schema], ["older", { found: 1, newest: SCHEMA_VERSION }]);
    const again = await openSqlite(path);
    assert.equal(again.prepare("PRAGMA user_version").get()?.user_version, 1);
    again.close();
    assert.equal(readFileSync(path).length, before.length);
  });

  if (runtimeName === "deno") {
    test("of a Deno KV of an older schema leaves it as it is", async () => {
      const path = join(fresh(), "gateway.kv");
      await (await openStore(`deno-kv:${path}`)).close();
      const kv = await openKv(path);
      await kv.set(["schema"], 1);
      assert.equal((await inspectStore(`deno-kv:${path}`)).state, "older");
      assert.equal((await kv.get(["schema"])).value, 1);
      kv.close();
    });
  }

  test("refuses what serve would refuse, in its words", async () => {
    const folder = fresh();
    const inspect = (name: string) => inspectStore(`sqlite:${join(folder, name)}`);
    await assert.rejects(inspect("none/gateway.db"), storeError("unavailable", "there is no directory"));
    writeFileSync(join(folder, "text"), "To whom it may concern: this is not a database. ".repeat(20));
    await assert.rejects(inspect("text"), storeError("unavailable", "not a SQLite database"));
    mkdirSync(join(folder, "folder.db"));
    await assert.rejects(inspect("folder.db"), storeError("unavailable"));
    const foreign = await openSqlite(join(folder, "foreign.db"));
    foreign.exec("CREATE TABLE theirs (a)");
    foreign.close();
    await assert.rejects(inspect("foreign.db"), storeError("unavailable", "another program"));
    await (await openStore(`sqlite:${join(folder, "newer.db")}`)).close();
    const newer = await openSqlite(join(folder, "newer.db"));
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    await assert.rejects(inspect("newer.db"), storeError("newer_schema", "99"));
  });

  test("tells that another process has locked the file, where a write would fail", async () => {
    const path = join(fresh(), "gateway.db");
    await (await openStore(`sqlite:${path}`)).close();
    const other = await openSqlite(path);
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(inspectStore(`sqlite:${path}`), storeError("locked", path));
    other.exec("ROLLBACK");
    other.close();
  });

  test("of a store that is no file has nothing to say", async () => {
    assert.equal((await inspectStore("memory:")).state, "unbound");
  });
});
