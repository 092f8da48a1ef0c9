import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleKey, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

export function keyContract({ store, anotherHandle, isPersistent }: Subject): void {
  test("keys.get and keys.list return an inserted key, with every field and with the fewest", async () => {
    const full = sampleKey("full", {
      name: 'Kasse "Süd" 🛒',
      scopes: ["webhooks", "read", "write"],
      rate: 6_000,
      disabled: true,
      expiresAt: "2027-01-01T00:00:00.000Z",
      lastUsedAt: "2026-12-01T00:00:00.000Z",
    });
    const least = sampleKey("least", { name: "", scopes: [] });
    await store().keys.insert(full);
    await store().keys.insert({ ...least, rate: undefined, expiresAt: undefined });
    assert.deepEqual(await store().keys.get("full"), full);
    assert.deepEqual(await store().keys.get("least"), least);
    assert.deepEqual(await store().keys.list({ limit: 9 }), [full, least]);
  });

  test("keys.get returns undefined for an unknown id, and ids differ by case", async () => {
    await store().keys.insert(sampleKey("abc"));
    assert.equal(await store().keys.get("ABC"), undefined);
    assert.equal(await store().keys.get(""), undefined);
  });

  test("keys.insert rejects an id in use, and leaves the key as it was", async () => {
    await store().keys.insert(sampleKey("a", { name: "first" }));
    const version = await store().keys.version();
    await assert.rejects(store().keys.insert(sampleKey("a", { name: "second" })), storeError("exists", '"a"'));
    assert.equal((await store().keys.get("a"))?.name, "first");
    assert.equal(await store().keys.version(), version);
  });

  test("keys.list returns pages ascending by id", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) await store().keys.insert(sampleKey(id));
    const ids = async (page: { after?: string; limit: number }) => (await store().keys.list(page)).map(({ id }) => id);
    assert.deepEqual(await ids({ limit: 1_000 }), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(await ids({ limit: 2 }), ["B", "a"]);
    assert.deepEqual(await ids({ after: "a", limit: 2 }), ["a1", "b"]);
    assert.deepEqual(await ids({ after: "aa", limit: 9 }), ["b", "c"]);
    assert.deepEqual(await ids({ after: "c", limit: 9 }), []);
  });

  test("keys.setDisabled returns the changed record, undefined without such a key", async () => {
    const key = sampleKey("a", { rate: 5, lastUsedAt: "2026-12-01T00:00:00.000Z" });
    await store().keys.insert(key);
    assert.deepEqual(await store().keys.setDisabled("a", true), { ...key, disabled: true });
    assert.deepEqual(await store().keys.get("a"), { ...key, disabled: true });
    assert.deepEqual(await store().keys.setDisabled("a", false), key);
    assert.equal(await store().keys.setDisabled("b", true), undefined);
  });

  test("keys.delete deletes the key and its bucket, and returns whether there was one", async () => {
    await store().keys.insert(sampleKey("a"));
    await store().buckets.save([{ keyId: "a", tokens: 1, updatedAtMs: 1 }, { keyId: "b", tokens: 2, updatedAtMs: 1 }]);
    assert.equal(await store().keys.delete("a"), true);
    assert.equal(await store().keys.get("a"), undefined);
    assert.deepEqual(await store().buckets.load(), [{ keyId: "b", tokens: 2, updatedAtMs: 1 }]);
    assert.equal(await store().keys.delete("a"), false);
  });

  test("a key that is inserted again starts unused", async () => {
    await store().keys.insert(sampleKey("a", { lastUsedAt: "2026-12-01T00:00:00.000Z" }));
    await store().keys.delete("a");
    await store().keys.insert(sampleKey("a"));
    assert.deepEqual(await store().keys.get("a"), sampleKey("a"));
  });

  test("keys.touch records the last use of 500 keys at once, and skips unknown ids", async () => {
    await store().keys.insert(sampleKey("a"));
    await store().keys.insert(sampleKey("b"));
    const uses = Array.from({ length: 498 }, (_, n) => ({ id: `gone-${n}`, lastUsedAt: "2026-12-01T00:00:00.000Z" }));
    uses.push({ id: "a", lastUsedAt: "2026-12-02T00:00:00.000Z" }, { id: "b", lastUsedAt: "2026-12-03T00:00:00.000Z" });
    await store().keys.touch(uses);
    assert.equal((await store().keys.get("a"))?.lastUsedAt, "2026-12-02T00:00:00.000Z");
    assert.equal((await store().keys.get("b"))?.lastUsedAt, "2026-12-03T00:00:00.000Z");
    assert.deepEqual((await store().keys.list({ limit: 9 })).map(({ id }) => id), ["a", "b"]);
    await store().keys.insert(sampleKey("gone-1"));
    assert.equal((await store().keys.get("gone-1"))?.lastUsedAt, undefined);
    await store().keys.touch([]);
  });

  for (
    const [what, recorded, wanted] of [
      ["passes over a time before the recorded one", "2026-12-01T00:59:00.000Z", "2026-12-01T00:59:00.000Z"],
      ["corrects a time that came from a clock that was ahead", "2027-01-10T00:00:00.000Z", "2026-12-01T00:00:00.000Z"],
    ] as const
  ) {
    test(`keys.touch ${what}`, async () => {
      await store().keys.insert(sampleKey("a", { lastUsedAt: recorded }));
      await store().keys.touch([{ id: "a", lastUsedAt: "2026-12-01T00:00:00.000Z" }]);
      assert.equal((await store().keys.get("a"))?.lastUsedAt, wanted);
    });
  }

  test("keys.version rises with insert, disable, enable and delete, and with nothing else", async () => {
    const seen = [await store().keys.version()];
    const rises = async () => {
      seen.push(await store().keys.version());
      return seen.at(-1)! > seen.at(-2)!;
    };
    await store().keys.insert(sampleKey("a"));
    assert.ok(await rises(), "insert");
    await store().keys.setDisabled("a", true);
    assert.ok(await rises(), "disable");
    await store().keys.setDisabled("a", false);
    assert.ok(await rises(), "enable");
    await store().keys.touch([{ id: "a", lastUsedAt: "2026-12-01T00:00:00.000Z" }]);
    await store().keys.setDisabled("unknown", true);
    await store().keys.delete("unknown");
    assert.ok(!await rises(), "touch, and changes to a key that is not there");
    await store().keys.delete("a");
    assert.ok(await rises(), "delete");
  });

  if (isPersistent) {
    test("no change of a key is lost when two handles change it at once", async () => {
      const other = await anotherHandle();
      const before = await store().keys.version();
      await Promise.all([store(), other].map(async ({ keys }, handle) => {
        for (let n = handle; n < 20; n += 2) {
          await keys.insert(sampleKey(`key-${n}`));
          await keys.setDisabled("key-0", n % 3 === 0);
        }
      }));
      assert.equal((await store().keys.list({ limit: 99 })).length, 20);
      // The versions of all 20 inserts and of every change that found key-0 there.
      assert.ok(await other.keys.version() >= before + 20);
      assert.equal(await other.keys.version(), await store().keys.version());
    });
  }
}
