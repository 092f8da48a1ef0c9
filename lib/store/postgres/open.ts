import type { StoreDriver } from "../checked_store.ts";
import type { OpenOptions } from "../file/store_file.ts";
import { sqlBuckets } from "../sql/buckets.ts";
import { sqlIntents } from "../sql/intents.ts";
import { sqlKeys } from "../sql/keys.ts";
import { sqlLeases } from "../sql/leases.ts";
import { sqlNetwork } from "../sql/network.ts";
import { sqlPayments } from "../sql/payments.ts";
import { sqlReferences } from "../sql/references.ts";
import { sqlSharedState } from "../sql/shared_state.ts";
import { sqlSubmissions } from "../sql/submissions.ts";
import { sqlSubscriptions } from "../sql/subscriptions.ts";
import { sqlTransactions } from "../sql/transactions.ts";
import { purgeAttempts } from "./attempts.ts";
import { openDatabase, type PostgresContext, type PostgresDatabase } from "./database.ts";
import { postgresDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { postgresEventRows } from "./event_rows.ts";
import { postgresEvents } from "./events.ts";
import { postgresLog, postgresNotifications } from "./log.ts";
import { migrate, STEPS, tablePrefix } from "./schema.ts";
import { parsePostgresSetting } from "./setting.ts";
import { createPostgresSql, raiseVersion } from "./sql.ts";

/**
 * Opens the store in a PostgreSQL database, makes missing tables, and migrates it to the newest schema. Several gateways may
 * serve from it. An answered commit is durable and visible to all. When the connection breaks during a commit, its outcome is
 * unknown. Time is the database's.
 *
 * @param setting `postgres://…` (`parsePostgresSetting`)
 * @throws StoreError `setting`, `unavailable`, `full`, `newer_schema`, `missing`
 */
export async function openPostgresDriver(
  setting: string,
  options: OpenOptions,
  steps = STEPS,
): Promise<StoreDriver> {
  const parsed = parsePostgresSetting(setting);
  const database = openDatabase(parsed);
  try {
    const id = await migrate(database, parsed, options, steps);
    return createPostgresDriver(database, parsed.location, tablePrefix(parsed), id);
  } catch (error) {
    await database.close();
    throw toStoreError(error, parsed.location);
  }
}

/** Puts the driver together on a database that has the newest schema. */
export function createPostgresDriver(
  database: PostgresDatabase,
  location: string,
  prefix: string,
  id: string,
): StoreDriver {
  const sql = createPostgresSql(database, prefix);
  const context: PostgresContext = { database, sql, location, prefix };
  const log = postgresLog(context);
  const rows = postgresEventRows(context);
  const leases = sqlLeases(context, () => false);
  const intents = sqlIntents(context);
  const transactions = sqlTransactions(context);
  const notifications = postgresNotifications(database, prefix);

  return {
    location,
    id,
    isShared: true,
    holdForServing: () => Promise.resolve(),
    onNotification: notifications.listen,
    close: () => database.close(),
    toStoreError: (error) => toStoreError(error, location),
    network: sqlNetwork(context),
    keys: sqlKeys(context),
    buckets: sqlBuckets(context),
    submissions: sqlSubmissions(context, transactions),
    transactions: transactions.methods,
    references: sqlReferences(context),
    intents: intents.methods,
    leases: leases.methods,
    sharedState: sqlSharedState(context),
    events: postgresEvents(context, log, rows, leases, notifications),
    subscriptions: sqlSubscriptions(context, {
      intents,
      // Each transaction waits for the one before at the version's row, so the count is right.
      lockInserts: { text: raiseVersion(prefix), parameters: [] },
      purgeAttempts: purgeAttempts(prefix),
    }),
    deliveries: postgresDeliveries(context, log, rows, leases, intents),
    payments: sqlPayments(context, leases),
  };
}
