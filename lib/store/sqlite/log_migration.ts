import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { sqliteEventRows } from "./event_rows.ts";
import { sqliteLog } from "./log.ts";
import { migrateEvents, migrateUndecoded, migrateWatcher } from "./migrate_events.ts";
import { migrateReaders } from "./migrate_readers.ts";
import { LASTING_TABLES, LOG_INDEXES, LOG_TABLES, READER_TABLES, READER_TRIGGERS } from "./schema_4.ts";

/** What schema 3 kept otherwise: moved out of the way as `former_…`, and gone at the end. */
const FORMER_TABLES = [
  "event",
  "undecoded_event",
  "watcher",
  "gap",
  "subscription",
  "outbox",
  "delivery",
  "attempt",
  "replay",
  "fan_out",
  "deleted_subscription",
  "subscriptions_version",
  "late_event",
  "pruned",
];

/**
 * From schema 3 to 4, to be called within a transaction: the history becomes a log, and what webhooks are owed becomes
 * cursors and failed deliveries. Its memory does not grow with the store; a million events take less than a minute.
 */
export function migrateToLog(database: SqliteDatabase): void {
  moveAside(database);
  database.exec(LOG_TABLES + READER_TABLES);
  nameStore(database);

  const rows = sqliteEventRows(database);
  const inOrder = migrateEvents(database, rows, sqliteLog({ database }));
  migrateUndecoded(database, rows);
  database.exec(LOG_INDEXES);
  migrateWatcher(database);
  migrateReaders(database, inOrder);
  database.exec(READER_TRIGGERS);
  for (const table of FORMER_TABLES) database.exec(`DROP TABLE former_${table}`);
}

/** Makes schema 4 where there is nothing yet, within a transaction. */
export function createLog(database: SqliteDatabase): void {
  database.exec(LASTING_TABLES + LOG_TABLES + READER_TABLES + LOG_INDEXES + READER_TRIGGERS);
  nameStore(database);
}

function nameStore(database: SqliteDatabase): void {
  database.prepare("INSERT INTO store VALUES (?)").run(randomBase62(12, randomBytes));
}

/** Names of triggers and indexes are taken as long as they are there. */
function moveAside(database: SqliteDatabase): void {
  const named = database.prepare<{ type: string; name: string }>(`
    SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL
      AND tbl_name IN (${FORMER_TABLES.map((table) => `'${table}'`).join(", ")})`);
  for (const { type, name } of named.all()) database.exec(`DROP ${type} ${name}`);
  for (const table of FORMER_TABLES) database.exec(`ALTER TABLE ${table} RENAME TO former_${table}`);
}
