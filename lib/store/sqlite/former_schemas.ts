/** How schemas 1, 2 and 3 came to be, as SQL: each step begins where the one before ended. None is ever changed. */
export const FORMER_SCHEMAS: string[] = [
  `
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
  `,
  `
  -- The number stands for the id in what deliveries and attempts keep; it is never given out again.
  CREATE TABLE subscription (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    url TEXT NOT NULL,
    types TEXT, -- comma-separated; null: all
    device_hash TEXT,
    merchant TEXT,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until_ms INTEGER,
    created_at TEXT NOT NULL,
    start_position TEXT NOT NULL
  ) STRICT;
  CREATE INDEX subscription_by_key ON subscription (key_id, id);

  -- One row a subscription: what it is owed in sum, and who may deliver it.
  CREATE TABLE outbox (
    subscription INTEGER NOT NULL PRIMARY KEY,
    pending INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    oldest_created_at_ms INTEGER, -- of what is pending
    due_at_ms INTEGER, -- the earliest of what is pending
    lease_token TEXT,
    held_until_ms INTEGER NOT NULL DEFAULT 0, -- leased, or held back, until then
    leasable_at_ms INTEGER GENERATED ALWAYS AS (max(due_at_ms, held_until_ms)) VIRTUAL
  ) STRICT;
  CREATE INDEX outbox_by_time ON outbox (leasable_at_ms) WHERE leasable_at_ms IS NOT NULL;

  CREATE TABLE delivery (
    subscription INTEGER NOT NULL,
    id TEXT NOT NULL,
    position TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at_ms INTEGER, -- null: dead
    created_at_ms INTEGER NOT NULL,
    UNIQUE (id, subscription) -- ids begin with the position: what one event makes lies together, at the end
  ) STRICT;
  CREATE INDEX delivery_by_due ON delivery (subscription, due_at_ms, position) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX delivery_by_creation ON delivery (subscription, created_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX delivery_dead ON delivery (subscription) WHERE due_at_ms IS NULL;
  CREATE INDEX delivery_by_position ON delivery (position);

  CREATE TABLE attempt (
    subscription INTEGER NOT NULL,
    id TEXT NOT NULL,
    delivery_id TEXT,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    outcome TEXT NOT NULL,
    status_code INTEGER,
    error TEXT,
    response_body TEXT,
    next_attempt_at_ms INTEGER,
    UNIQUE (subscription, id)
  ) STRICT;
  CREATE INDEX attempt_by_time ON attempt (at_ms);

  CREATE TABLE replay (
    id TEXT NOT NULL PRIMARY KEY,
    subscription INTEGER NOT NULL UNIQUE,
    after_position TEXT NOT NULL,
    up_to_position TEXT NOT NULL,
    position TEXT NOT NULL,
    deliveries INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE fan_out (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), cursor TEXT NOT NULL) STRICT; -- JSON
  CREATE TABLE secrets_check (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), text TEXT NOT NULL) STRICT;

  -- Subscriptions that are gone, whose deliveries and attempts are not.
  CREATE TABLE deleted_subscription (number INTEGER NOT NULL PRIMARY KEY) STRICT;

  CREATE TABLE subscriptions_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO subscriptions_version VALUES (0);
  CREATE TRIGGER subscription_inserted AFTER INSERT ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
    INSERT INTO outbox (subscription) VALUES (NEW.number);
  END;
  CREATE TRIGGER subscription_updated AFTER UPDATE ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
  END;
  CREATE TRIGGER subscription_deleted AFTER DELETE ON subscription BEGIN
    UPDATE subscriptions_version SET version = version + 1;
    DELETE FROM outbox WHERE subscription = OLD.number;
    DELETE FROM replay WHERE subscription = OLD.number;
    INSERT INTO deleted_subscription VALUES (OLD.number);
  END;
  `,
  `
  -- Events that became known behind the fan-out cursor; the last subscription that got it, null: none has.
  CREATE TABLE late_event (position TEXT NOT NULL PRIMARY KEY, subscription_id TEXT) STRICT, WITHOUT ROWID;

  -- The last event that was forgotten.
  CREATE TABLE pruned (only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1), up_to TEXT NOT NULL) STRICT;

  ALTER TABLE subscription ADD COLUMN older_secret TEXT;
  ALTER TABLE subscription ADD COLUMN older_secret_until_ms INTEGER;
  `,
];
