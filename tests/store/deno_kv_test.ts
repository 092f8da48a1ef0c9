import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openDenoKvStore } from "../../lib/store/deno_kv.ts";
import { openSqliteStore } from "../../lib/store/sqlite.ts";
import { sampleEvent, sampleState, storeError } from "./samples.ts";
import { describeStore } from "./store_contract.ts";

function describeDenoKv(): void {
  const directory = mkdtempSync(join(tmpdir(), "deno-kv-"));

  describe("the Deno KV store", () => {
    after(() => rmSync(directory, { recursive: true }));

    test("a database that a newer version wrote is refused", async () => {
      const path = join(directory, "newer.kv");
      const kv = await openKv(path);
      await kv.set(["schema"], 99);
      kv.close();
      await assert.rejects(openDenoKvStore(path), storeError("newer_schema", path, "99", "newer version"));
    });

    test("another program's database is refused", async () => {
      const path = join(directory, "foreign.kv");
      const kv = await openKv(path);
      await kv.set(["theirs"], 1);
      kv.close();
      await assert.rejects(openDenoKvStore(path), storeError("unavailable", path, "another program"));
    });

    test("a file of the sqlite store is refused and left alone", async () => {
      const path = join(directory, "gateway.db");
      await (await openSqliteStore(path)).close();
      const before = readFileSync(path);
      await assert.rejects(openDenoKvStore(path), storeError("unavailable", path, "not one of Deno KV"));
      assert.deepEqual(readFileSync(path), before);
    });

    test("a file of Deno KV is refused by the sqlite store", async () => {
      const path = join(directory, "gateway.kv");
      await (await openDenoKvStore(path)).close();
      await assert.rejects(openSqliteStore(path), storeError("unavailable", path, "another program"));
    });

    test("a slice with a value that Deno KV refuses leaves nothing", async () => {
      const store = await openDenoKvStore(join(directory, "too-large.kv"));
      const events = [sampleEvent(1), sampleEvent(2, { amount: "9".repeat(70_000) })];
      await assert.rejects(
        store.commitEvents({ events, state: sampleState(1) }),
        storeError("unavailable", "too large"),
      );
      assert.deepEqual(await store.readEvents({ limit: 9 }), []);
      assert.equal(await store.watcherState(), undefined);
      await store.close();
    });
  });

  describeStore("deno-kv", true, (name) => `deno-kv:${name}/gateway.kv`);
}

if (runtimeName === "deno") describeDenoKv();
