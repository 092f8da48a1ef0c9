import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleKey, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

export function keyContract({ store, openAgain, isPersistent }: Subject): void {
  test("getKey answers what insertKey was given, with every field and with the fewest", async () => {
    const full = sampleKey("full", {
      name: 'Kasse "Süd" 🛒',
      scopes: ["webhooks", "read", "write"],
      rate: 6_000,
      disabled: true,
      expiresAt: "2027-01-01T00:00:00.000Z",
      lastUsedAt: "2026-12-01T00:00:00.000Z",
    });
    const least = sampleKey("least", { name: "", scopes: [] });
    await store().insertKey(full);
    await store().insertKey({ ...least, rate: undefined, expiresAt: undefined });
    assert.deepEqual(await store().getKey("full"), full);
    assert.deepEqual(await store().getKey("least"), least);
  });

  test("getKey answers undefined for an unknown id, ids being told apart by case", async () => {
    await store().insertKey(sampleKey("abc"));
    assert.equal(await store().getKey("ABC"), undefined);
    assert.equal(await store().getKey(""), undefined);
  });

  test("insertKey refuses an id that is taken and leaves the key as it was", async () => {
    await store().insertKey(sampleKey("a", { name: "first" }));
    const version = await store().keysVersion();
    await assert.rejects(store().insertKey(sampleKey("a", { name: "second" })), storeError("exists", '"a"'));
    assert.equal((await store().getKey("a"))?.name, "first");
    assert.equal(await store().keysVersion(), version);
  });

  test("listKeys pages ascending by id", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) await store().insertKey(sampleKey(id));
    const ids = async (page: { after?: string; limit: number }) => (await store().listKeys(page)).map(({ id }) => id);
    assert.deepEqual(await ids({ limit: 1_000 }), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(await ids({ limit: 2 }), ["B", "a"]);
    assert.deepEqual(await ids({ after: "a", limit: 2 }), ["a1", "b"]);
    assert.deepEqual(await ids({ after: "aa", limit: 9 }), ["b", "c"]);
    assert.deepEqual(await ids({ after: "c", limit: 9 }), []);
  });

  test("listKeys answers whole records", async () => {
    const used = sampleKey("a", { lastUsedAt: "2026-12-01T00:00:00.000Z" });
    const unused = sampleKey("b", { rate: 1 });
    await store().insertKey(used);
    await store().insertKey(unused);
    assert.deepEqual(await store().listKeys({ limit: 9 }), [used, unused]);
  });

  test("listKeys refuses a limit that is no integer from 1 to 1000", async () => {
    for (const limit of [0, -1, 1.5, 1_001, NaN]) {
      await assert.rejects(
        store().listKeys({ limit }),
        new RangeError(`limit must be an integer from 1 to 1000, got ${limit}`),
      );
    }
  });

  test("setKeyDisabled answers the record as it is then, undefined without such a key", async () => {
    const key = sampleKey("a", { rate: 5, lastUsedAt: "2026-12-01T00:00:00.000Z" });
    await store().insertKey(key);
    assert.deepEqual(await store().setKeyDisabled("a", true), { ...key, disabled: true });
    assert.deepEqual(await store().getKey("a"), { ...key, disabled: true });
    assert.deepEqual(await store().setKeyDisabled("a", false), key);
    assert.equal(await store().setKeyDisabled("b", true), undefined);
  });

  test("deleteKey deletes the key and its bucket, and says whether there was one", async () => {
    await store().insertKey(sampleKey("a"));
    await store().saveBuckets([{ keyId: "a", tokens: 1, updatedAtMs: 1 }, { keyId: "b", tokens: 2, updatedAtMs: 1 }]);
    assert.equal(await store().deleteKey("a"), true);
    assert.equal(await store().getKey("a"), undefined);
    assert.deepEqual(await store().loadBuckets(), [{ keyId: "b", tokens: 2, updatedAtMs: 1 }]);
    assert.equal(await store().deleteKey("a"), false);
  });

  test("a key that is inserted again starts unused", async () => {
    await store().insertKey(sampleKey("a", { lastUsedAt: "2026-12-01T00:00:00.000Z" }));
    await store().deleteKey("a");
    await store().insertKey(sampleKey("a"));
    assert.deepEqual(await store().getKey("a"), sampleKey("a"));
  });

  test("touchKeys notes the last use of 500 keys at once and passes over ids that do not exist", async () => {
    await store().insertKey(sampleKey("a"));
    await store().insertKey(sampleKey("b"));
    const uses = Array.from({ length: 498 }, (_, n) => ({ id: `gone-${n}`, lastUsedAt: "2026-12-01T00:00:00.000Z" }));
    uses.push({ id: "a", lastUsedAt: "2026-12-02T00:00:00.000Z" }, { id: "b", lastUsedAt: "2026-12-03T00:00:00.000Z" });
    await store().touchKeys(uses);
    assert.equal((await store().getKey("a"))?.lastUsedAt, "2026-12-02T00:00:00.000Z");
    assert.equal((await store().getKey("b"))?.lastUsedAt, "2026-12-03T00:00:00.000Z");
    assert.deepEqual((await store().listKeys({ limit: 9 })).map(({ id }) => id), ["a", "b"]);
    await store().insertKey(sampleKey("gone-1"));
    assert.equal((await store().getKey("gone-1"))?.lastUsedAt, undefined);
    await store().touchKeys([]);
    await assert.rejects(
      store().touchKeys([...uses, { id: "c", lastUsedAt: "2026-12-01T00:00:00.000Z" }]),
      new RangeError("at most 500 items fit in one call, got 501"),
    );
  });

  test("keysVersion rises with insert, disable, enable and delete, and with nothing else", async () => {
    const seen = [await store().keysVersion()];
    const rises = async () => {
      seen.push(await store().keysVersion());
      return seen.at(-1)! > seen.at(-2)!;
    };
    await store().insertKey(sampleKey("a"));
    assert.ok(await rises(), "insert");
    await store().setKeyDisabled("a", true);
    assert.ok(await rises(), "disable");
    await store().setKeyDisabled("a", false);
    assert.ok(await rises(), "enable");
    await store().touchKeys([{ id: "a", lastUsedAt: "2026-12-01T00:00:00.000Z" }]);
    await store().setKeyDisabled("unknown", true);
    await store().deleteKey("unknown");
    assert.ok(!await rises(), "touch, and changes to a key that is not there");
    await store().deleteKey("a");
    assert.ok(await rises(), "delete");
  });

  if (isPersistent) {
    test("what one handle does to keys, another sees at once", async () => {
      const other = await openAgain();
      const before = await store().keysVersion();
      await other.insertKey(sampleKey("a"));
      assert.ok(await store().keysVersion() > before);
      assert.deepEqual(await store().getKey("a"), sampleKey("a"));
    });

    test("no change of a key is lost when two handles change it at once", async () => {
      const other = await openAgain();
      const before = await store().keysVersion();
      const changes = Array.from({ length: 20 }, async (_, n) => {
        const handle = n % 2 === 0 ? store() : other;
        await handle.insertKey(sampleKey(`key-${n}`));
        await handle.setKeyDisabled("key-0", n % 3 === 0);
      });
      await Promise.all(changes);
      assert.equal((await store().listKeys({ limit: 99 })).length, 20);
      // The versions of all 20 inserts and of every change that found key-0 there.
      assert.ok(await other.keysVersion() >= before + 20);
      assert.equal(await other.keysVersion(), await store().keysVersion());
    });
  }
}
