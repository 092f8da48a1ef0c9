import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open_store.ts";
import { sampleKey, storeError } from "./samples.ts";

const directory = mkdtempSync(join(tmpdir(), "store-file-"));
const schemes = runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"];

describe("the file of a store", () => {
  after(() => rmSync(directory, { recursive: true }));

  for (const scheme of schemes) {
    test(`${scheme}: is created readable by its owner only, and so is what lies next to it`, async () => {
      const path = join(directory, `${scheme}-mode`);
      const store = await openStore(`${scheme}:${path}`);
      await store.holdForServing();
      await store.insertKey(sampleKey("a"));
      for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-lock`]) {
        assert.equal((statSync(file).mode & 0o777).toString(8), "600", file);
      }
      await store.close();
    });

    test(`${scheme}: a missing directory is named`, async () => {
      const missing = join(directory, "no", "such");
      await assert.rejects(openStore(`${scheme}:${missing}/gateway.db`), storeError("unavailable", missing));
    });

    test(`${scheme}: a directory is no store`, async () => {
      await assert.rejects(openStore(`${scheme}:${directory}`), storeError("unavailable", directory, "directory"));
    });

    test(`${scheme}: has one lock, by whatever path it is opened`, async () => {
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
});
