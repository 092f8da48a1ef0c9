import assert from "node:assert/strict";
import { test } from "node:test";
import type { BucketState } from "../../lib/store/store.ts";
import type { Subject } from "./store_contract.ts";

export function bucketContract({ store }: Subject): void {
  const inOrder = async () => (await store().buckets.load()).sort((left, right) => left.keyId < right.keyId ? -1 : 1);

  test("buckets.save writes 500 at once into a store without buckets, and replaces earlier ones", async () => {
    assert.deepEqual(await store().buckets.load(), []);
    const buckets: BucketState[] = Array.from(
      { length: 500 },
      (_, n) => ({ keyId: `key-${String(n).padStart(4, "0")}`, tokens: n / 3, updatedAtMs: 1_793_491_200_000 + n }),
    );
    await store().buckets.save(buckets);
    assert.deepEqual(await inOrder(), buckets);
    const spent = { keyId: "key-0007", tokens: 0, updatedAtMs: 1_793_491_300_000 };
    await store().buckets.save([spent]);
    assert.deepEqual((await inOrder())[7], spent);
    assert.equal((await store().buckets.load()).length, 500);
    await store().buckets.save([]);
  });

  test("buckets.prune deletes the buckets last written before the time, and only them", async () => {
    const buckets = Array.from({ length: 45 }, (_, n) => ({ keyId: `key-${n + 10}`, tokens: 1, updatedAtMs: n }));
    await store().buckets.save(buckets);
    await store().buckets.prune(33);
    assert.deepEqual(await inOrder(), buckets.slice(33));
    await store().buckets.prune(33);
    assert.equal((await store().buckets.load()).length, 12);
  });

  test("buckets.prune keeps buckets that are written while it runs", async () => {
    const old = Array.from({ length: 500 }, (_, n) => ({ keyId: `key-${n}`, tokens: 1, updatedAtMs: 1 }));
    await store().buckets.save(old);
    const fresh = old.filter((_, n) => n % 50 === 0).map((bucket) => ({ ...bucket, updatedAtMs: 9 }));
    await Promise.all([store().buckets.prune(5), store().buckets.save(fresh)]);
    assert.deepEqual((await inOrder()).map(({ keyId }) => keyId), fresh.map(({ keyId }) => keyId).sort());
  });
}
