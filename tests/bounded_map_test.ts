// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createRecentMap } from "../lib/bounded_map.ts";

describe("a recent map", () => {
  test("holds what was used last, as many as its capacity, and never more than twice as many", () => {
    const uses = fc.array(fc.integer({ min: 0, max: 30 }).map(String), { maxLength: 300 });
    fc.assert(fc.property(fc.integer({ min: 1, max: 8 }), uses, (capacity, keys) => {
      const map = createRecentMap<string>(capacity);
      const lastUsed: string[] = [];
      for (const key of keys) {
        const found = map.get(key);
        if (lastUsed.slice(0, capacity).includes(key)) assert.equal(found, `value of ${key}`);
        if (found === undefined) map.set(key, `value of ${key}`);
        if (lastUsed.includes(key)) lastUsed.splice(lastUsed.indexOf(key), 1);
        lastUsed.unshift(key);
        assert.ok(map.size <= 2 * capacity);
      }
    }));
  });

  test("replaces a value and forgets everything when cleared", () => {
    const map = createRecentMap<number>(2);
    map.set("a", 1);
    map.set("a", 2);
    assert.equal(map.get("a"), 2);
    map.clear();
    assert.equal(map.get("a"), undefined);
    assert.equal(map.size, 0);
  });
});
