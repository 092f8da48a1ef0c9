// needs: long, runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { ATTEMPTS_KEPT, FAILED_KEPT } from "../../lib/store/webhook.ts";
import { migrationContract } from "./contract_migration.ts";
import { type FormerSchema, makeFormerFile } from "./former_store.ts";
import { freshProgress, progressOf } from "./webhook_samples.ts";

const directory = mkdtempSync(join(tmpdir(), "log-migration-"));
let files = 0;

async function migrated(schema: FormerSchema, changes?: string): Promise<Store> {
  const path = join(directory, `${files++}.db`);
  await makeFormerFile(path, schema, changes);
  return await openStore(`sqlite:${path}`);
}

describe("a store of a program of before, on sqlite", () => {
  after(() => rmSync(directory, { recursive: true }));

  migrationContract({
    // The file of schema 4 was one of schema 3.
    schemas: ([1, 2, 3, 4] as const).map((schema) => ({ schema, content: schema === 4 ? 3 : schema })),
    migrated: (schema) => migrated(schema as FormerSchema),
  });

  for (const schema of [1, 2, 3, 4] as const) {
    test(`schema ${schema}: has the tables, indexes and triggers of a new store afterwards`, async () => {
      const paths = ["migrated", "new"].map((name) => join(directory, `${name}-${schema}.db`));
      await makeFormerFile(paths[0]!, schema);
      for (const path of paths) await (await openStore(`sqlite:${path}`)).close();
      const [migrated, made] = await Promise.all(paths.map(async (path) => {
        const database = await openSqlite(path);
        const all = database.prepare<{ type: string; name: string; sql: string }>(`
          SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`).all();
        const damage = database.prepare("PRAGMA integrity_check").all();
        assert.deepEqual(damage, [{ integrity_check: "ok" }]);
        database.close();
        return all.map(({ sql, ...rest }) => ({ ...rest, sql: sql.replace(/\s+/g, " ") }));
      }));
      assert.deepEqual(migrated, made);
    });
  }

  test("of many attempts and dead deliveries the newest are kept, and what a deleted subscription left is gone", async () => {
    const dead = FAILED_KEPT + 30;
    const store = await migrated(
      3,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
      INSERT INTO attempt SELECT 2, printf('at_%06d', i), NULL, 'e', 't', 1, i, 1, 'delivered', 200, NULL, NULL, NULL FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${dead})
      INSERT INTO event SELECT printf('0000/%019d-%010d', 103 << 32, 10 + i), printf('%019d-%010d', 103 << 32, 10 + i), 't', 'c',
        103, '2026-02-02T00:00:00Z', 'h', NULL, NULL, NULL, NULL FROM n;
      INSERT INTO delivery SELECT 1, position, position, 15, NULL, 7 FROM event WHERE type = 't';`,
    );
    const attempts = await store.deliveries.attempts("wh_b", { limit: 200 });
    assert.deepEqual([attempts[0]!.ordinal, attempts[0]!.atMs], [ATTEMPTS_KEPT, 1_200]);
    const oldest = await store.deliveries.attempts("wh_b", { before: 3, limit: 9 });
    assert.deepEqual(oldest.map(({ ordinal, atMs }) => [ordinal, atMs]), [[2, 202], [1, 201]]);

    assert.equal((await progressOf(store, "wh_a")).dead, dead + 1);
    const last = await store.deliveries.ended({ subscriptionId: "wh_a", before: 2 + 40, limit: 200 });
    // The log begins at 2 with these, and the newest dead one is of the second epoch.
    assert.equal(last.at(-1)!.delivery.sequence, 2 + dead + 1 - FAILED_KEPT);
    assert.equal(await store.subscriptions.purgeDeleted(), false);
    await store.close();
  });

  test("where fan-out had not begun, a subscription hears from its start", async () => {
    const store = await migrated(3, "DELETE FROM fan_out; DELETE FROM delivery; DELETE FROM late_event");
    assert.deepEqual(await progressOf(store, "wh_a"), freshProgress(1));
    await store.close();
  });
});
