import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import { missingStore, type OpenOptions } from "../file/store_file.ts";
import { newerSchema, schemaChanged, StoreError } from "../store_error.ts";
import type { PostgresDatabase, Queries } from "./database.ts";
import type { PostgresSetting } from "./setting.ts";

/** Leads from one schema to the next, as SQL. */
export type PostgresStep = (prefix: string) => string;

/** From schema 0, where there is nothing, to 1, and so on. None that was released is ever changed. */
export const STEPS: PostgresStep[] = [tables];

/** The newest schema, which this program works on. */
export const SCHEMA_VERSION = STEPS.length;

/** How the tables of a schema are named in statements: nothing depends on a session's search path. */
export function tablePrefix({ schema }: Pick<PostgresSetting, "schema">): string {
  return `"${schema}".`;
}

/**
 * Makes the store's tables where there are none yet, and brings them to the newest schema, which `onNotice` is told;
 * answers the store's id. In one transaction, so that there is never half of one, and of several gateways that start at
 * once one does it.
 *
 * @throws StoreError `missing` when there is none and `mustExist`; `newer_schema`; `unavailable` for another program's
 */
export async function migrate(
  database: PostgresDatabase,
  setting: PostgresSetting,
  { mustExist = false, onNotice }: Pick<OpenOptions, "mustExist" | "onNotice">,
  steps = STEPS,
): Promise<string> {
  const { location } = setting;
  const newest = steps.length;
  let from: number | undefined;
  const found = await readStore(database, setting);
  if (found === undefined && mustExist) throw missingStore(location);
  if (found !== undefined && found.version > newest) throw newerSchema(location, found.version, newest);
  if (found?.version === newest) return found.id;
  const id = await database.transaction(async (queries) => {
    await queries.write("SELECT pg_advisory_xact_lock(hashtext($1))", [`payment-escrow-gateway/${setting.schema}`]);
    const before = await readStore(queries, setting);
    if (before !== undefined && before.version > newest) throw newerSchema(location, before.version, newest);
    from = before?.version;
    const prefix = tablePrefix(setting);
    if (before === undefined) await makeSchema(queries, setting);
    for (const step of steps.slice(before?.version ?? 0)) await runAll(queries, step(prefix));
    const id = before?.id ?? randomBase62(12, randomBytes);
    await queries.write(
      `INSERT INTO ${prefix}store (only_row, id, schema_version) VALUES (1, $1, $2)
      ON CONFLICT (only_row) DO UPDATE SET schema_version = excluded.schema_version`,
      [id, newest],
    );
    return id;
  });
  // Any command does it, beside gateways that serve.
  if (from !== undefined && from < newest) onNotice?.(schemaChanged(location, from, newest));
  return id;
}

/**
 * The store as it is; undefined while there is none.
 * @throws StoreError `unavailable` when the schema holds something else, or the database cannot keep every text
 */
export async function readStore(
  queries: Queries,
  setting: PostgresSetting,
): Promise<{ id: string; version: number } | undefined> {
  // Also what this user has no right to: a store that another has restored is not none.
  const [tables] = await queries.read<{ all: number; ours: number; encoding: string }>(
    `SELECT count(*) AS all, count(CASE WHEN relname = 'store' AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = kept.oid AND attname = 'schema_version'
      ) THEN 1 END) AS ours, current_setting('server_encoding') AS encoding
    FROM pg_catalog.pg_class AS kept JOIN pg_catalog.pg_namespace AS named ON named.oid = relnamespace
    WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [setting.schema],
  );
  if (!ENCODINGS.includes(tables!.encoding)) throw wrongEncoding(setting, tables!.encoding);
  if (tables!.all === 0) return undefined;
  if (tables!.ours === 0) throw foreign(setting);
  const [row] = await queries.read<{ id: string; version: number }>(
    `SELECT id, schema_version AS version FROM ${tablePrefix(setting)}store`,
  );
  return row;
}

/** A schema that was made for us may be one that this user could not make. */
async function makeSchema(queries: Queries, { schema }: PostgresSetting): Promise<void> {
  const found = await queries.read("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [schema]);
  if (found.length === 0) await queries.write(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
}

async function runAll(queries: Queries, sql: string): Promise<void> {
  for (const statement of sql.split(";")) if (statement.trim() !== "") await queries.write(statement);
}

/** In which every text can be kept, whatever an endpoint answers: one that cannot would hold up what is settled with it. */
const ENCODINGS = ["UTF8", "SQL_ASCII"];

function wrongEncoding({ location }: PostgresSetting, encoding: string): StoreError {
  return new StoreError(
    "unavailable",
    `${location} has the encoding ${encoding}, in which not every text can be kept: make a database for it with ` +
      "ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0",
  );
}

function foreign({ location, schema }: PostgresSetting): StoreError {
  return new StoreError(
    "unavailable",
    `${location} holds the tables of another program in its schema "${schema}": name another with schema=… in the URL`,
  );
}

/**
 * Each range of events can be found by one index only: those of types and of subjects have a column of their own for the
 * sequence, and types by themselves are `type + 0`, as the queries say it (event_query.ts). A planner that goes by statistics
 * which are not of today would look for what is rare by an index that holds much else.
 *
 * What changes all the time (`progress`, `log_end`, `watcher`) has a new key with each change, and its newest row is looked for
 * from the end of that index: while a transaction elsewhere keeps the database from clearing up, nobody walks over all that
 * the row was before.
 */
function tables(prefix: string): string {
  return `
  CREATE TABLE ${prefix}store (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    id text NOT NULL,
    schema_version integer NOT NULL
  );
  CREATE TABLE ${prefix}network (only_row integer PRIMARY KEY CHECK (only_row = 1), passphrase text NOT NULL);
  CREATE TABLE ${prefix}version (name text PRIMARY KEY, version bigint NOT NULL);
  INSERT INTO ${prefix}version (name, version) VALUES ('keys', 0), ('subscriptions', 0);
  CREATE TABLE ${prefix}secrets_check (only_row integer PRIMARY KEY CHECK (only_row = 1), text text NOT NULL);

  CREATE TABLE ${prefix}api_key (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    hash text NOT NULL,
    scopes text NOT NULL,
    rate integer,
    disabled boolean NOT NULL,
    created_at text NOT NULL,
    expires_at text,
    last_used_at text COLLATE "C"
  );
  CREATE TABLE ${prefix}bucket (
    key_id text COLLATE "C" PRIMARY KEY,
    tokens double precision NOT NULL,
    updated_at_ms bigint NOT NULL
  );
  CREATE TABLE ${prefix}submission (
    hash text COLLATE "C" PRIMARY KEY,
    valid_until bigint NOT NULL,
    submitted_at_ms bigint NOT NULL,
    source text,
    operation text,
    outcome text
  );
  CREATE INDEX submission_by_time ON ${prefix}submission (submitted_at_ms);
  CREATE INDEX submission_unsettled ON ${prefix}submission (hash) WHERE outcome IS NULL AND source IS NOT NULL;
  CREATE INDEX submission_unsettled_of ON ${prefix}submission (source, hash) WHERE outcome IS NULL AND source IS NOT NULL;

  CREATE TABLE ${prefix}intent (
    key_id text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    id text NOT NULL,
    term bigint NOT NULL,
    request text NOT NULL,
    claimed_until_ms bigint,
    claim_duration_ms bigint NOT NULL,
    completed_at_ms bigint NOT NULL,
    result text,
    PRIMARY KEY (key_id, kind, key)
  );
  CREATE INDEX intent_by_time ON ${prefix}intent (completed_at_ms);
  CREATE TABLE ${prefix}transaction_intent (
    key_id text NOT NULL,
    key text NOT NULL,
    version text NOT NULL,
    request text NOT NULL,
    sequence text NOT NULL,
    envelope bytea NOT NULL,
    warning text,
    is_rejected boolean NOT NULL,
    envelopes text NOT NULL,
    outcome_hash text,
    outcome_ledger bigint,
    used_at_ms bigint NOT NULL,
    PRIMARY KEY (key_id, key)
  );
  CREATE INDEX transaction_intent_by_time ON ${prefix}transaction_intent (used_at_ms);
  CREATE TABLE ${prefix}intent_count (
    key_id text NOT NULL,
    shard integer NOT NULL,
    intents bigint NOT NULL,
    PRIMARY KEY (key_id, shard)
  );
  CREATE TABLE ${prefix}nonce_out (
    device_hash text NOT NULL,
    agent text NOT NULL,
    nonce numeric(20, 0) NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (device_hash, agent)
  );
  CREATE INDEX nonce_out_by_time ON ${prefix}nonce_out (until_ms);

  CREATE TABLE ${prefix}register (name text PRIMARY KEY, value text NOT NULL, until_ms bigint NOT NULL);
  CREATE INDEX register_by_time ON ${prefix}register (until_ms);
  CREATE TABLE ${prefix}lease (name text PRIMARY KEY, term bigint NOT NULL, holder text, until_ms bigint NOT NULL);

  CREATE TABLE ${prefix}event_type (number integer PRIMARY KEY, text text NOT NULL UNIQUE);
  CREATE TABLE ${prefix}contract (number integer PRIMARY KEY, text text NOT NULL UNIQUE);
  CREATE TABLE ${prefix}event (
    sequence bigint PRIMARY KEY,
    indexed_sequence bigint NOT NULL,
    type integer NOT NULL,
    contract integer NOT NULL,
    height bigint NOT NULL,
    place bigint NOT NULL,
    event_index bigint NOT NULL,
    closed_at bigint NOT NULL,
    known_at bigint NOT NULL,
    is_late boolean NOT NULL,
    tx_hash bytea NOT NULL,
    device_hash bytea,
    agent bytea,
    merchant bytea,
    amount text,
    asset integer
  );
  CREATE UNIQUE INDEX event_by_id ON ${prefix}event (height, place, event_index);
  CREATE INDEX event_by_type ON ${prefix}event ((type + 0), indexed_sequence);
  CREATE INDEX event_by_tx_hash ON ${prefix}event (tx_hash, indexed_sequence);
  CREATE INDEX event_by_device_hash ON ${prefix}event (device_hash, type, indexed_sequence) WHERE device_hash IS NOT NULL;
  CREATE INDEX event_by_agent ON ${prefix}event (agent, type, indexed_sequence) WHERE agent IS NOT NULL;
  CREATE INDEX event_by_merchant ON ${prefix}event (merchant, type, indexed_sequence) WHERE merchant IS NOT NULL;
  CREATE INDEX event_late ON ${prefix}event (indexed_sequence) WHERE is_late;
  CREATE TABLE ${prefix}height_start (height bigint PRIMARY KEY, sequence bigint NOT NULL);
  CREATE TABLE ${prefix}log_end (version bigint PRIMARY KEY, last bigint NOT NULL, height bigint NOT NULL);
  INSERT INTO ${prefix}log_end (version, last, height) VALUES (0, 0, -1);
  CREATE TABLE ${prefix}log_start (only_row integer PRIMARY KEY CHECK (only_row = 1), forgotten bigint NOT NULL);
  INSERT INTO ${prefix}log_start (only_row, forgotten) VALUES (1, 0);
  CREATE TABLE ${prefix}undecoded_event (
    height bigint NOT NULL,
    place bigint NOT NULL,
    event_index bigint NOT NULL,
    contract integer NOT NULL,
    closed_at bigint NOT NULL,
    tx_hash bytea NOT NULL,
    raw text NOT NULL,
    PRIMARY KEY (height, place, event_index)
  );
  CREATE INDEX undecoded_event_by_time ON ${prefix}undecoded_event (closed_at);
  CREATE TABLE ${prefix}watcher (version bigint PRIMARY KEY, state text);
  INSERT INTO ${prefix}watcher (version) VALUES (0);

  CREATE TABLE ${prefix}subscription (
    number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    key_id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    types text,
    device_hash text,
    merchant text,
    ordered boolean NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until_ms bigint,
    older_secret text,
    older_secret_until_ms bigint,
    created_at text NOT NULL,
    start_height bigint NOT NULL
  );
  CREATE INDEX subscription_by_key ON ${prefix}subscription (key_id, id);
  CREATE TABLE ${prefix}progress (
    subscription bigint NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    cursor bigint NOT NULL,
    failing_since_ms bigint,
    retrying bigint NOT NULL DEFAULT 0,
    rejected bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    rejected_kept bigint NOT NULL DEFAULT 0,
    dead_kept bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (subscription, version)
  );
  CREATE TABLE ${prefix}failed_delivery (
    subscription bigint NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL,
    attempts bigint NOT NULL,
    due_at_ms bigint,
    failed_at_ms bigint NOT NULL,
    attempted_at_ms bigint NOT NULL,
    PRIMARY KEY (subscription, sequence)
  );
  CREATE INDEX failed_delivery_by_state ON ${prefix}failed_delivery (subscription, state, sequence);
  CREATE INDEX failed_delivery_by_due ON ${prefix}failed_delivery (subscription, due_at_ms, sequence)
    WHERE due_at_ms IS NOT NULL;
  CREATE INDEX failed_delivery_by_attempt ON ${prefix}failed_delivery (subscription, attempted_at_ms)
    WHERE due_at_ms IS NOT NULL;
  CREATE INDEX failed_delivery_by_sequence ON ${prefix}failed_delivery (sequence);
  CREATE TABLE ${prefix}attempt (
    subscription bigint NOT NULL,
    ordinal bigint NOT NULL,
    replay_id text,
    event_id text NOT NULL,
    event_type text NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    duration_ms double precision NOT NULL,
    outcome text NOT NULL,
    status_code integer,
    error text,
    response_body text,
    next_attempt_at_ms bigint,
    PRIMARY KEY (subscription, ordinal)
  );
  CREATE TABLE ${prefix}replay (
    id text PRIMARY KEY,
    subscription bigint NOT NULL UNIQUE,
    from_height bigint NOT NULL,
    to_height bigint NOT NULL,
    cursor bigint NOT NULL,
    end_sequence bigint,
    deliveries bigint NOT NULL,
    at_least boolean NOT NULL,
    created_at_ms bigint NOT NULL
  );
  CREATE TABLE ${prefix}deleted_subscription (number bigint PRIMARY KEY)`;
}
