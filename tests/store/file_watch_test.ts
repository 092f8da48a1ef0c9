// needs: runtime
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, renameSync, rmSync, statfsSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { watchStoreFile } from "../../lib/store/file/file_watch.ts";
import { openStore } from "../../lib/store/open.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();

describe("watchStoreFile", () => {
  test("reports whether the file exists, was removed, or was replaced", async () => {
    const path = join(directory, "gateway.db");
    const store = await openStore(`sqlite:${path}`);
    const look = watchStoreFile(store.location)!;
    assert.equal(look().file, "there");
    await store.network.bind("n");
    assert.equal(look().file, "there");
    copyFileSync(path, join(directory, "copy.db"));
    rmSync(path);
    assert.equal(look().file, "removed");
    renameSync(join(directory, "copy.db"), path);
    assert.equal(look().file, "replaced");
    await store.close();
  });

  test("reports the free space on the disk, as the operating system does", () => {
    const look = watchStoreFile(`deno-kv:${join(directory, "gateway.kv")}`)!;
    const { bavail, blocks, bsize } = statfsSync(directory);
    const { freeBytes, isDiskLow } = look();
    assert.ok(Math.abs(freeBytes - bavail * bsize) < 0.2 * blocks * bsize);
    assert.equal(typeof isDiskLow, "boolean");
  });

  const GB = 1_000_000_000;
  const disks: [size: number, low: number, why: string][] = [
    [0.2 * GB, 0.04 * GB, "a fifth of a tiny one, which has never 200 MB left"],
    [1 * GB, 0.2 * GB, "200 MB of a small one"],
    [10 * GB, 0.2 * GB, "200 MB are 2 % of it"],
    [50 * GB, 1 * GB, "2 % of it"],
    [100 * GB, 2 * GB, "2 % of it are 2 GB"],
    [1_000 * GB, 2 * GB, "2 GB of a large one, whatever they are of it"],
  ];
  for (const [size, low, why] of disks) {
    test(`reports a disk of ${size / GB} GB as low under ${low / GB} GB: ${why}`, () => {
      const [bsize, asked] = [4_000, [] as string[]];
      const lookWith = (freeBytes: number) =>
        watchStoreFile(`sqlite:${join(directory, "gateway.db")}`, (path) => {
          asked.push(path);
          return { bavail: freeBytes / bsize, blocks: size / bsize, bsize };
        })!();
      const looks = [low - bsize, low].map(lookWith).map(({ freeBytes, isDiskLow }) => ({ freeBytes, isDiskLow }));
      assert.deepEqual(looks, [{ freeBytes: low - bsize, isDiskLow: true }, { freeBytes: low, isDiskLow: false }]);
      assert.deepEqual(asked, [directory, directory]);
    });
  }

  test("checks the disk of the target of a link", () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "file-watch-"));
    writeFileSync(join(elsewhere, "gateway.db"), "");
    const link = join(directory, "link.db");
    symlinkSync(join(elsewhere, "gateway.db"), link);
    const asked: string[] = [];
    watchStoreFile(`sqlite:${link}`, (path) => {
      asked.push(path);
      return { bavail: 1, blocks: 1, bsize: 1 };
    })!();
    assert.deepEqual(asked, [elsewhere]);
    rmSync(elsewhere, { recursive: true });
  });

  test("does nothing for a store without a file", () => {
    for (const location of ["memory:", "deno-kv:", "postgres://host/db"]) {
      assert.equal(watchStoreFile(location), undefined);
    }
  });
});
