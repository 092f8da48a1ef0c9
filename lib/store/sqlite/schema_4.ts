/** Network, API keys, buckets and submissions: as they were in schema 1; the secrets check came with schema 2. */
export const LASTING_TABLES = `
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

  CREATE TABLE submission (
    hash TEXT NOT NULL PRIMARY KEY,
    valid_until INTEGER NOT NULL,
    submitted_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX submission_by_time ON submission (submitted_at_ms);

  CREATE TABLE secrets_check (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), text TEXT NOT NULL) STRICT;
`;

/**
 * The log, new in schema 4.
 *
 * Every filter of the log is a range of one index, whatever the depth: equal columns first, then the sequence, which as the
 * rowid ends every index. A query without types merges the ranges of all types, which spares indexes without `type`.
 */
export const LOG_TABLES = `
  CREATE TABLE store (id TEXT NOT NULL) STRICT;

  -- Few and long: events name them by number.
  CREATE TABLE event_type (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE contract (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

  -- Hashes are 32 bytes, addresses the 35 that their base32 stands for; anything else is text (packing.ts).
  CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    type INTEGER NOT NULL,
    contract INTEGER NOT NULL,
    height INTEGER NOT NULL, -- with the next two the event's id
    place INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    closed_at INTEGER NOT NULL, -- Unix seconds
    known_at INTEGER NOT NULL, -- Unix seconds
    is_late INTEGER NOT NULL, -- an event of a greater height was known before
    tx_hash ANY NOT NULL,
    device_hash ANY,
    agent ANY,
    merchant ANY,
    amount TEXT
  ) STRICT;

  -- Of each height that was the highest so far: the sequence that reached it.
  CREATE TABLE height_start (height INTEGER PRIMARY KEY, sequence INTEGER NOT NULL) STRICT;

  CREATE TABLE log (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), forgotten INTEGER NOT NULL) STRICT;
  INSERT INTO log VALUES (1, 0);

  CREATE TABLE undecoded_event (
    height INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    contract INTEGER NOT NULL,
    closed_at INTEGER NOT NULL,
    tx_hash ANY NOT NULL,
    raw TEXT NOT NULL, -- JSON
    UNIQUE (height, place, event_index)
  ) STRICT;

  CREATE TABLE watcher (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), state TEXT NOT NULL) STRICT; -- JSON

  CREATE TABLE lease (
    name TEXT NOT NULL PRIMARY KEY,
    term INTEGER NOT NULL,
    holder TEXT, -- null: given back
    until_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** Made when the events are in their place: that is quicker than keeping them up for each. */
export const LOG_INDEXES = `
  CREATE UNIQUE INDEX event_by_id ON event (height, place, event_index);
  CREATE INDEX event_by_type ON event (type);
  CREATE INDEX event_by_tx_hash ON event (tx_hash);
  CREATE INDEX event_by_device_hash ON event (device_hash, type) WHERE device_hash IS NOT NULL;
  CREATE INDEX event_by_agent ON event (agent, type) WHERE agent IS NOT NULL;
  CREATE INDEX event_by_merchant ON event (merchant, type) WHERE merchant IS NOT NULL;
  CREATE INDEX event_late ON event (sequence) WHERE is_late = 1;
  CREATE INDEX undecoded_event_by_time ON undecoded_event (closed_at);
`;

/** Subscriptions and what is kept of each, new in schema 4. */
export const READER_TABLES = `
  -- The number stands for the id in what is kept of deliveries and attempts; it is never given out again.
  CREATE TABLE subscription (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    url TEXT NOT NULL,
    types TEXT, -- comma-separated; null: all
    device_hash TEXT,
    merchant TEXT,
    ordered INTEGER NOT NULL CHECK (ordered IN (0, 1)),
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until_ms INTEGER,
    older_secret TEXT,
    older_secret_until_ms INTEGER,
    created_at TEXT NOT NULL,
    start_height INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX subscription_by_key ON subscription (key_id, id);

  -- One small row a subscription: all that a delivery at the first attempt changes beside its attempt.
  CREATE TABLE progress (
    subscription INTEGER PRIMARY KEY,
    cursor INTEGER NOT NULL,
    failing_since_ms INTEGER,
    retrying INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0, -- kept or not
    dead INTEGER NOT NULL DEFAULT 0, -- kept or not
    rejected_kept INTEGER NOT NULL DEFAULT 0,
    dead_kept INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0 -- ordinal of the newest
  ) STRICT;

  CREATE TABLE failed_delivery (
    subscription INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at_ms INTEGER,
    failed_at_ms INTEGER NOT NULL,
    PRIMARY KEY (subscription, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX failed_delivery_by_state ON failed_delivery (subscription, state, sequence);
  CREATE INDEX failed_delivery_by_due ON failed_delivery (subscription, due_at_ms, sequence) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX failed_delivery_by_sequence ON failed_delivery (sequence);

  -- A ring for each subscription: the newest attempt takes the place of the oldest, and nothing is deleted.
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

  CREATE TABLE replay (
    id TEXT NOT NULL PRIMARY KEY,
    subscription INTEGER NOT NULL UNIQUE,
    from_height INTEGER NOT NULL,
    to_height INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    end_sequence INTEGER,
    deliveries INTEGER NOT NULL,
    at_least INTEGER NOT NULL CHECK (at_least IN (0, 1)),
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Subscriptions that are gone, whose failed deliveries and attempts may not be.
  CREATE TABLE deleted_subscription (number INTEGER NOT NULL PRIMARY KEY) STRICT;

  CREATE TABLE subscriptions_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO subscriptions_version VALUES (0);
`;

/** Made when the subscriptions are in their place. */
export const READER_TRIGGERS = `
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
