import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openSqliteStore } from "../../lib/store/sqlite/store.ts";
import { APPLICATION_ID, MIGRATIONS } from "../../lib/store/sqlite/schema.ts";
import { sampleEvent, samplePosition, sampleState } from "./samples.ts";
import { sampleSubscription } from "./webhook_samples.ts";

const directory = mkdtempSync(join(tmpdir(), "sqlite-schema-2-"));
after(() => rmSync(directory, { recursive: true }));

test("a file of the release before late events keeps its subscriptions, and hears late events from then on", async () => {
  const path = join(directory, "gateway.db");
  const database = await openSqlite(path);
  const two = MIGRATIONS.slice(0, 2).join(";");
  database.exec(`${two}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 2`);
  const { id, keyId, url, secret, createdAt, startPosition } = sampleSubscription("wh_1");
  database.prepare(`
    INSERT INTO subscription (id, key_id, url, secret, previous_secret, previous_secret_until_ms, created_at, start_position)
    VALUES (?, ?, ?, ?, 'whsec_before', 5, ?, ?)`).run(id, keyId, url, secret, createdAt, startPosition);
  const cursor = { position: samplePosition(5), lastDueAtMs: 7 };
  database.prepare("INSERT INTO fan_out VALUES (1, ?)").run(JSON.stringify(cursor));
  database.prepare("INSERT INTO watcher VALUES (1, ?)").run(JSON.stringify(sampleState(1_005)));
  database.close();

  const store = await openSqliteStore(path);
  const previousSecret = { secret: "whsec_before", untilMs: 5 };
  assert.deepEqual(await store.getSubscription("wh_1"), sampleSubscription("wh_1", { previousSecret }));
  assert.deepEqual(await store.fanOutCursor(), cursor);
  assert.equal(await store.prunedUpTo(), undefined);
  await store.commitEvents({ events: [sampleEvent(4)], state: sampleState(1_005) });
  assert.deepEqual(await store.lateEvents(9), [{ event: sampleEvent(4) }]);
  assert.deepEqual(await store.fanOutCursor(), { ...cursor, rereads: 1 });
  await store.close();
});
