import type { StoreDriver } from "../checked_store.ts";
import type { OpenOptions } from "../file/store_file.ts";
import { postgresBuckets } from "./buckets.ts";
import { openDatabase, type PostgresContext, type PostgresDatabase } from "./database.ts";
import { postgresDeliveries } from "./deliveries.ts";
import { toStoreError } from "./errors.ts";
import { postgresEventRows } from "./event_rows.ts";
import { postgresEvents } from "./events.ts";
import { postgresIntents } from "./intents.ts";
import { postgresKeys } from "./keys.ts";
import { postgresLeases } from "./leases.ts";
import { postgresLog, postgresNotifications } from "./log.ts";
import { postgresNetwork } from "./network.ts";
import { postgresSharedState } from "./shared_state.ts";
import { migrate, STEPS, tablePrefix } from "./schema.ts";
import { parsePostgresSetting } from "./setting.ts";
import { postgresSubmissions } from "./submissions.ts";
import { postgresSubscriptions } from "./subscriptions.ts";

/**
 * Opens the store in a PostgreSQL database, making its tables when they are missing, and migrates it to the newest schema.
 * Several gateways may serve from it. A commit is durable, and seen by all, when it is answered; where the connection
 * breaks meanwhile, nobody can tell whether it was made. Time is the database's.
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
  const context: PostgresContext = { database, location, prefix };
  const log = postgresLog(context);
  const rows = postgresEventRows(context);
  const leases = postgresLeases(context);
  const news = postgresNotifications(database, prefix);

  return {
    location,
    id,
    isShared: true,
    holdForServing: () => Promise.resolve(),
    onNotification: news.listen,
    close: () => database.close(),
    toStoreError: (error) => toStoreError(error, location),
    network: postgresNetwork(context),
    keys: postgresKeys(context),
    buckets: postgresBuckets(context),
    submissions: postgresSubmissions(context),
    intents: postgresIntents(context),
    leases: leases.methods,
    sharedState: postgresSharedState(context),
    events: postgresEvents(context, log, rows, leases, news),
    subscriptions: postgresSubscriptions(context),
    deliveries: postgresDeliveries(context, log, rows, leases),
  };
}
