import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, renameSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { watchStoreFile } from "../../lib/store/file/file_watch.ts";
import { openStore } from "../../lib/store/open.ts";

const directory = mkdtempSync(join(tmpdir(), "file-watch-"));

describe("watchStoreFile", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("tells that the file is there, has gone, and is another one", async () => {
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

  test("tells what is left on the disk, and when that is little", () => {
    const look = watchStoreFile(`deno-kv:${join(directory, "gateway.kv")}`)!;
    const { bavail, blocks, bsize } = statfsSync(directory);
    const { freeBytes, isDiskLow } = look();
    assert.ok(Math.abs(freeBytes - bavail * bsize) < 0.2 * blocks * bsize);
    assert.equal(isDiskLow, freeBytes < 200_000_000 || freeBytes < 0.02 * blocks * bsize);
  });

  test("has nothing to look at where a store is not kept in a file", () => {
    for (const location of ["memory:", "deno-kv:", "postgres://host/db"]) {
      assert.equal(watchStoreFile(location), undefined);
    }
  });
});
