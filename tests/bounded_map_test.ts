// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createRecentMap } from "../lib/bounded_map.ts";

describe("a recent map", () => {
  test("holds at least the recently used entries up to its capacity, and never more than twice its capacity", () => {
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

  test("replaces a value, and is empty after clear()", () => {
    const map = createRecentMap<number>(2);
    map.set("a", 1);
    map.set("a", 2);
    assert.equal(map.get("a"), 2);
    map.clear();
    assert.equal(map.get("a"), undefined);
    assert.equal(map.size, 0);
  });
});
