import { randomBytes } from "node:crypto";
import { setTimeout as passed } from "node:timers/promises";
import { randomBase62 } from "../../random.ts";
import type { LogBounds } from "../store.ts";
import type { PostgresContext, PostgresDatabase, Queries } from "./database.ts";

/** The part of the log that every noun of the driver needs. */
export interface PostgresLog {
  bounds(queries?: Queries): Promise<LogBounds>;
  /** The sequence of the first event of this height or above, deleted or not. Undefined while there was none. */
  reached(height: number): Promise<number | undefined>;
  /** As `EventStore.before`. */
  before(height: number): Promise<number>;
  /**
   * Begins to append, once in a transaction, after the check of the lease. Other appends wait for the end of this transaction, so
   * sequences become visible in their order.
   * @param after as `WatcherStep.after`
   */
  append(queries: Queries, after?: number): Promise<Appending>;
}

export interface Appending {
  /** Gives the next event of this height its sequence, and returns whether it comes late. */
  next(height: number): { sequence: number; isLate: boolean };
  /** Writes the new end of the log. */
  end(): Promise<void>;
}

/** The one row of `log_end` or `watcher`, for a FROM. Each change gives the row a new key (schema.ts). */
export function newestRow(prefix: string, table: "log_end" | "watcher", lock = ""): string {
  return `(SELECT * FROM ${prefix}${table} ORDER BY version DESC LIMIT 1 ${lock}) AS ${table}`;
}

export function postgresLog(
  { database, sql, prefix }: Pick<PostgresContext, "database" | "sql" | "prefix">,
): PostgresLog {
  async function bounds(queries: Queries = database): Promise<LogBounds> {
    const [row] = await queries.read<LogBounds>(sql.logBounds);
    return { ...row! };
  }

  async function reached(height: number): Promise<number | undefined> {
    // Not cached: after the promotion of a standby without the last commits, the log may reach the height sooner.
    const [row] = await database.read<{ sequence: number }>(
      `SELECT sequence FROM ${prefix}height_start WHERE height >= $1 ORDER BY height LIMIT 1`,
      [height],
    );
    return row?.sequence;
  }

  return {
    bounds,
    reached,
    async before(height) {
      // In this order, because events that are appended meanwhile lie after the bounds.
      const { last, forgotten } = await bounds();
      const first = await reached(height);
      return first === undefined ? last : Math.min(last, Math.max(first - 1, forgotten));
    },
    async append(queries, after) {
      const begun = after === undefined ? [] : [
        queries.write(
          `UPDATE ${prefix}log_start SET forgotten = $1 WHERE (SELECT max(last) FROM ${prefix}log_end) = 0`,
          [
            after,
          ],
        ),
        queries.write(`UPDATE ${prefix}log_end SET last = $1 WHERE last = 0`, [after]),
      ];
      const looking = queries.read<{ version: number; last: number; height: number }>(
        `SELECT version, last, height FROM ${newestRow(prefix, "log_end", "FOR UPDATE")}`,
      );
      const [[row]] = await Promise.all([looking, ...begun]);
      let { last, height: top } = row!;
      const starts: { height: number; sequence: number }[] = [];
      return {
        next(height) {
          last += 1;
          const isLate = height < top;
          if (height > top) starts.push({ height, sequence: last });
          top = Math.max(top, height);
          return { sequence: last, isLate };
        },
        async end() {
          if (last === row!.last) return;
          await Promise.all([
            queries.write(
              `UPDATE ${prefix}log_end SET version = version + 1, last = $2, height = $3 WHERE version = $1`,
              [row!.version, last, top],
            ),
            queries.write(
              `INSERT INTO ${prefix}height_start (height, sequence) SELECT height, sequence
              FROM json_to_recordset($1::text::json) AS given (height bigint, sequence bigint)`,
              [starts],
            ),
          ]);
        },
      };
    },
  };
}

/** The channel of all stores in a database. Commits with a notification wait for one another, so a notification has its own. */
const CHANNEL = "payment_escrow_gateway";
const NOTIFY_EVERY_MS = 50;

/** Gateways notify one another that the log has grown. They also poll, because notifications may get lost. */
export interface PostgresNotifications {
  /** Notifies the others soon, and at most every 50 ms. */
  notify(): void;
  /** Calls the listener for each notification of another handle. */
  listen(onNotification: () => void): void;
}

export function postgresNotifications(database: PostgresDatabase, prefix: string): PostgresNotifications {
  const own = `${prefix} ${randomBase62(12, randomBytes)}`;
  let isPending = false;
  let sending: Promise<void> | undefined;

  async function notifyPending(): Promise<void> {
    while (isPending) {
      isPending = false;
      await database.write("SELECT pg_notify($1, $2)", [CHANNEL, own]);
      await passed(NOTIFY_EVERY_MS);
    }
  }

  return {
    notify() {
      isPending = true;
      sending ??= notifyPending().catch(() => {}).finally(() => sending = undefined);
    },
    listen: (onNotification) =>
      database.listen(CHANNEL, (payload) => {
        if (payload !== own && payload.startsWith(`${prefix} `)) onNotification();
      }),
  };
}
