// needs: runtime
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { inspectStore } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import { sampleKey, storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();
let count = 0;
const fresh = () => mkdtempSync(join(directory, `${count++}-`));

describe("inspectStore", () => {
  for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
    test(`reports a ${scheme} store that does not exist, and creates none`, async () => {
      const folder = fresh();
      const { state, location, isServed, freeBytes } = await inspectStore(`${scheme}:${join(folder, "gateway.db")}`);
      assert.deepEqual([state, location, isServed], ["new", `${scheme}:${join(folder, "gateway.db")}`, false]);
      assert.ok(freeBytes > 0);
      assert.deepEqual(readdirSync(folder), []);
    });

    test(`reports the older schema of a ${scheme} store, and leaves the store unchanged`, async () => {
      const setting = `${scheme}:${join(fresh(), "gateway.db")}`;
      await (await openStore(setting)).close();
      for (const _ of [1, 2]) assert.equal((await inspectStore(setting, { "sqlite": 2, "deno-kv": 2 })).state, "older");
      await (await openStore(setting)).close();
    });

    test(`reports the size of a ${scheme} store, and whether a gateway serves from it`, async () => {
      const setting = `${scheme}:${join(fresh(), "gateway.db")}`;
      const store = await openStore(setting);
      await store.keys.insert(sampleKey("a"));
      const { state, bytes, isServed } = await inspectStore(setting);
      assert.deepEqual([state, isServed], ["current", false]);
      assert.ok(bytes > 0);
      await store.holdForServing();
      assert.equal((await inspectStore(setting)).isServed, true);
      assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
      await store.close();
      assert.equal((await inspectStore(setting)).isServed, false);
    });

    test(`leaves no lock of a ${scheme} store that no gateway has served from`, async () => {
      const folder = fresh();
      const setting = `${scheme}:${join(folder, "gateway.db")}`;
      await (await openStore(setting)).close();
      const before = readdirSync(folder);
      assert.equal((await inspectStore(setting)).isServed, false);
      assert.deepEqual(readdirSync(folder), before);
    });
  }

  test("rejects the same stores as serve, with the same message", async () => {
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

  test("reports that another process has locked the file", async () => {
    const path = join(fresh(), "gateway.db");
    await (await openStore(`sqlite:${path}`)).close();
    const other = await openSqlite(path);
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(inspectStore(`sqlite:${path}`), storeError("locked", path));
    other.exec("ROLLBACK");
    other.close();
  });

  test("reports nothing about a store without a file", async () => {
    assert.equal((await inspectStore("memory:")).state, "unbound");
  });
});
