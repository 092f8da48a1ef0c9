import { OWN_EVENT_TYPES } from "../event.ts";

/** The words of a dialect in the definitions of tables. */
export interface SchemaWords {
  /** Stands before the name of every table. */
  prefix: string;
  /** 64 bits with a sign. */
  int: string;
  real: string;
  bool: string;
  bytes: string;
  /** A hash or an address (codec.ts). */
  packed: string;
  /** Text in the order of its bytes. */
  ordered: string;
  /** A number that is never assigned again. */
  serial: string;
  /** Ends a table, and a table of small rows that only its key finds. */
  end: string;
  endByKey: string;
}

/** The tables of schema 1 that are alike in SQLite and PostgreSQL. A released step never changes. */
export function sharedTables(words: SchemaWords): string {
  const { prefix, int, real, bool, bytes, packed, ordered, serial, end, endByKey } = words;
  return `
  CREATE TABLE ${prefix}network (only_row ${int} PRIMARY KEY CHECK (only_row = 1), passphrase text NOT NULL)${end};
  CREATE TABLE ${prefix}secrets_check (only_row ${int} PRIMARY KEY CHECK (only_row = 1), text text NOT NULL)${end};

  CREATE TABLE ${prefix}api_key (
    id ${ordered} NOT NULL PRIMARY KEY,
    name text NOT NULL,
    hash text NOT NULL,
    scopes text NOT NULL, -- comma-separated
    rate ${int},
    disabled ${bool} NOT NULL,
    created_at text NOT NULL,
    expires_at text,
    last_used_at ${ordered}
  )${endByKey};
  CREATE TABLE ${prefix}bucket (
    key_id ${ordered} NOT NULL PRIMARY KEY,
    tokens ${real} NOT NULL,
    updated_at_ms ${int} NOT NULL
  )${endByKey};
  CREATE TABLE ${prefix}register (
    name text NOT NULL PRIMARY KEY,
    value text NOT NULL, -- JSON
    until_ms ${int} NOT NULL
  )${endByKey};
  CREATE INDEX register_by_time ON ${prefix}register (until_ms);
  CREATE TABLE ${prefix}lease (
    name text NOT NULL PRIMARY KEY,
    term ${int} NOT NULL,
    holder text, -- null after the release
    until_ms ${int} NOT NULL
  )${endByKey};

  CREATE TABLE ${prefix}submission (
    hash ${ordered} NOT NULL PRIMARY KEY,
    valid_until ${int} NOT NULL,
    submitted_at_ms ${int} NOT NULL,
    source text,
    operation text,
    outcome text -- JSON, null while unknown
  )${endByKey};
  CREATE INDEX submission_by_time ON ${prefix}submission (submitted_at_ms);
  CREATE INDEX submission_unsettled ON ${prefix}submission (hash) WHERE outcome IS NULL AND source IS NOT NULL;
  CREATE INDEX submission_unsettled_of ON ${prefix}submission (source, hash) WHERE outcome IS NULL AND source IS NOT NULL;
  -- One row for each key that submitted a transaction.
  CREATE TABLE ${prefix}sent_transaction (
    hash ${ordered} NOT NULL,
    key_id ${ordered} NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    reference text,
    idempotency_key text,
    submitted_at_ms ${int} NOT NULL,
    place ${ordered} NOT NULL, -- time and hash
    status text NOT NULL,
    ledger ${int},
    PRIMARY KEY (hash, key_id)
  )${end};
  CREATE INDEX sent_transaction_by_time ON ${prefix}sent_transaction (submitted_at_ms, hash, key_id);
  CREATE INDEX sent_transaction_by_status ON ${prefix}sent_transaction (key_id, status, place);
  CREATE INDEX sent_transaction_by_source ON ${prefix}sent_transaction (key_id, source, status, place);
  CREATE INDEX sent_transaction_by_kind ON ${prefix}sent_transaction (key_id, kind, status, place);
  CREATE INDEX sent_transaction_by_reference ON ${prefix}sent_transaction (key_id, reference, status, place)
    WHERE reference IS NOT NULL;
  CREATE TABLE ${prefix}reference (
    hash ${ordered} NOT NULL,
    key_id ${ordered} NOT NULL,
    reference text NOT NULL,
    prepared_at_ms ${int} NOT NULL,
    PRIMARY KEY (hash, key_id)
  )${endByKey};
  CREATE INDEX reference_by_time ON ${prefix}reference (prepared_at_ms, hash, key_id);
  CREATE INDEX reference_by_text ON ${prefix}reference (reference, key_id, prepared_at_ms, hash);
  CREATE TABLE ${prefix}intent (
    key_id text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    version text NOT NULL, -- changes with each write
    request text NOT NULL,
    state text NOT NULL, -- JSON
    envelope ${bytes},
    used_at_ms ${int} NOT NULL,
    PRIMARY KEY (key_id, kind, key)
  )${end};
  CREATE INDEX intent_by_time ON ${prefix}intent (used_at_ms);

  CREATE TABLE ${prefix}event_type (number ${int} PRIMARY KEY, text text NOT NULL UNIQUE)${end};
  -- Most queries leave these types out. While a type has no number, a query looks for it again.
  INSERT INTO ${prefix}event_type (number, text) VALUES ${
    OWN_EVENT_TYPES.map((type, n) => `(${-1 - n}, '${type}')`).join(", ")
  };
  CREATE TABLE ${prefix}contract (number ${int} PRIMARY KEY, text text NOT NULL UNIQUE)${end};
  -- The first sequence of each height that was the highest so far.
  CREATE TABLE ${prefix}height_start (height ${int} PRIMARY KEY, sequence ${int} NOT NULL)${end};
  CREATE TABLE ${prefix}undecoded_event (
    height ${int} NOT NULL,
    place ${int} NOT NULL,
    event_index ${int} NOT NULL,
    contract ${int} NOT NULL,
    closed_at ${int} NOT NULL,
    tx_hash ${packed} NOT NULL,
    raw text NOT NULL, -- JSON
    PRIMARY KEY (height, place, event_index)
  )${end};
  CREATE INDEX undecoded_event_by_time ON ${prefix}undecoded_event (closed_at);

  -- In the order of time and id (place). Each subject's index has the place by another name, so that no list by a subject uses
  -- the primary key.
  CREATE TABLE ${prefix}payment (
    place ${ordered} NOT NULL PRIMARY KEY,
    id text NOT NULL UNIQUE,
    state text NOT NULL,
    merchant text NOT NULL,
    device_hash text NOT NULL,
    agent text,
    in_index ${ordered} NOT NULL,
    due_for text,
    due_ledger ${int},
    owes ${int}, -- 1, or null
    payment text NOT NULL -- JSON
  )${end};
  CREATE INDEX payment_by_state ON ${prefix}payment (state, in_index);
  CREATE INDEX payment_by_merchant ON ${prefix}payment (merchant, state, in_index);
  CREATE INDEX payment_by_device_hash ON ${prefix}payment (device_hash, state, in_index);
  CREATE INDEX payment_by_agent ON ${prefix}payment (agent, state, in_index) WHERE agent IS NOT NULL;
  CREATE INDEX payment_due ON ${prefix}payment (due_for, due_ledger) WHERE due_for IS NOT NULL;
  CREATE INDEX payment_owing ON ${prefix}payment (owes) WHERE owes IS NOT NULL;
  CREATE TABLE ${prefix}payments_cursor (only_row ${int} PRIMARY KEY CHECK (only_row = 1), cursor text NOT NULL)${end};

  CREATE TABLE ${prefix}subscription (
    number ${serial},
    id ${ordered} NOT NULL UNIQUE,
    key_id ${ordered} NOT NULL,
    url text NOT NULL,
    types text, -- comma-separated, null for all
    device_hash text,
    merchant text,
    ordered ${bool} NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until_ms ${int},
    older_secret text,
    older_secret_until_ms ${int},
    created_at text NOT NULL,
    start_height ${int} NOT NULL
  )${end};
  CREATE INDEX subscription_by_key ON ${prefix}subscription (key_id, id);
  -- Deleted subscriptions that may still have failed deliveries and attempts.
  CREATE TABLE ${prefix}deleted_subscription (number ${int} PRIMARY KEY)${end};
  CREATE TABLE ${prefix}failed_delivery (
    subscription ${int} NOT NULL,
    sequence ${int} NOT NULL,
    state text NOT NULL,
    attempts ${int} NOT NULL,
    due_at_ms ${int},
    failed_at_ms ${int} NOT NULL,
    attempted_at_ms ${int} NOT NULL, -- the last failure, which shows a clock that was set back
    PRIMARY KEY (subscription, sequence)
  )${endByKey};
  CREATE INDEX failed_delivery_by_state ON ${prefix}failed_delivery (subscription, state, sequence);
  CREATE INDEX failed_delivery_by_due ON ${prefix}failed_delivery (subscription, due_at_ms, sequence)
    WHERE due_at_ms IS NOT NULL;
  CREATE INDEX failed_delivery_by_attempt ON ${prefix}failed_delivery (subscription, attempted_at_ms)
    WHERE due_at_ms IS NOT NULL;
  CREATE INDEX failed_delivery_by_sequence ON ${prefix}failed_delivery (sequence);
  CREATE TABLE ${prefix}replay (
    id text NOT NULL PRIMARY KEY,
    subscription ${int} NOT NULL UNIQUE,
    from_height ${int} NOT NULL,
    to_height ${int} NOT NULL,
    cursor ${int} NOT NULL,
    end_sequence ${int},
    deliveries ${int} NOT NULL,
    at_least ${bool} NOT NULL,
    created_at_ms ${int} NOT NULL
  )${endByKey};`;
}
