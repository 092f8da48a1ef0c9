import { randomBytes } from "node:crypto";
import { setTimeout as passed } from "node:timers/promises";
import { randomBase62 } from "../../random.ts";
import type { LogBounds } from "../store.ts";
import type { PostgresContext, PostgresDatabase, Queries } from "./database.ts";

/** What every part of the driver needs to know of the log. */
export interface PostgresLog {
  bounds(queries?: Queries): Promise<LogBounds>;
  /** The sequence of the first event of this height or above, or of one forgotten; undefined while there was none. */
  reached(height: number): Promise<number | undefined>;
  /** As `EventStore.before`. */
  before(height: number): Promise<number>;
  /**
   * Begins to append: to be called within the transaction that does, once, after the fence. From here on others wait
   * until it has ended, so that sequences become visible in their order.
   * @param after `WatcherStep.after`
   */
  append(queries: Queries, after?: number): Promise<Appending>;
}

export interface Appending {
  /** Gives the next event of this height its sequence, and says whether it comes late. */
  next(height: number): { sequence: number; isLate: boolean };
  /** Writes how far the log goes now. */
  end(): Promise<void>;
}

/** The one row of `log_end` or `watcher`, to stand in a FROM: it has a new key with each change (schema.ts). */
export function newestRow(prefix: string, table: "log_end" | "watcher", lock = ""): string {
  return `(SELECT * FROM ${prefix}${table} ORDER BY version DESC LIMIT 1 ${lock}) AS ${table}`;
}

export function postgresLog({ database, prefix }: Pick<PostgresContext, "database" | "prefix">): PostgresLog {
  async function bounds(queries: Queries = database): Promise<LogBounds> {
    const [row] = await queries.read<LogBounds>(
      `SELECT last, forgotten FROM ${newestRow(prefix, "log_end")} CROSS JOIN ${prefix}log_start`,
    );
    return { ...row! };
  }

  async function reached(height: number): Promise<number | undefined> {
    // Not remembered: on a standby that was promoted without the last commits it may be reached sooner.
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
      // In this order: what is appended meanwhile lies beyond the bounds.
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

/** One for all stores of a database: who commits while another does so waits for it, so it is never part of other work. */
const CHANNEL = "payment_escrow_gateway";
const TELL_EVERY_MS = 50;

/** Gateways tell one another that the log has grown; what is missed is found by asking, as on any store. */
export interface PostgresNews {
  /** Tells the others soon, and no more often than every 50 ms. */
  tell(): void;
  /** Calls it when another has told. */
  listen(onNotification: () => void): void;
}

export function postgresNotifications(database: PostgresDatabase, prefix: string): PostgresNews {
  const own = `${prefix} ${randomBase62(12, randomBytes)}`;
  let isUntold = false;
  let reports: Promise<void> | undefined;

  async function tellUntold(): Promise<void> {
    while (isUntold) {
      isUntold = false;
      await database.write("SELECT pg_notify($1, $2)", [CHANNEL, own]);
      await passed(TELL_EVERY_MS);
    }
  }

  return {
    tell() {
      isUntold = true;
      reports ??= tellUntold().catch(() => {}).finally(() => reports = undefined);
    },
    listen: (onNotification) =>
      database.listen(CHANNEL, (payload) => {
        if (payload !== own && payload.startsWith(`${prefix} `)) onNotification();
      }),
  };
}
