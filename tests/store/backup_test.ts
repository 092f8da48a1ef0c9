// needs: runtime
import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { backUpStore } from "../../lib/store/file/backup.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, sampleEvent, sampleKey, sampleState, storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();
let count = 0;
const fresh = (name: string) => join(directory, `${count++}-${name}`);

describe("backUpStore", () => {
  for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
    test(`copies a ${scheme} store that is being written to, as of one moment, into a file`, async () => {
      const setting = `${scheme}:${fresh("busy.db")}`;
      const writer = startStoreProcess(setting, "write-until-killed");
      await writer.said("written 10");
      const path = fresh("copy.db");
      const backup = await backUpStore(setting, path);
      await writer.said("written 100");
      await writer.kill();

      assert.deepEqual(backup, { location: setting, path, bytes: statSync(path).size });
      assert.equal(statSync(path).mode & 0o777, 0o600);
      const copy = await openStore(`${scheme}:${path}`);
      const { scannedLedger } = (await copy.events.watcherState())!;
      assert.ok(scannedLedger >= 10 && scannedLedger < 100, `copied at ${scannedLedger}`);
      const events = Array.from({ length: 10 * scannedLedger }, (_, n) => ({ ...sampleEvent(n), sequence: n + 1 }));
      const held = await copy.events.read({ filter: {}, order: "asc", limit: 1_000 });
      assert.deepEqual(held, events, "events and cursor are of one moment");
      await copy.close();
    });

    test(`a copy of a ${scheme} store is a store like any other`, async () => {
      const setting = `${scheme}:${fresh("gateway.db")}`;
      const store = await openStore(setting);
      await store.network.bind("Test Network");
      await store.keys.insert(sampleKey("a"));
      await append(store, sampleEvent(1));
      const path = fresh("copy.db");
      await backUpStore(setting, path);
      await store.keys.insert(sampleKey("later"));
      await store.close();

      const copy = await openStore(`${scheme}:${path}`);
      assert.equal(copy.id, store.id);
      assert.equal(await copy.network.bound(), "Test Network");
      assert.deepEqual(await copy.keys.list({ limit: 9 }), [sampleKey("a")]);
      assert.deepEqual(await copy.events.watcherState(), sampleState(1_001));
      const version = await copy.keys.version();
      await copy.keys.insert(sampleKey("b"));
      assert.ok(await copy.keys.version() > version);
      await copy.holdForServing();
      await copy.close();
    });
  }

  test("leaves no file beside a store that no process has open", async () => {
    const folder = mkdtempSync(join(directory, "quiet-"));
    const setting = `sqlite:${join(folder, "gateway.db")}`;
    await (await openStore(setting)).close();
    await backUpStore(setting, fresh("copy.db"));
    assert.deepEqual(readdirSync(folder), ["gateway.db"]);
  });

  test("refuses a missing directory, and names it", async () => {
    const none = join(directory, "none");
    await assert.rejects(backUpStore(await ours(), join(none, "copy")), storeError("unavailable", none));
  });

  test("does not overwrite an existing file", async () => {
    const setting = `sqlite:${fresh("gateway.db")}`;
    await (await openStore(setting)).close();
    const path = fresh("precious");
    writeFileSync(path, "");
    await assert.rejects(backUpStore(setting, path), storeError("unavailable", path, "exists already"));
    assert.equal(statSync(path).size, 0);
    await assert.rejects(backUpStore(setting, setting.slice(7)), storeError("unavailable", "exists already"));
  });

  test("deletes the leftover of a killed backup with this name, and no file that another process may still write", async () => {
    const setting = `sqlite:${fresh("gateway.db")}`;
    await (await openStore(setting)).close();
    const path = fresh("copy.db");
    const [left, inUse, others] = ["0".repeat(12), "1".repeat(12)].map((hex) => `${path}.${hex}.part`)
      .concat(`${fresh("other.db")}.${"0".repeat(12)}.part`) as [string, string, string];
    for (const file of [left, inUse, others]) writeFileSync(file, "half");
    const yesterday = Date.now() / 1_000 - 86_400;
    for (const file of [left, others]) utimesSync(file, yesterday, yesterday);
    await backUpStore(setting, path);
    assert.deepEqual([left, inUse, others].map((file) => existsSync(file)), [false, true, true]);
  });

  test("writes to the target of a link, and writes nothing when the target's directory is missing", async () => {
    const setting = `sqlite:${fresh("gateway.db")}`;
    await (await openStore(setting)).close();
    const [volume, near, far] = [fresh("volume"), fresh("near.db"), fresh("far.db")];
    const path = join(volume, "copy.db");
    symlinkSync(path, near);
    symlinkSync(basename(near), far);
    await assert.rejects(backUpStore(setting, far), storeError("unavailable", `there is no directory ${volume}`));
    mkdirSync(volume);
    assert.equal((await backUpStore(setting, far)).path, path);
    assert.ok([near, far].every((link) => lstatSync(link).isSymbolicLink()));
    assert.ok(lstatSync(path).isFile());
    await assert.rejects(backUpStore(setting, far), storeError("unavailable", path, "exists already"));
  });

  test("creates no store when the source is missing", async () => {
    const path = fresh("none.db");
    await assert.rejects(backUpStore(`sqlite:${path}`, fresh("copy")), storeError("unavailable", path, "no such file"));
    const folder = dirname(path);
    await assert.rejects(backUpStore(`sqlite:${folder}`, fresh("copy")), storeError("unavailable", "directory"));
    assert.ok(!existsSync(path));
  });

  test("refuses a damaged store and keeps no copy of it", async () => {
    const path = fresh("gateway.db");
    await (await openStore(`sqlite:${path}`)).close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xab, 3 * 4_096));
    const copy = fresh("copy.db");
    await assert.rejects(backUpStore(`sqlite:${path}`, copy), storeError("unavailable", path, "is damaged"));
    assert.deepEqual(readdirSync(directory).filter((name) => name.startsWith(basename(copy))), []);
  });

  const ours = async () => {
    const setting = `sqlite:${fresh("own.db")}`;
    await (await openStore(setting)).close();
    return setting;
  };
  const text = () => {
    const path = fresh("text");
    writeFileSync(path, "To whom it may concern: this is not a database. ".repeat(20));
    return path;
  };
  const wrong: [string, () => string | Promise<string>, string[]][] = [
    ["the store in memory", () => "memory:", ["memory:", "nothing to back up"]],
    ["the platform's own database", () => "deno-kv:", ["Back it up there"]],
    ["a setting that names no file", () => "mysql://u:hunter2@h/db", ["sqlite:PATH or deno-kv:PATH"]],
    ["a store in PostgreSQL", () => "postgres://u:hunter2@h/db", ["pg_dump"]],
    ["a file that is not a database", () => `sqlite:${text()}`, ["is not a SQLite database"]],
    ["a Deno KV setting for a SQLite file", async () => (await ours()).replace("sqlite", "deno-kv"), [
      "not a store of this",
    ]],
  ];
  for (const [what, setting, messages] of wrong) {
    test(`refuses ${what} with a reason`, async () => {
      await assert.rejects(backUpStore(await setting(), fresh("copy")), (error: Error) => {
        assert.ok(!error.message.includes("hunter2"));
        return storeError("unavailable", ...messages)(error);
      });
    });
  }
});
