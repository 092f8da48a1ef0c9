// needs: neutral
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createKeyVerifier } from "../../lib/keys/verifier.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { NOW, testKey } from "./test_keys.ts";

let store: Store;

beforeEach(async () => {
  store = await openStore("memory:");
});
afterEach(() => store.close());

describe("keys from the store", () => {
  test("have a new version after every change, and keep the version while nothing changes", async () => {
    const source = keySourceFromStore(store);
    const { record } = testKey();
    const versions = [await source.version()];
    for (
      const change of [
        () => store.keys.insert(record),
        () => store.keys.setDisabled(record.id, true),
        () => store.keys.delete(record.id),
      ]
    ) {
      await change();
      versions.push(await source.version());
      assert.equal(await source.version(), versions.at(-1));
    }
    assert.equal(new Set(versions).size, 4);
  });

  test("are returned by id, and recording their last use does not change the version", async () => {
    const source = keySourceFromStore(store);
    const { record } = testKey();
    assert.equal(await source.isEmpty(), true);
    await store.keys.insert(record);
    const version = await source.version();
    assert.equal(await source.isEmpty(), false);
    const lastUsedAt = "2026-03-01T12:00:00.000Z";
    await source.touch([{ id: record.id, lastUsedAt }]);
    assert.deepEqual(await source.get(record.id), { ...record, lastUsedAt });
    assert.equal(await source.version(), version);
  });

  test("are verified by their current state in the store: created, disabled, enabled, deleted", async () => {
    const source = keySourceFromStore(store);
    const clock = { now: () => NOW, monotonicMs: () => 0 };
    const verifier = createKeyVerifier({ source, clock, onProblem: (message) => assert.fail(message) });
    const { key, record } = testKey();
    const seen: string[] = [];
    const look = async () => {
      await verifier.refresh();
      const verdict = await verifier.verify(key);
      seen.push("reason" in verdict ? verdict.reason : verdict.record.id);
    };
    await look();
    await store.keys.insert(record);
    await look();
    await store.keys.setDisabled(record.id, true);
    await look();
    await store.keys.setDisabled(record.id, false);
    await look();
    await store.keys.delete(record.id);
    await look();
    assert.deepEqual(seen, ["unknown", record.id, "disabled", record.id, "unknown"]);
  });
});
