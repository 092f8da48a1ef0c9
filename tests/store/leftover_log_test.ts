// needs: runtime
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { backUpStore } from "../../lib/store/file/backup.ts";
import { inspectStore } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { sampleKey, storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();

/**
 * Leaves a write-ahead log, as after a kill of the process and the deletion of the store's file alone. Returns its path.
 */
async function leaveLog(scheme: string, path: string): Promise<string> {
  const [store, log] = [await openStore(`${scheme}:${path}`), `${path}-wal`];
  await store.keys.insert(sampleKey("old"));
  const bytes = readFileSync(log);
  await store.close();
  rmSync(path);
  writeFileSync(log, bytes);
  return log;
}

const keysOf = async (store: Store) => (await store.keys.list({ limit: 10 })).map(({ id }) => id);

describe("the log of a deleted store", () => {
  for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
    test(`${scheme}: is not applied to a new store, so its keys stay deleted`, async () => {
      const path = join(directory, `${scheme}-new`);
      const setting = `${scheme}:${path}`;
      const log = await leaveLog(scheme, path);
      const refusal = storeError("unavailable", log, "Restore that database", "delete the log");
      await assert.rejects(openStore(setting), refusal);
      await assert.rejects(inspectStore(setting), refusal, "doctor says the same");
      rmSync(log);
      const store = await openStore(setting);
      assert.deepEqual(await keysOf(store), []);
      await store.close();
    });

    test(`${scheme}: is not applied to a backup, so the backup equals the copied store`, async () => {
      const [setting, copy] = [`${scheme}:${join(directory, `${scheme}-live`)}`, join(directory, `${scheme}-copy`)];
      const store = await openStore(setting);
      await backUpStore(setting, copy);
      const log = await leaveLog(scheme, copy);
      await store.keys.insert(sampleKey("new"));
      await assert.rejects(backUpStore(setting, copy), storeError("unavailable", log));
      rmSync(log);
      await backUpStore(setting, copy);
      await store.close();
      const restored = await openStore(`${scheme}:${copy}`);
      assert.deepEqual(await keysOf(restored), ["new"]);
      await restored.close();
    });
  }

  test("sqlite: a rollback journal is rejected like a write-ahead log", async () => {
    const path = join(directory, "journal");
    writeFileSync(`${path}-journal`, "changes");
    await assert.rejects(openStore(`sqlite:${path}`), storeError("unavailable", `${path}-journal`, "delete the log"));
  });
});
