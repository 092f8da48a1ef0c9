import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { type SchemaWords, sharedTables } from "../sql/schema.ts";
import { newerSchema, StoreError } from "../store_error.ts";

/** Marks our files (PRAGMA application_id): "PEGw" in ASCII. */
const APPLICATION_ID = 0x50454777;

/** Migrates one schema to the next, within a transaction. */
export type SqliteStep = (database: SqliteDatabase) => void;

/** The steps from schema 0, an empty file, to 1, and so on. A released step never changes. */
export const STEPS: SqliteStep[] = [makeTables];

/** The newest schema, which this program uses. */
export const SCHEMA_VERSION = STEPS.length;

/**
 * Rejects a foreign file, and a file of a newer program, before any change.
 * @throws StoreError `unavailable`, `newer_schema`
 */
export function checkOwnership(database: SqliteDatabase, location: string, newest = SCHEMA_VERSION): void {
  // One snapshot: another process may be making the store.
  database.exec("BEGIN");
  const applicationId = readPragma(database, "application_id");
  const version = readPragma(database, "user_version");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  database.exec("COMMIT");
  if (applicationId !== APPLICATION_ID && !(applicationId === 0 && version === 0 && isEmpty)) {
    throw new StoreError("unavailable", `${location} is the database of another program: name another file`);
  }
  if (version > newest) throw newerSchema(location, version, newest);
}

/** Whether this is a file of ours, of any schema. */
export function isOurs(database: SqliteDatabase): boolean {
  return readPragma(database, "application_id") === APPLICATION_ID;
}

/** The schema version of the file. 0: the file is empty. */
export function schemaVersion(database: SqliteDatabase): number {
  return readPragma(database, "user_version");
}

/** Migrates the file to the newest schema in one transaction, so it never has half of one. Other processes may do the same. */
export function migrate(database: SqliteDatabase, steps = STEPS): void {
  if (schemaVersion(database) === steps.length) return;
  database.transaction(() => {
    for (const step of steps.slice(schemaVersion(database))) step(database);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}`);
  });
}

function readPragma(database: SqliteDatabase, name: "application_id" | "user_version"): number {
  return database.prepare(`PRAGMA ${name}`).get()?.[name] as number;
}

function makeTables(database: SqliteDatabase): void {
  database.exec(sharedTables(WORDS) + OWN_TABLES);
  database.prepare("INSERT INTO store VALUES (?)").run(randomBase62(12, randomBytes));
}

const WORDS: SchemaWords = {
  prefix: "",
  int: "INTEGER",
  real: "REAL",
  bool: "INTEGER",
  bytes: "BLOB",
  packed: "ANY",
  ordered: "TEXT",
  serial: "INTEGER PRIMARY KEY AUTOINCREMENT",
  end: " STRICT",
  endByKey: " STRICT, WITHOUT ROWID",
};

/**
 * Every filter of the log is a range of one index, whatever the depth. Equal columns come first, then the sequence: it is the
 * rowid, which ends every index. A query without types merges the ranges of all types, so no index without `type` is needed.
 *
 * Events name their type and their contract by number, because the texts are few and long. Rows of webhooks name a subscription
 * by its number, which is never assigned again.
 */
const OWN_TABLES = `
  CREATE TABLE store (id TEXT NOT NULL) STRICT;

  -- Triggers, so that a running gateway sees a change by hand too.
  CREATE TABLE keys_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO keys_version VALUES (0);
  CREATE TRIGGER api_key_inserted AFTER INSERT ON api_key BEGIN UPDATE keys_version SET version = version + 1; END;
  CREATE TRIGGER api_key_deleted AFTER DELETE ON api_key BEGIN UPDATE keys_version SET version = version + 1; END;
  CREATE TRIGGER api_key_updated AFTER UPDATE OF id, name, hash, scopes, rate, disabled, created_at, expires_at ON api_key
    BEGIN UPDATE keys_version SET version = version + 1; END;

  -- The number of intents of each API key, and of all (key_id '').
  CREATE TABLE intent_count (key_id TEXT NOT NULL PRIMARY KEY, intents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER intent_inserted AFTER INSERT ON intent BEGIN
    INSERT INTO intent_count VALUES (NEW.key_id, 1), ('', 1) ON CONFLICT DO UPDATE SET intents = intents + 1;
  END;
  CREATE TRIGGER intent_deleted AFTER DELETE ON intent BEGIN
    UPDATE intent_count SET intents = intents - 1 WHERE key_id IN (OLD.key_id, '');
    DELETE FROM intent_count WHERE key_id IN (OLD.key_id, '') AND intents = 0;
  END;

  -- Hashes have 32 bytes, addresses the 35 bytes of their base32. Other values are text (codec.ts).
  CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    type INTEGER NOT NULL,
    contract INTEGER NOT NULL,
    height INTEGER NOT NULL, -- the event's id, with the next two columns
    place INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    closed_at INTEGER NOT NULL, -- Unix seconds
    known_at INTEGER NOT NULL, -- Unix seconds
    is_late INTEGER NOT NULL, -- the log already had an event of a greater height
    tx_hash ANY NOT NULL,
    device_hash ANY,
    agent ANY,
    merchant ANY,
    amount TEXT,
    payment TEXT -- JSON, what a payment's or a claim's transaction shows
  ) STRICT;
  CREATE UNIQUE INDEX event_by_id ON event (height, place, event_index);
  CREATE INDEX event_by_type ON event (type);
  CREATE INDEX event_by_tx_hash ON event (tx_hash);
  CREATE INDEX event_by_device_hash ON event (device_hash, type) WHERE device_hash IS NOT NULL;
  CREATE INDEX event_by_agent ON event (agent, type) WHERE agent IS NOT NULL;
  CREATE INDEX event_by_merchant ON event (merchant, type) WHERE merchant IS NOT NULL;
  CREATE INDEX event_late ON event (sequence) WHERE is_late = 1;

  CREATE TABLE log_start (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), forgotten INTEGER NOT NULL) STRICT;
  INSERT INTO log_start VALUES (1, 0);
  CREATE TABLE watcher (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), state TEXT NOT NULL) STRICT; -- JSON

  -- One small row for each subscription. A delivery at the first attempt changes only this row, and adds its attempt.
  CREATE TABLE progress (
    subscription INTEGER PRIMARY KEY,
    version INTEGER NOT NULL DEFAULT 0, -- rises with each change
    cursor INTEGER NOT NULL,
    failing_since_ms INTEGER,
    retrying INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0, -- with those without a row
    dead INTEGER NOT NULL DEFAULT 0, -- with those without a row
    rejected_kept INTEGER NOT NULL DEFAULT 0,
    dead_kept INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0 -- ordinal of the newest
  ) STRICT;

  -- A ring for each subscription: the newest attempt replaces the oldest.
  CREATE TABLE attempt (
    place INTEGER PRIMARY KEY, -- number of the subscription × 1 000 + ordinal modulo 1 000
    ordinal INTEGER NOT NULL,
    replay_id TEXT,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    outcome TEXT NOT NULL,
    status_code INTEGER,
    error TEXT,
    response_body TEXT,
    next_attempt_at_ms INTEGER
  ) STRICT;

  CREATE TABLE subscriptions_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO subscriptions_version VALUES (0);

  CREATE TRIGGER subscription_inserted AFTER INSERT ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
  END;
  CREATE TRIGGER subscription_updated AFTER UPDATE ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
  END;
  CREATE TRIGGER replay_inserted AFTER INSERT ON replay BEGIN
    UPDATE subscriptions_version SET version = version + 1;
  END;
  CREATE TRIGGER subscription_deleted AFTER DELETE ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
    DELETE FROM progress WHERE subscription = OLD.number;
    DELETE FROM replay WHERE subscription = OLD.number;
    INSERT INTO deleted_subscription VALUES (OLD.number);
  END;
`;
