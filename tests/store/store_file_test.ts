// needs: runtime
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { inspectStore } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import { ensureStoreFile } from "../../lib/store/file/store_file.ts";
import { sampleKey, storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();
const schemes = runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"];

describe("the file of a store", () => {
  for (const scheme of schemes) {
    test(`${scheme}: is readable by its owner only, and so are the files next to it`, async () => {
      const path = join(directory, `${scheme}-mode`);
      const store = await openStore(`${scheme}:${path}`);
      await store.holdForServing();
      await store.keys.insert(sampleKey("a"));
      for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-lock`]) {
        assert.equal((statSync(file).mode & 0o777).toString(8), "600", file);
      }
      await store.close();
    });

    test(`${scheme}: is readable by its owner only also when a link points to the new file`, async () => {
      const [link, target] = [join(directory, `${scheme}-dangling`), join(directory, `${scheme}-target`)];
      symlinkSync(`${scheme}-target`, link);
      const store = await openStore(`${scheme}:${link}`);
      await store.keys.insert(sampleKey("a"));
      assert.equal((statSync(target).mode & 0o777).toString(8), "600");
      await store.close();
    });

    test(`${scheme}: behind a link to a missing directory gives an error that names the link`, async () => {
      const link = join(directory, `${scheme}-nowhere`);
      symlinkSync(join(directory, "no", "such", "gateway.db"), link);
      await assert.rejects(openStore(`${scheme}:${link}`), storeError("unavailable", link));
    });

    test(`${scheme}: in a missing directory gives an error that names the directory`, async () => {
      const missing = join(directory, "no", "such");
      await assert.rejects(openStore(`${scheme}:${missing}/gateway.db`), storeError("unavailable", missing));
    });

    test(`${scheme}: cannot be a directory`, async () => {
      await assert.rejects(openStore(`${scheme}:${directory}`), storeError("unavailable", directory, "directory"));
    });

    test(`${scheme}: is not created with mustExist`, async () => {
      const folder = mkdtempSync(join(directory, "missing-"));
      for (const name of ["gateway", "no/such/gateway"]) {
        const opening = openStore(`${scheme}:${join(folder, name)}`, { mustExist: true });
        await assert.rejects(opening, storeError("missing", join(folder, name), "gateway keygen", "--store"));
      }
      assert.deepEqual(readdirSync(folder), []);
      await (await openStore(`${scheme}:${folder}/gateway`)).close();
      await (await openStore(`${scheme}:${folder}/gateway`, { mustExist: true })).close();
    });

    test(`${scheme}: counts as missing when it is empty, and can be created`, async () => {
      const folder = mkdtempSync(join(directory, "empty-"));
      writeFileSync(join(folder, "empty"), "");
      // Earlier versions left this after a start on a full disk: a file in WAL mode without a table.
      const database = await openSqlite(join(folder, "header"));
      database.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; COMMIT");
      database.close();
      assert.ok(statSync(join(folder, "header")).size > 0);
      for (const name of ["empty", "header"]) {
        const setting = `${scheme}:${join(folder, name)}`;
        await assert.rejects(openStore(setting, { mustExist: true }), storeError("missing", name));
        assert.equal((await inspectStore(setting)).state, "new");
        const store = await openStore(setting);
        await store.keys.insert(sampleKey("a"));
        await store.close();
      }
      assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith(".bak")), []);
    });

    test(`${scheme}: leaves no temporary file after its creation`, async () => {
      const folder = mkdtempSync(join(directory, "whole-"));
      const store = await openStore(`${scheme}:${folder}/gateway`);
      await store.keys.insert(sampleKey("a"));
      await store.close();
      assert.deepEqual(readdirSync(folder).filter((name) => !/^gateway(-wal|-shm)?$/.test(name)), []);
      const again = await openStore(`${scheme}:${folder}/gateway`);
      assert.deepEqual(await again.keys.get("a"), sampleKey("a"));
      await again.close();
    });

    test(`${scheme}: has one lock for every path and link to it`, async () => {
      const [real, alias] = [join(directory, `${scheme}-real`), join(directory, `${scheme}-alias`)];
      mkdirSync(real);
      symlinkSync(real, alias);
      symlinkSync(join(real, "gateway"), join(real, "link"));
      const store = await openStore(`${scheme}:${real}/gateway`);
      await store.holdForServing();
      for (const path of [`${alias}/gateway`, `${real}/link`]) {
        const same = await openStore(`${scheme}:${path}`);
        await assert.rejects(same.holdForServing(), storeError("locked", path));
        await same.close();
      }
      await store.close();
    });
  }

  test("leaves nothing after a failed creation", async () => {
    const folder = mkdtempSync(join(directory, "half-"));
    const making = ensureStoreFile(join(folder, "gateway.db"), "sqlite:there", {}, (path) => {
      for (const rest of ["", "-wal", "-shm"]) writeFileSync(`${path}${rest}`, "half");
      return Promise.reject(new Error("the disk is full"));
    });
    await assert.rejects(making, /the disk is full/);
    assert.deepEqual(readdirSync(folder), []);
  });

  test("is not overwritten when another process has created it meanwhile", async () => {
    const folder = mkdtempSync(join(directory, "quicker-"));
    const path = join(folder, "gateway.db");
    await ensureStoreFile(path, "sqlite:there", {}, (unfinished) => {
      writeFileSync(unfinished, "mine");
      writeFileSync(path, "theirs");
      return Promise.resolve();
    });
    assert.deepEqual(readdirSync(folder), ["gateway.db"]);
    assert.equal(readFileSync(path, "utf8"), "theirs");
  });
});
