import type { Sql, Work } from "../sql/database.ts";
import { givenRows, NOW_MS, type PostgresDatabase, type Queries } from "./database.ts";
import { newestRow } from "./log.ts";
import { deleteSubscriptions, raiseVersion } from "./version.ts";

/** The PostgreSQL side of the shared nouns. */
export function createPostgresSql(database: PostgresDatabase, prefix: string): Sql {
  return {
    prefix,
    now: NOW_MS,
    greatest: "greatest",
    lock: (strength, table) => `FOR ${strength}${table === undefined ? "" : ` OF ${table}`}`,
    given: givenRows,
    // Of an array the planner expects few members, so it uses the index whatever its statistics say.
    oneOf: (select) => `= ANY (ARRAY(${select}))`,
    field: (column, name) => `(${column}::json ->> '${name}')`,
    logEnd: `(SELECT last FROM ${newestRow(prefix, "log_end")})`,
    versions: {
      read: (name) => `SELECT version FROM ${prefix}version WHERE name = '${name}'`,
      raising: (name, statement) =>
        `WITH changed AS (${statement}), raised AS (${raiseVersion(prefix, "changed", name)}) SELECT * FROM changed`,
      deleteSubscriptions: (where) => deleteSubscriptions(prefix, where),
    },
    prepare: (text) => (...parameters) => ({ text, parameters }),
    read: ({ text, parameters }) => database.read(text, parameters),
    write: ({ text, parameters }) => database.write(text, parameters),
    writeTogether: ({ text, parameters }) => database.write(text, parameters),
    transaction: (work) => database.transaction((queries) => runWork(queries, work())),
  };
}

/** Does the work within a transaction. Sends the statements of one step without waiting for earlier answers. */
export async function runWork<T>(queries: Queries, work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) {
    step = work.next(await Promise.all(step.value.map(({ text, parameters }) => queries.write(text, parameters))));
  }
  return step.value;
}
