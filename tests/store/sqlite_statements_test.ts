// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { sqliteEventQueries } from "../../lib/store/sqlite/event_query.ts";

/** The `types` of a query: the same two types, in many orders and any number of times. */
const spelt = (n: number) => [...n.toString(2)].map((digit) => digit === "0" ? "payment.claimed" : "escrow.funded");

test("a query that repeats types, or names them in another order, needs no new statement", async () => {
  const prepared = new Set<string>();
  const read = ({ text }: { text: string }) => {
    prepared.add(text);
    return [{ n: 0 }];
  };
  const types = { find: (text: string) => text.length, numbers: () => [13, 15] };
  // The log reached the ledger after the last one halfway, so each query also reads late events.
  const log = { reached: () => 50 };
  const queries = sqliteEventQueries({ read } as never, types as never, log);
  for (let n = 4; n < 500; n++) {
    for (const subject of [{}, { txHash: "ab".repeat(32) }, { deviceHash: "cd".repeat(32) }]) {
      const query = { filter: { types: spelt(n), toHeight: 5, ...subject }, upTo: 100, limit: 100 };
      await queries.select({ ...query, order: "asc" });
      await queries.select({ ...query, order: "desc" });
      await queries.count(query);
    }
  }
  // Each of the nine with one type and with two.
  assert.equal(prepared.size, 18);
});
