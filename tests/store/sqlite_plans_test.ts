// needs: once
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openSqlite, type SqliteDatabase, type SqliteStatement } from "../../lib/runtime/sqlite.ts";
import type { EventFilter } from "../../lib/store/event.ts";
import { migrate } from "../../lib/store/sqlite/schema.ts";
import { createSqliteDriver } from "../../lib/store/sqlite/open.ts";
import type { EventStore, Store } from "../../lib/store/store.ts";
import { sampleEvent, sampleState } from "./samples.ts";

/** A driver that records its prepared statements. */
async function listening() {
  const database = await openSqlite(":memory:");
  migrate(database);
  const statements: string[] = [];
  const heard: SqliteDatabase = {
    ...database,
    prepare<R>(sql: string): SqliteStatement<R> {
      statements.push(sql);
      return database.prepare<R>(sql);
    },
  };
  const driver = createSqliteDriver(heard, "memory:", {}, () => Promise.resolve({ release() {} }));
  const planOf = (sql: string) => {
    const params = Array.from({ length: Math.max(...numbersOf(sql)) }, () => 1);
    return database.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...params).map(({ detail }) => detail);
  };
  return { database, driver, statements, planOf };
}

/** The number of parameters of a statement, numbered or not. */
function numbersOf(sql: string): number[] {
  const named = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number));
  return [0, (sql.match(/\?(?!\d)/g) ?? []).length, ...named];
}

const GROWING =
  "event|undecoded_event|failed_delivery|failed|attempt|submission|sent_transaction|reference|intent|subscription|progress|replay|height_start";

describe("the sqlite store does not get slower as it fills", () => {
  test("no statement reads all of a growing table", async () => {
    const { statements, planOf } = await listening();
    // But for when a network goes back, which only a local one does: then it is about all subscriptions.
    // The retention read ends at the first remaining height, as a test below shows.
    const wrong = statements.filter((sql) =>
      !/^\s*(UPDATE subscription SET start_height|DELETE FROM height_start)\b/.test(sql)
    )
      .map((sql) => ({ sql, steps: planOf(sql) }))
      .filter(({ steps }) => steps.some((step) => new RegExp(`^SCAN (${GROWING})\\b`).test(step)));
    assert.deepEqual(wrong.map(({ sql, steps }) => [sql.replace(/\s+/g, " "), steps]), []);
  });

  test("no statement sorts a growing table: an index provides the order", async () => {
    const { statements, planOf } = await listening();
    const sorting = statements.filter((sql) => planOf(sql).some((step) => /TEMP B-TREE/.test(step)));
    // One step of `forget` sorts few rows, and a statement may sort the rows of its caller.
    const isBounded = (sql: string) => /GROUP BY subscription, state|json_each/.test(sql);
    assert.deepEqual(sorting.filter((sql) => !isBounded(sql)), []);
  });

  test("the deletion of an event does not take longer with many later events", async () => {
    /** The shortest of many, because other processes may use the machine. */
    async function forgettingMs(heights: number): Promise<number> {
      const { database, driver: { events, leases } } = await listening();
      const lease = (await leases.acquire({ name: "watcher", holder: "h", durationMs: 1 }))!;
      const held = Array.from({ length: 40 }, (_, n) => sampleEvent(n + 1));
      await events.append({ lease, events: held, state: sampleState(1_001) });
      database.exec(`
        WITH RECURSIVE later (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM later WHERE n < ${heights})
        INSERT INTO height_start SELECT (SELECT max(height) FROM event) + n, 40 + n FROM later`);
      let shortest = Infinity;
      for (let upTo = 1; upTo < 40; upTo++) {
        const begunAt = performance.now();
        await events.forget({ upTo, undelivered: [] });
        shortest = Math.min(shortest, performance.now() - begunAt);
      }
      assert.equal(database.prepare("SELECT * FROM height_start").all().length, heights + 2);
      return shortest;
    }
    const [ofFew, ofMany] = [await forgettingMs(10), await forgettingMs(300_000)];
    assert.ok(ofMany < 0.5 + ofFew * 10, `${ofMany} ms instead of ${ofFew} ms`);
  });

  test("a page of a list is ranges of one index that the time and the cursor both bound", async () => {
    const { driver, statements, planOf } = await listening();
    const { transactions, payments } = driver as unknown as Pick<Store, "transactions" | "payments">;
    const lists = [
      async (order: "asc" | "desc") => {
        const [filter, after] = [{ kind: "k", fromMs: 5, toMs: 900 }, { submittedAtMs: 400, hash: "ab" }];
        await transactions.list({ keyId: "k", filter, order, after, limit: 9 });
      },
      async (order: "asc" | "desc") => {
        const [filter, after] = [{ merchant: "M", from: 5, to: 900 }, { authorizedAt: 400, id: sampleEvent(1).id }];
        await payments.list({ filter, order, after, limit: 9 });
      },
    ];
    for (const list of lists) {
      for (const order of ["asc", "desc"] as const) {
        const before = statements.length;
        await list(order);
        const [sql, ...more] = statements.slice(before);
        assert.deepEqual(more, []);
        const found = planOf(sql!).filter((step) => /(SEARCH|SCAN) (sent_transaction|payment)/.test(step));
        assert.equal(found.length, 4);
        for (const step of found) {
          assert.match(
            step,
            /INDEX (sent_transaction_by_kind|payment_by_merchant) .*(place|in_index)>\? AND (place|in_index)<\?\)$/,
          );
        }
      }
    }
  });

  const searches: [string, EventFilter, RegExp[]][] = [
    ["nothing", {}, [/^SEARCH event USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/]],
    ["a type", { types: ["a"] }, [/INDEX event_by_type \(type=\? AND rowid>\? AND rowid<\?\)$/]],
    ["a device", { deviceHash: "d" }, [
      /INDEX event_by_device_hash \(device_hash=\? AND type=\? AND rowid>\? AND rowid<\?\)$/,
    ]],
    ["an agent", { agent: "d" }, [/INDEX event_by_agent \(agent=\? AND type=\? AND rowid>\? AND rowid<\?\)$/]],
    ["a merchant", { merchant: "d", types: ["a", "b"] }, [
      /INDEX event_by_merchant \(merchant=\? AND type=\? AND rowid>\? AND rowid<\?\)$/,
    ]],
    ["a transaction", { txHash: "h", types: ["a"] }, [
      /INDEX event_by_tx_hash \(tx_hash=\? AND rowid>\? AND rowid<\?\)$/,
    ]],
    ["an end", { types: ["a"], toHeight: 1_001 }, [
      /INDEX event_by_type \(type=\? AND rowid>\? AND rowid<\?\)$/,
      /INDEX event_late \(sequence>\? AND sequence<\?\)$/,
    ]],
  ];
  for (const [name, filter, ranges] of searches) {
    test(`a filter on ${name} is ranges of one index, in order`, async () => {
      const { driver, statements, planOf } = await listening();
      const { events, leases } = driver;
      const lease = (await leases.acquire({ name: "watcher", holder: "h", durationMs: 1 }))!;
      const held = [sampleEvent(1, { type: "a" }), sampleEvent(2, { type: "b" })];
      await events.append({ lease, events: held, state: sampleState(1_001) });
      const before = statements.length;
      await (events.read as EventStore["read"])({ filter, order: "desc", limit: 100 });
      const [sql, ...more] = statements.slice(before);
      assert.deepEqual(more, []);
      const steps = planOf(sql!);
      const found = steps.filter((step) => /^(SEARCH|SCAN)/.test(step));
      assert.ok(found.length > 0);
      for (const step of found) assert.ok(ranges.some((range) => range.test(step)), step);
      for (const range of ranges) assert.ok(found.some((step) => range.test(step)), String(range));
      for (const step of steps) assert.doesNotMatch(step, /TEMP B-TREE/);
    });
  }
});
