import type { Sql, VersionName, Work } from "../sql/database.ts";
import { givenRows, NOW_MS, type PostgresDatabase, type Queries } from "./database.ts";
import { KEPT_PROGRESS } from "../sql/progress.ts";
import { newestRow } from "./log.ts";

/** The count of all intents is split over so many rows of the key '', so that creations seldom wait for one another. */
const SHARDS = 16;

/** The PostgreSQL side of the shared nouns. */
export function createPostgresSql(database: PostgresDatabase, prefix: string): Sql {
  const transaction: Sql["transaction"] = (work) => database.transaction((queries) => runWork(queries, work()));
  return {
    prefix,
    now: NOW_MS,
    greatest: "greatest",
    lock: (strength, table) => `FOR ${strength}${table === undefined ? "" : ` OF ${table}`}`,
    given: givenRows,
    // Of an array the planner expects few members, so it uses the index whatever its statistics say.
    oneOf: (select) => `= ANY (ARRAY(${select}))`,
    indexedBy: () => "",
    field: (column, name) => `(${column}::json ->> '${name}')`,
    logEnd: `(SELECT last FROM ${newestRow(prefix, "log_end")})`,
    logBounds: `SELECT last, forgotten FROM ${newestRow(prefix, "log_end")} CROSS JOIN ${prefix}log_start`,
    // Each change gives the row a new key (schema.ts).
    progress: (lock) =>
      `LATERAL (SELECT ${KEPT_PROGRESS} FROM ${prefix}progress AS kept WHERE kept.subscription = subscription.number
        ORDER BY kept.version DESC LIMIT 1 ${lock === undefined ? "" : `FOR ${lock}`}) AS progress ON true`,
    deleteGiven: (table, columns) => {
      const names = columns.split(", ").map((column) => column.split(" ")[0]!);
      return `DELETE FROM ${prefix}${table} AS kept USING ${givenRows(columns)}
        WHERE ${names.map((name) => `kept.${name} = given.${name}`).join(" AND ")}`;
    },
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
    transaction,
    transactionTogether: transaction,
    countingIntents: (change, statement) =>
      `WITH changed AS (${statement}), counted AS (
        INSERT INTO ${prefix}intent_count AS kept (key_id, shard, intents)
        SELECT key_id, shard, ${change} * count(*) FROM (
          SELECT key_id, 0 AS shard FROM changed
          UNION ALL SELECT '', (SELECT floor(random() * ${SHARDS})::integer) FROM changed
        ) AS rows GROUP BY key_id, shard ORDER BY key_id DESC
        ON CONFLICT (key_id, shard) DO UPDATE SET intents = kept.intents + excluded.intents
      ) SELECT * FROM changed`,
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

/**
 * Raises a version if the table `rows` has any. By a random step: a standby that was promoted without the last commits
 * must not hand out a version that a gateway has seen before.
 */
export function raiseVersion(prefix: string, rows?: string, name: VersionName = "subscriptions"): string {
  const where = rows === undefined ? "" : ` AND EXISTS (SELECT 1 FROM ${rows})`;
  return `UPDATE ${prefix}version SET version = version + 1 + floor(random() * 1000000)::bigint WHERE name = '${name}'${where}`;
}

/**
 * Deletes subscriptions with their progress and replay, lists them in `deleted_subscription`, and raises the version.
 * Progress goes before the replay, because a settlement locks the progress first. So neither waits for the other in a circle.
 */
function deleteSubscriptions(prefix: string, where: string): string {
  return `WITH gone AS (DELETE FROM ${prefix}subscription WHERE ${where} RETURNING number),
      without_progress AS (
        DELETE FROM ${prefix}progress WHERE subscription = ANY (ARRAY(SELECT number FROM gone)) RETURNING subscription
      ),
      without_replay AS (
        DELETE FROM ${prefix}replay WHERE subscription = ANY (ARRAY(SELECT subscription FROM without_progress))
      ),
      noted AS (INSERT INTO ${prefix}deleted_subscription (number) SELECT number FROM gone)
    ${raiseVersion(prefix, "gone")}`;
}
