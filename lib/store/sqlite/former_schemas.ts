/** How a file of schema 1 came to schema 2, and one of schema 2 to schema 3, as SQL. None is ever changed. */
export const FORMER_STEPS: string[] = [
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
