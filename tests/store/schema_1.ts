/** The schema of the first release, as it was: a file of then must open for ever. */
export const SCHEMA_1 = `
  CREATE TABLE network (passphrase TEXT NOT NULL) STRICT;

  CREATE TABLE api_key (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes TEXT NOT NULL, -- comma-separated
    rate INTEGER,
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at TEXT NOT NULL,
    expires_at TEXT,
    last_used_at TEXT
  ) STRICT, WITHOUT ROWID;

  -- Triggers, so that a change made by hand is seen by a running gateway too.
  CREATE TABLE keys_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO keys_version VALUES (0);
  CREATE TRIGGER api_key_inserted AFTER INSERT ON api_key BEGIN UPDATE keys_version SET version = version + 1; END;
  CREATE TRIGGER api_key_deleted AFTER DELETE ON api_key BEGIN UPDATE keys_version SET version = version + 1; END;
  CREATE TRIGGER api_key_updated AFTER UPDATE OF id, name, hash, scopes, rate, disabled, created_at, expires_at ON api_key
    BEGIN UPDATE keys_version SET version = version + 1; END;

  CREATE TABLE bucket (
    key_id TEXT NOT NULL PRIMARY KEY,
    tokens REAL NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE event (
    position TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    ledger INTEGER NOT NULL,
    ledger_closed_at TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    device_hash TEXT,
    agent TEXT,
    merchant TEXT,
    amount TEXT
  ) STRICT;
  CREATE INDEX event_by_type ON event (type, position);
  CREATE INDEX event_by_device ON event (device_hash, type, position) WHERE device_hash IS NOT NULL;
  CREATE INDEX event_by_merchant ON event (merchant, type, position) WHERE merchant IS NOT NULL;
  CREATE INDEX event_by_device_and_merchant ON event (device_hash, merchant, type, position)
    WHERE device_hash IS NOT NULL AND merchant IS NOT NULL;

  CREATE TABLE undecoded_event (
    position TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    ledger INTEGER NOT NULL,
    ledger_closed_at TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    raw TEXT -- JSON
  ) STRICT;

  CREATE TABLE watcher (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), state TEXT NOT NULL) STRICT; -- JSON

  CREATE TABLE gap (
    epoch INTEGER NOT NULL,
    from_ledger INTEGER NOT NULL,
    to_ledger INTEGER NOT NULL,
    noticed_at TEXT NOT NULL,
    PRIMARY KEY (epoch, from_ledger, to_ledger)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE submission (
    hash TEXT NOT NULL PRIMARY KEY,
    valid_until INTEGER NOT NULL,
    submitted_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX submission_by_time ON submission (submitted_at_ms);

  PRAGMA application_id = 0x50454777;
  PRAGMA user_version = 1;
`;
