import type { StoreInspection } from "../file/inspect.ts";
import { StoreError, WATCHER_LEASE } from "../store.ts";
import { NOW_MS, openDatabase, type PostgresDatabase } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { readStore, SCHEMA_VERSION, tablePrefix } from "./schema.ts";
import { parsePostgresSetting, type PostgresSetting } from "./setting.ts";

/** The state of a store in PostgreSQL, and of the connection to it. */
export interface PostgresInspection extends StoreInspection {
  /** The connection is unencrypted and leaves this machine, so others can read it. */
  isExposed: boolean;
}

/**
 * Inspects a store in PostgreSQL, without making one or changing its tables. A write that changes nothing shows that the
 * store can be written.
 * @throws {StoreError} `unavailable`, `full`, `newer_schema`
 */
export async function inspectPostgres(setting: string, newest = SCHEMA_VERSION): Promise<PostgresInspection> {
  const parsed = parsePostgresSetting(setting);
  const database = openDatabase(parsed);
  try {
    const found = await readStore(database, parsed);
    const inspection = { location: parsed.location, bytes: 0, freeBytes: Infinity, isServed: false };
    const isExposed = await isOpenToOthers(database, parsed);
    if (found === undefined) {
      await checkMayCreate(database, parsed);
      return { ...inspection, state: "new", isExposed };
    }
    await database.write(`UPDATE ${tablePrefix(parsed)}store SET schema_version = schema_version`);
    return {
      ...inspection,
      state: found.version < newest ? "older" : "current",
      isServed: await isServed(database, tablePrefix(parsed)),
      isExposed,
    };
  } catch (error) {
    throw toStoreError(error, parsed.location);
  } finally {
    await database.close();
  }
}

async function isServed(database: PostgresDatabase, prefix: string): Promise<boolean> {
  const held = await database.read(
    `SELECT 1 FROM ${prefix}lease WHERE name = $1 AND holder IS NOT NULL AND until_ms > ${NOW_MS}`,
    [WATCHER_LEASE],
  );
  return held.length > 0;
}

async function checkMayCreate(database: PostgresDatabase, { location, schema }: PostgresSetting): Promise<void> {
  const [found] = await database.read<{ may: boolean }>(
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = $1)
      THEN has_schema_privilege($1, 'CREATE') ELSE has_database_privilege(current_database(), 'CREATE') END AS may`,
    [schema],
  );
  if (found!.may) return;
  throw new StoreError(
    "unavailable",
    `${location} does not let this user make tables: CREATE SCHEMA "${schema}" AUTHORIZATION its name`,
  );
}

const LOOPBACK = /^(\/|localhost$|127\.|::1$)/;

async function isOpenToOthers(database: PostgresDatabase, { host }: PostgresSetting): Promise<boolean> {
  if (LOOPBACK.test(host)) return false;
  const [found] = await database.read<{ ssl: boolean }>("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
  return found?.ssl === false;
}
