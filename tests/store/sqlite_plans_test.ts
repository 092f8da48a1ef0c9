import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { createSqliteStore } from "../../lib/store/sqlite/store.ts";
import { migrate } from "../../lib/store/sqlite/schema.ts";

/** Every statement that the store prepares, with the steps of SQLite's plan for it. */
async function plans(): Promise<{ sql: string; steps: string[] }[]> {
  const database = await openSqlite(":memory:");
  migrate(database);
  const statements: string[] = [];
  const listening = {
    ...database,
    prepare(sql: string) {
      statements.push(sql);
      return database.prepare(sql);
    },
  };
  createSqliteStore(listening, "memory:", () => Promise.resolve({ release() {} }));
  const found = statements.map((sql) => {
    const params = (sql.match(/\?/g) ?? []).map(() => "1");
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params).map(({ detail }) => detail as string);
    return { sql: sql.replace(/\s+/g, " ").trim(), steps };
  });
  database.close();
  return found;
}

describe("what the sqlite store does does not get slower as it fills", () => {
  test("no statement goes through all deliveries, attempts, events, subscriptions or submissions", async () => {
    const wrong = (await plans()).filter(({ steps }) =>
      steps.some((step) => /^SCAN (delivery|attempt|event|subscription|submission)\b/.test(step))
    );
    assert.deepEqual(wrong, []);
  });

  test("no statement sorts deliveries, attempts or what can be leased: an index has them in order", async () => {
    const all = await plans();
    const sorting = all.filter(({ sql, steps }) =>
      /\b(delivery|attempt|outbox)\b/.test(sql) && steps.some((step) => /TEMP B-TREE/.test(step))
    );
    assert.deepEqual(sorting, []);
    const due = all.find(({ sql }) => sql.includes("FROM delivery JOIN event"))!;
    assert.match(due.steps[0]!, /^SEARCH delivery USING INDEX delivery_by_due \(subscription=\? AND due_at_ms<\?\)$/);
    const leasable = all.find(({ sql }) => sql.includes("FROM outbox JOIN subscription"))!;
    assert.match(leasable.steps[0]!, /^SEARCH outbox USING INDEX outbox_by_time \(leasable_at_ms<\?\)$/);
  });
});
