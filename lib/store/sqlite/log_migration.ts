import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { LOG_INDEXES, LOG_TABLES, READER_TABLES, READER_TRIGGERS } from "./log_schema.ts";

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

/** From schema 3 to 4, within a transaction. */
export function migrateToLog(database: SqliteDatabase): void {
  for (const table of FORMER_TABLES) database.exec(`DROP TABLE ${table}`);
  database.exec(LOG_TABLES + READER_TABLES);
  database.prepare("INSERT INTO store VALUES (?)").run(randomBase62(12, randomBytes));
  database.exec(LOG_INDEXES + READER_TRIGGERS);
}
