// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { sqliteEventQueries } from "../../lib/store/sqlite/event_query.ts";

/** `types` of a query, as somebody may write them: the same two, in ever another order, each any number of times. */
const spelt = (n: number) => [...n.toString(2)].map((digit) => digit === "0" ? "payment.claimed" : "escrow.funded");

test("how often and in which order types are named makes no new statement", () => {
  const prepared = new Set<string>();
  const prepare = (sql: string) => {
    prepared.add(sql);
    return { get: () => ({ n: 0 }), all: () => [] };
  };
  const types = { find: (text: string) => text.length, numbers: () => [13, 15] };
  // The ledger after the asked one was reached in the midst of the log: what came late after it is asked for, too.
  const log = { reached: () => 50 };
  const queries = sqliteEventQueries({ prepare } as never, types as never, log as never);
  for (let n = 4; n < 500; n++) {
    for (const subject of [{}, { txHash: "ab".repeat(32) }, { deviceHash: "cd".repeat(32) }]) {
      const query = { filter: { types: spelt(n), toHeight: 5, ...subject }, upTo: 100, limit: 100 };
      queries.select({ ...query, order: "asc" });
      queries.select({ ...query, order: "desc" });
      queries.count(query);
    }
  }
  // Each of the nine with one type and with two.
  assert.equal(prepared.size, 18);
});
