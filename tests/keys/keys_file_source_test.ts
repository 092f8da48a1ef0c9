// needs: once
import assert from "node:assert/strict";
import { chmod, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, describe, test } from "node:test";
import type { KeySource } from "../../lib/keys/key_source.ts";
import { openKeysFile } from "../../lib/keys/keys_file.ts";
import { openKeysFileSource } from "../../lib/keys/keys_file_source.ts";
import type { KeyRecord } from "../../lib/store/store.ts";
import { testKey } from "./test_keys.ts";
import { folderForTests } from "../folder.ts";

const folder = folderForTests();
let path: string;
let count = 0;
let problems: string[];
/** Long after every file's time stamp, so that the source relies on an unchanged time stamp. */
let nowMs: number;

beforeEach(() => {
  path = join(folder, `keys${count++}.json`);
  problems = [];
  nowMs = Date.now() + 3_600_000;
});

/** The source, and whether its version has changed since the last call. */
async function open(): Promise<KeySource & { changed(): Promise<boolean> }> {
  const source = await openKeysFileSource({ path, now: () => nowMs, onProblem: (message) => problems.push(message) });
  let seen: number | undefined;
  return {
    ...source,
    async changed() {
      const before = seen;
      seen = await source.version();
      return seen !== before;
    },
  };
}

const write = (text: string) => writeFile(path, text, { mode: 0o600 });
const writeRecords = (...records: KeyRecord[]) => write(JSON.stringify(records));

describe("keys from a file", () => {
  test("are available at once, and the version changes once", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    assert.deepEqual(await source.get(record.id), record);
    assert.deepEqual([await source.changed(), await source.changed()], [true, false]);
    assert.deepEqual(problems, []);
  });

  test("change when an operator edits the field disabled by hand", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    await source.changed();
    await writeRecords({ ...record, disabled: true });
    assert.equal(await source.changed(), true);
    assert.equal((await source.get(record.id))?.disabled, true);
    assert.equal(await source.changed(), false);
  });

  test("change when a command inserts or deletes a key", async () => {
    await writeRecords();
    const source = await open();
    await source.changed();
    const { record } = testKey();
    await openKeysFile(path).keys.insert(record);
    assert.equal(await source.changed(), true);
    assert.deepEqual(await source.get(record.id), record);
    await openKeysFile(path).keys.delete(record.id);
    assert.equal(await source.changed(), true);
    assert.equal(await source.isEmpty(), true);
  });

  test("change after an edit that keeps the file's size and time stamp, while the time stamp is recent", async () => {
    const { record } = testKey({ name: "abc" });
    const stamp = new Date(1_700_000_000_000);
    nowMs = stamp.getTime() + 1_000;
    await writeRecords(record);
    await utimes(path, stamp, stamp);
    const source = await open();
    await source.changed();
    await writeRecords({ ...record, name: "xyz" });
    await utimes(path, stamp, stamp);
    assert.equal(await source.changed(), true);
    assert.equal((await source.get(record.id))?.name, "xyz");
  });

  test("stay in use when the file becomes invalid, and each invalid version is reported once", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    await source.changed();
    await write("[{");
    assert.equal(await source.changed(), false);
    assert.equal(await source.changed(), false);
    assert.deepEqual(await source.get(record.id), record);
    assert.deepEqual(problems, [
      `keys file ${path}: must be JSON, as an array of key records or a record on each line; ` +
      "got 2 characters without a record; the keys stay as they were",
    ]);
    await write('[{"id": 3}]');
    assert.equal(await source.changed(), false);
    assert.match(problems[1] ?? "", /key record 1: id must be a string; the keys stay as they were/);
    await writeRecords();
    assert.equal(await source.changed(), true);
    assert.equal(await source.get(record.id), undefined);
    assert.equal(problems.length, 2);
  });

  test("stay in use when the file becomes empty, as on a full disk; [] removes all keys", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    await source.changed();
    await write("\n");
    assert.equal(await source.changed(), false);
    assert.equal(await source.changed(), false);
    assert.deepEqual(await source.get(record.id), record);
    const reported = `keys file ${path} is empty: write [] for a file without keys; the keys stay as they were`;
    assert.deepEqual(problems, [reported]);
    await writeRecords();
    assert.equal(await source.changed(), true);
    assert.equal(await source.isEmpty(), true);
  });

  test("are an empty list while the file is empty at the start, until a command creates the first key", async () => {
    await write("");
    const source = await open();
    assert.deepEqual([await source.isEmpty(), problems], [true, []]);
    const { record } = testKey();
    await openKeysFile(path).keys.insert(record);
    assert.equal(await source.changed(), true);
    assert.deepEqual(await source.get(record.id), record);
  });

  test("stay in use when the file disappears, and change again when the file is back", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    await source.changed();
    await rename(path, `${path}.away`);
    assert.equal(await source.changed(), false);
    assert.equal(await source.changed(), false);
    assert.deepEqual(await source.get(record.id), record);
    assert.deepEqual(problems, [`keys file ${path} does not exist; the keys stay as they were`]);
    await writeRecords({ ...record, disabled: true });
    assert.equal(await source.changed(), true);
    assert.equal((await source.get(record.id))?.disabled, true);
    await rm(path);
    await source.changed();
    assert.equal(problems.length, 2);
  });

  test("become available later when the file is missing at the start, and the missing file is reported once", async () => {
    const source = await open();
    assert.equal(await source.isEmpty(), true);
    assert.deepEqual(problems, [`keys file ${path} does not exist; the gateway has no keys until it exists`]);
    await source.changed();
    assert.equal(problems.length, 1);
    const { record } = testKey();
    await openKeysFile(path).keys.insert(record);
    assert.equal(await source.changed(), true);
    assert.deepEqual(await source.get(record.id), record);
  });

  test("cannot be opened at the start when the file is invalid", async () => {
    await write("not json");
    await assert.rejects(open(), { name: "KeysFileError", message: /must be JSON, .*; got 8 characters/ });
  });

  test("are used although other users may read the file, and the file mode is reported once", async () => {
    const { record } = testKey();
    await writeRecords(record);
    await chmod(path, 0o644);
    const source = await open();
    await source.changed();
    assert.deepEqual(await source.get(record.id), record);
    assert.deepEqual(problems, [`keys file ${path} is open to other users (mode 644); change it to 600`]);
    await chmod(path, 0o600);
    assert.equal(await source.changed(), false);
    assert.equal(problems.length, 1);
  });

  test("are used on Windows without a report of the file mode, where every file seems open to other users", async (t) => {
    const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
    t.after(() => void Object.defineProperty(process, "platform", platform));
    await writeRecords(testKey().record);
    await chmod(path, 0o666);
    Object.defineProperty(process, "platform", { configurable: true, value: "win32" });
    await open();
    assert.deepEqual(problems, []);
  });

  test("do not store their last use in the file: an operator may have it open", async () => {
    const { record } = testKey();
    await writeRecords(record);
    const source = await open();
    await source.changed();
    await source.touch([{ id: record.id, lastUsedAt: "2026-03-01T12:00:00.000Z" }]);
    assert.equal(await source.changed(), false);
    assert.deepEqual(await openKeysFile(path).keys.get(record.id), record);
  });
});
