import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { FORMER_STEPS } from "./former_schemas.ts";
import { createLog, migrateToLog } from "./log_migration.ts";
import { REGISTER_TABLE } from "./registers.ts";
import { addIntents } from "./schema_5.ts";
import { StoreError } from "../store.ts";
import { TRANSACTION_INTENT_TABLE } from "./transaction_intents.ts";

/** Marks our files (PRAGMA application_id): "PEGw" in ASCII. */
const APPLICATION_ID = 0x50454777;

/** When the last attempt of a failed delivery failed: by it a clock that was set back is noticed. */
const ATTEMPTED_AT = `
  ALTER TABLE failed_delivery ADD COLUMN attempted_at_ms INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX failed_delivery_by_attempt ON failed_delivery (subscription, attempted_at_ms) WHERE due_at_ms IS NOT NULL;`;

/** They lead from schema 1 to 2, and so on. */
const STEPS: ((database: SqliteDatabase) => void)[] = [
  ...FORMER_STEPS.map((sql) => (database: SqliteDatabase) => database.exec(sql)),
  migrateToLog,
  addIntents,
  (database) => database.exec(REGISTER_TABLE),
  (database) => database.exec(TRANSACTION_INTENT_TABLE),
  (database) => database.exec(ATTEMPTED_AT),
];

/** The schema that is made at once where there is nothing yet; the later steps follow. */
const FIRST_MADE = 4;

/** The newest schema, which this program works on. */
export const SCHEMA_VERSION = STEPS.length + 1;

/**
 * Refuses a file that is not ours, or that a newer program wrote, before anything in it is changed.
 * @throws StoreError `unavailable`, `newer_schema`
 */
export function checkOwnership(database: SqliteDatabase, location: string): void {
  // One snapshot: another process may be migrating.
  database.exec("BEGIN");
  const applicationId = readPragma(database, "application_id");
  const version = readPragma(database, "user_version");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  database.exec("COMMIT");
  if (applicationId !== APPLICATION_ID && !(applicationId === 0 && version === 0 && isEmpty)) {
    throw new StoreError("unavailable", `${location} is the database of another program: name another file`);
  }
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      "newer_schema",
      `${location} was written by a newer version of this program (schema ${version}, this one knows up to ` +
        `${SCHEMA_VERSION}): run that version, or restore a backup made before`,
    );
  }
}

/** Whether this is a file of ours, of any schema. */
export function isOurs(database: SqliteDatabase): boolean {
  return readPragma(database, "application_id") === APPLICATION_ID;
}

/** The schema version of the file; 0 while it is empty. */
export function schemaVersion(database: SqliteDatabase): number {
  return readPragma(database, "user_version");
}

/** Brings the file to the newest schema in one transaction, so that it never has half of one; others may do the same. */
export function migrate(database: SqliteDatabase, beforeCommit = () => {}): void {
  if (schemaVersion(database) === SCHEMA_VERSION) return;
  database.transaction(() => {
    const version = schemaVersion(database);
    if (version === 0) createLog(database);
    for (const step of STEPS.slice((version || FIRST_MADE) - 1)) step(database);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    beforeCommit();
  });
}

/** Whether anything but counters is in a file of ours. */
export function holdsData(database: SqliteDatabase): boolean {
  const tables = database.prepare(
    `SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%_version' AND name NOT IN ('store', 'log')`,
  ).all();
  return tables.some(({ name }) => database.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined);
}

function readPragma(database: SqliteDatabase, name: "application_id" | "user_version"): number {
  return database.prepare(`PRAGMA ${name}`).get()?.[name] as number;
}
