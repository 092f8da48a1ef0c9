import type { SqliteDatabase } from "../../runtime/sqlite.ts";

/** Intents, nonces that are out, and how submissions ended: new in schema 5. */
const TABLES = `
  ALTER TABLE submission ADD COLUMN source TEXT;
  ALTER TABLE submission ADD COLUMN operation TEXT;
  ALTER TABLE submission ADD COLUMN outcome TEXT; -- JSON; null: not known yet
  CREATE INDEX submission_unsettled ON submission (hash) WHERE outcome IS NULL AND source IS NOT NULL;
  CREATE INDEX submission_unsettled_of ON submission (source, hash) WHERE outcome IS NULL AND source IS NOT NULL;

  CREATE TABLE intent (
    key_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    id TEXT NOT NULL,
    term INTEGER NOT NULL,
    request TEXT NOT NULL,
    claimed_by TEXT, -- a handle on this file; null: nobody
    claimed_until_ms INTEGER NOT NULL,
    claim_duration_ms INTEGER NOT NULL,
    completed_at_ms INTEGER NOT NULL, -- or last claimed
    result TEXT,
    UNIQUE (key_id, kind, key)
  ) STRICT;
  CREATE INDEX intent_by_time ON intent (completed_at_ms);

  -- How many there are of each API key, and (key_id '') in all.
  CREATE TABLE intent_count (key_id TEXT NOT NULL PRIMARY KEY, intents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER intent_inserted AFTER INSERT ON intent BEGIN
    INSERT INTO intent_count VALUES (NEW.key_id, 1), ('', 1) ON CONFLICT DO UPDATE SET intents = intents + 1;
  END;
  CREATE TRIGGER intent_deleted AFTER DELETE ON intent BEGIN
    UPDATE intent_count SET intents = intents - 1 WHERE key_id IN (OLD.key_id, '');
    DELETE FROM intent_count WHERE key_id IN (OLD.key_id, '') AND intents = 0;
  END;

  CREATE TABLE nonce_out (
    device_hash TEXT NOT NULL,
    agent TEXT NOT NULL,
    nonce TEXT NOT NULL, -- decimal: 64 bits without a sign
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (device_hash, agent)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nonce_out_by_time ON nonce_out (until_ms);
`;

/** From schema 4 to 5, to be called within a transaction. */
export function addIntents(database: SqliteDatabase): void {
  database.exec(TABLES);
}
