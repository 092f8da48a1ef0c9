import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { pageQuery } from "../../lib/store/sqlite/history.ts";
import { migrate } from "../../lib/store/sqlite/schema.ts";
import type { EventQuery } from "../../lib/store/store.ts";

const TYPES = ["escrow.funded", "payment.authorized", "payment.claimed"];

/** The steps of SQLite's plan for a page. */
async function planOf(query: Omit<EventQuery, "limit">, types?: string[]): Promise<string[]> {
  const database = await openSqlite(":memory:");
  migrate(database);
  const { sql, params } = pageQuery({ limit: 100, after: "0", ...query }, types);
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params).map(({ detail }) => detail as string);
  database.close();
  return steps;
}

describe("every page of the history is ranges of one index, in order", () => {
  const cases: [string, Omit<EventQuery, "limit">, string[] | undefined, RegExp][] = [
    ["no filter", {}, undefined, /sqlite_autoindex_event_1 \(position>\? AND position<\?\)$/],
    ["types", {}, TYPES, /INDEX event_by_type \(type=\? AND position>\? AND position<\?\)$/],
    [
      "a device",
      { deviceHash: "d" },
      TYPES,
      /INDEX event_by_device \(device_hash=\? AND type=\? AND position>\? AND position<\?\)$/,
    ],
    [
      "a merchant",
      { merchant: "m" },
      TYPES,
      /INDEX event_by_merchant \(merchant=\? AND type=\? AND position>\? AND position<\?\)$/,
    ],
    [
      "a device and a merchant",
      { deviceHash: "d", merchant: "m" },
      TYPES,
      /INDEX event_by_device_and_merchant \(device_hash=\? AND merchant=\? AND type=\? AND position>\? AND position<\?\)$/,
    ],
  ];
  for (const [name, query, types, range] of cases) {
    test(`with ${name}`, async () => {
      const steps = await planOf(query, types);
      const searches = steps.filter((step) => /^(SEARCH|SCAN)/.test(step));
      assert.equal(searches.length, types?.length ?? 1);
      for (const search of searches) assert.match(search, range);
      for (const step of steps) assert.doesNotMatch(step, /TEMP B-TREE/);
    });

    test(`with ${name}, of one type`, async () => {
      const steps = await planOf(query, types?.slice(0, 1));
      assert.equal(steps.length, 1);
      assert.match(steps[0]!, range);
    });
  }
});
