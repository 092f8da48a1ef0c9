import { randomBytes } from "node:crypto";
import { randomBase62 } from "../../random.ts";
import { missingStore, type OpenOptions } from "../file/store_file.ts";
import { newerSchema, schemaChanged, StoreError } from "../store_error.ts";
import { type SchemaWords, sharedTables } from "../sql/schema.ts";
import type { PostgresDatabase, Queries } from "./database.ts";
import type { PostgresSetting } from "./setting.ts";

/** Migrates one schema to the next, as SQL. */
export type PostgresStep = (prefix: string) => string;

/** The steps from schema 0, no tables, to 1, and so on. A released step never changes. */
export const STEPS: PostgresStep[] = [tables];

/** The newest schema, which this program uses. */
export const SCHEMA_VERSION = STEPS.length;

/** The prefix of table names in statements, so that nothing depends on a session's search path. */
export function tablePrefix({ schema }: Pick<PostgresSetting, "schema">): string {
  return `"${schema}".`;
}

/**
 * Makes missing tables, migrates the store to the newest schema, with a notice to `onNotice`, and returns the store's id. In one
 * transaction, so there is never half a schema. Of several gateways that start at once, one migrates.
 *
 * @throws StoreError `missing` for a missing store with `mustExist`. `newer_schema`. `unavailable` for another program's schema
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
  // Any command may migrate, also while gateways serve.
  if (from !== undefined && from < newest) onNotice?.(schemaChanged(location, from, newest));
  return id;
}

/**
 * The store's id and schema version. Undefined while there is no store.
 * @throws StoreError `unavailable` when the schema has other tables, or the database cannot store every text
 */
export async function readStore(
  queries: Queries,
  setting: PostgresSetting,
): Promise<{ id: string; version: number } | undefined> {
  // Also counts tables that this user may not read, for instance of a store that another user has restored.
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

/** Creates the schema only if it is missing. The user may lack the right to create one. */
async function makeSchema(queries: Queries, { schema }: PostgresSetting): Promise<void> {
  const found = await queries.read("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [schema]);
  if (found.length === 0) await queries.write(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
}

async function runAll(queries: Queries, sql: string): Promise<void> {
  for (const statement of sql.split(";")) if (statement.trim() !== "") await queries.write(statement);
}

/** The encodings that can store every text. An endpoint's response in another one would block the whole settlement. */
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

const WORDS: Omit<SchemaWords, "prefix"> = {
  int: "bigint",
  real: "double precision",
  bool: "boolean",
  bytes: "bytea",
  packed: "bytea",
  ordered: 'text COLLATE "C"',
  serial: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
  end: "",
  endByKey: "",
};

/**
 * Only one index can serve each range of events. The indexes of types and subjects use a copy of the sequence. The index of
 * types alone has `type + 0`, and the queries use the same form (event_query.ts). With outdated statistics, the planner would
 * otherwise choose a wrong index for rare events.
 *
 * Rows that change all the time (`progress`, `log_end`, `watcher`) get a new key with each change. Queries read the newest row
 * from the end of the index. So they skip the dead rows that a long transaction elsewhere keeps.
 */
function tables(prefix: string): string {
  return sharedTables({ prefix, ...WORDS }) + `
  CREATE TABLE ${prefix}store (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    id text NOT NULL,
    schema_version integer NOT NULL
  );
  CREATE TABLE ${prefix}version (name text PRIMARY KEY, version bigint NOT NULL);
  INSERT INTO ${prefix}version (name, version) VALUES ('keys', 0), ('subscriptions', 0);
  CREATE TABLE ${prefix}intent_count (
    key_id text NOT NULL,
    shard integer NOT NULL,
    intents bigint NOT NULL,
    PRIMARY KEY (key_id, shard)
  );
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
    asset integer,
    payment text
  );
  CREATE UNIQUE INDEX event_by_id ON ${prefix}event (height, place, event_index);
  CREATE INDEX event_by_type ON ${prefix}event ((type + 0), indexed_sequence);
  CREATE INDEX event_by_tx_hash ON ${prefix}event (tx_hash, indexed_sequence);
  CREATE INDEX event_by_device_hash ON ${prefix}event (device_hash, type, indexed_sequence) WHERE device_hash IS NOT NULL;
  CREATE INDEX event_by_agent ON ${prefix}event (agent, type, indexed_sequence) WHERE agent IS NOT NULL;
  CREATE INDEX event_by_merchant ON ${prefix}event (merchant, type, indexed_sequence) WHERE merchant IS NOT NULL;
  CREATE INDEX event_late ON ${prefix}event (indexed_sequence) WHERE is_late;
  CREATE TABLE ${prefix}log_end (version bigint PRIMARY KEY, last bigint NOT NULL, height bigint NOT NULL);
  INSERT INTO ${prefix}log_end (version, last, height) VALUES (0, 0, -1);
  CREATE TABLE ${prefix}log_start (only_row integer PRIMARY KEY CHECK (only_row = 1), forgotten bigint NOT NULL);
  INSERT INTO ${prefix}log_start (only_row, forgotten) VALUES (1, 0);
  CREATE TABLE ${prefix}watcher (version bigint PRIMARY KEY, state text);
  INSERT INTO ${prefix}watcher (version) VALUES (0);

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
  )`;
}
