// needs: once
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { chmod, chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { beforeEach, describe, test } from "node:test";
import { openKeysFile, requireKeysFile } from "../../lib/keys/keys_file.ts";
import { KeysFileError } from "../../lib/keys/keys_file.ts";
import { lockFile } from "../../lib/runtime/file_lock.ts";
import { testKey } from "./test_keys.ts";
import { folderForTests } from "../folder.ts";

const folder = folderForTests();
let path: string;
let count = 0;

beforeEach(() => {
  path = join(folder, `keys${count++}.json`);
});

/** No file mode stops root. */
const isRoot = process.getuid?.() === 0;

const recordsOnDisk = async () => JSON.parse(await readFile(path, "utf8"));

describe("a keys file", () => {
  test("is created by the first insert, readable by its owner only, with one array element per record", async () => {
    const { key, record } = testKey({ rate: 600 });
    await openKeysFile(path).keys.insert(record);
    assert.deepEqual(await recordsOnDisk(), [record]);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.ok(!(await readFile(path, "utf8")).includes(key));
  });

  test("is read in UTF-16, as PowerShell writes it, and written in UTF-8", async () => {
    const [first, second] = [testKey().record, testKey().record];
    await writeFile(path, Buffer.from("\ufeff" + JSON.stringify([first]), "utf16le"), { mode: 0o600 });
    assert.deepEqual(await openKeysFile(path).keys.get(first.id), first);
    await openKeysFile(path).keys.insert(second);
    assert.deepEqual(await recordsOnDisk(), [first, second]);
  });

  test(
    "is also written on Windows, which cannot open a folder",
    { skip: isRoot && "root opens every folder" },
    async (t) => {
      const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
      t.after(async () => {
        Object.defineProperty(process, "platform", platform);
        await chmod(join(folder, "windows"), 0o700);
      });
      await mkdir(join(folder, "windows"));
      await chmod(join(folder, "windows"), 0o300);
      Object.defineProperty(process, "platform", { configurable: true, value: "win32" });
      path = join(folder, "windows", "keys.json");
      const { record } = testKey();
      await openKeysFile(path).keys.insert(record);
      assert.deepEqual(await recordsOnDisk(), [record]);
    },
  );

  test("returns its keys by id, and in pages sorted by id", async () => {
    const file = openKeysFile(path);
    const ids = ["b", "d", "a", "c"];
    for (const id of ids) await file.keys.insert(testKey({ id }).record);
    assert.equal((await file.keys.get("d"))?.id, "d");
    assert.equal(await file.keys.get("e"), undefined);
    assert.deepEqual((await file.keys.list({ limit: 3 })).map(({ id }) => id), ["a", "b", "c"]);
    assert.deepEqual((await file.keys.list({ after: "c", limit: 3 })).map(({ id }) => id), ["d"]);
  });

  test("that does not exist holds no keys, and a read or a change of a missing key does not create it", async () => {
    const file = openKeysFile(path);
    assert.deepEqual(await file.keys.list({ limit: 10 }), []);
    assert.equal(await file.keys.setDisabled("a", true), undefined);
    assert.equal(await file.keys.delete("a"), false);
    await assert.rejects(stat(path), { code: "ENOENT" });
  });

  test("disables, enables and deletes one key and leaves the other keys unchanged", async () => {
    const file = openKeysFile(path);
    const [one, two] = [testKey().record, testKey().record];
    await file.keys.insert(one);
    await file.keys.insert(two);
    assert.deepEqual(await file.keys.setDisabled(one.id, true), { ...one, disabled: true });
    assert.deepEqual(await recordsOnDisk(), [{ ...one, disabled: true }, two]);
    assert.deepEqual(await file.keys.setDisabled(one.id, false), one);
    assert.equal(await file.keys.delete(one.id), true);
    assert.equal(await file.keys.delete(one.id), false);
    assert.deepEqual(await recordsOnDisk(), [two]);
  });

  test("refuses a second key with the same id", async () => {
    const file = openKeysFile(path);
    await file.keys.insert(testKey({ id: "a" }).record);
    await assert.rejects(file.keys.insert(testKey({ id: "a" }).record), { name: "StoreError", kind: "exists" });
  });

  test("keeps every key when many writers insert at the same time", async () => {
    const records = Array.from({ length: 12 }, () => testKey().record);
    await Promise.all(records.map((record) => openKeysFile(path).keys.insert(record)));
    const ids = (await recordsOnDisk()).map(({ id }: { id: string }) => id);
    assert.deepEqual(ids.sort(), records.map(({ id }) => id).sort());
  });

  test("keeps its owner when root changes it, and so does its lock", { skip: !isRoot && "needs root" }, async () => {
    const { record } = testKey();
    const place = openKeysFile(path);
    await place.keys.insert(record);
    await chown(path, 65_534, 65_534);
    await place.keys.setDisabled(record.id, true);
    assert.deepEqual([(await stat(path)).uid, (await stat(`${path}.lock`)).uid], [65_534, 65_534]);
    const inUse = (await lockFile(`${path}.lock`))!;
    assert.equal(await lockFile(`${path}.lock`), undefined);
    inUse.release();
  });

  test("leaves no temporary file behind, only the keys file and its lock", async () => {
    await openKeysFile(path).keys.insert(testKey().record);
    const name = path.slice(folder.length + 1);
    assert.deepEqual((await readdir(folder)).filter((entry) => entry.startsWith(name)).sort(), [name, `${name}.lock`]);
  });

  test("that is invalid stays unchanged, and the error names file, record and field", async () => {
    const record = testKey().record;
    await writeFile(path, JSON.stringify([{ ...record, disabled: "ja" }]));
    await assert.rejects(openKeysFile(path).keys.insert(testKey().record), {
      name: "KeysFileError",
      message: `keys file ${path}: key record 1: disabled must be true or false`,
    });
    assert.equal((await recordsOnDisk())[0].disabled, "ja");
  });

  test("is created at the target of a symbolic link, also through a second link, and the links remain", async () => {
    const [near, far] = [`${path}.near`, `${path}.far`];
    await symlink(path, near);
    // Relative to its own folder.
    await symlink(basename(near), far);
    await openKeysFile(far).keys.insert(testKey({ id: "a" }).record);
    assert.deepEqual((await recordsOnDisk()).map(({ id }: { id: string }) => id), ["a"]);
    for (const link of [near, far]) assert.ok((await lstat(link)).isSymbolicLink(), link);
  });

  test("that is a symbolic link to itself is refused", async () => {
    await symlink(path, path);
    await assert.rejects(openKeysFile(path).keys.insert(testKey({ id: "a" }).record), KeysFileError);
  });

  test("behind a symbolic link is replaced at the link's target, and the link remains", async () => {
    const link = `${path}.link`;
    await writeFile(path, "[]");
    await symlink(path, link);
    await openKeysFile(link).keys.insert(testKey({ id: "a" }).record);
    assert.equal((await recordsOnDisk())[0].id, "a");
    assert.equal((await openKeysFile(link).keys.get("a"))?.id, "a");
  });

  test("whose folder is missing or a file, or that is itself a folder, is refused with an error that names it", async () => {
    const inNone = openKeysFile(join(folder, "none", "keys.json"));
    await assert.rejects(inNone.keys.insert(testKey().record), {
      name: "KeysFileError",
      message:
        `keys file ${folder}/none/keys.json cannot be written: the directory ${folder}/none does not exist: create it, ` +
        "or name another path",
    });
    await assert.rejects(openKeysFile(folder).keys.list({ limit: 1 }), /must be a regular file/);
    await writeFile(path, "[]");
    await assert.rejects(openKeysFile(join(path, "keys.json")).keys.insert(testKey().record), /\.json is no directory/);
  });

  test("that cannot be created is refused with the system's error code", async () => {
    const tooLong = join(folder, "k".repeat(300));
    await assert.rejects(openKeysFile(tooLong).keys.insert(testKey().record), /kkk cannot be written: ENAMETOOLONG$/);
  });

  test(
    "in a folder without write permission is refused, and the error names both paths to check",
    { skip: isRoot },
    async () => {
      const closed = join(folder, "closed");
      await mkdir(closed, { mode: 0o500 });
      await assert.rejects(openKeysFile(join(closed, "keys.json")).keys.insert(testKey().record), {
        message:
          `keys file ${closed}/keys.json cannot be written: check the owner and mode of it and of ${closed} (EACCES)`,
      });
    },
  );

  test("is required by requireKeysFile, and the error says how to create it", async () => {
    await assert.rejects(requireKeysFile(path), {
      name: "KeysFileError",
      message: `the keys file ${path} does not exist: create it with gateway keygen, or name another with --keys-file`,
    });
    await openKeysFile(path).keys.insert(testKey().record);
    await requireKeysFile(path);
  });

  test("waits for another writer's lock", async () => {
    const lock = await lockFile(`${path}.lock`);
    let inserted = false;
    const inserting = openKeysFile(path).keys.insert(testKey().record).then(() => inserted = true);
    await assert.rejects(stat(path), { code: "ENOENT" });
    assert.equal(inserted, false);
    lock!.release();
    await inserting;
    assert.equal((await recordsOnDisk()).length, 1);
  });
});
