import { setTimeout as passed } from "node:timers/promises";
import postgres from "postgres";
import type { Parameter, Rows, Sql } from "../sql/database.ts";
import { StoreError } from "../store_error.ts";
import { APPLICATION_NAME, type Connection, driverOptions } from "./connection.ts";
import { isConflict, isConnectionLost } from "./errors.ts";
import { createPool } from "./pool.ts";
import type { PostgresSetting } from "./setting.ts";

/**
 * The list of rows `$1` as a table `given`, for joins. The limit only informs the planner: there are few rows, so an index
 * is the right way to each.
 */
export function givenRows(columns: string): string {
  return `(SELECT * FROM json_to_recordset($1::text::json) AS rows (${columns})
    LIMIT json_array_length($1::text::json)) AS given`;
}

/** Sends statements in the order of the calls, without waiting for earlier answers. */
export interface Queries {
  /** Runs a statement that changes nothing. Repeats it once when the connection breaks. */
  read<Row>(sql: string, parameters?: Parameter[]): Promise<Rows<Row>>;
  /** Runs a statement that changes something, in a commit of its own or in the transaction. */
  write<Row = never>(sql: string, parameters?: Parameter[]): Promise<Rows<Row>>;
}

export interface PostgresDatabase extends Queries {
  /** Does the work in one transaction, and repeats the work after a conflict. The work must await nothing but its statements. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /**
   * Calls `onPayload` with each notification of a channel, until `close`. It uses a connection of its own, and replaces a broken
   * one. Notifications in between are lost. Does nothing through a transaction pooler, which passes no notifications on.
   */
  listen(channel: string, onPayload: (payload: string) => void): void;
  close(): Promise<void>;
}

/** The context of each noun of this driver. */
export interface PostgresContext {
  database: PostgresDatabase;
  sql: Sql;
  location: string;
  /** Stands before the name of every table (`tablePrefix`). */
  prefix: string;
}

/** The database's clock at the execution, Unix milliseconds. No gateway's clock counts. */
export const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Longer than any statement takes. After that the connections are dead, and the pool replaces all of them. */
const ANSWER_MS = 15_000;
const MOST_TRIES = 6;

/**
 * The server enforces these limits even while this process is suspended. So the process holds no lock for long, and loses
 * its locks before the callers that wait for them give up.
 * They belong to the transaction, because a pooled session may go on to another program. The isolation level is explicit: in
 * a stricter default, a statement after a lock would not see the commits before it.
 */
const BEGIN =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '5s'; " +
  "SET LOCAL idle_in_transaction_session_timeout = '3s'";

/** Ends sessions of gateways whose statement takes longer than any statement of a transaction. */
const END_ABANDONED = `SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND application_name = '${APPLICATION_NAME}'
    AND state = 'active' AND query_start < clock_timestamp() - make_interval(secs => $1::double precision)`;

/** Connects with the first statement, and again after a connection broke. */
export function openDatabase(setting: PostgresSetting, { answerMs = ANSWER_MS } = {}): PostgresDatabase {
  const { location } = setting;
  const pool = createPool(setting);
  let listener: postgres.Sql | undefined;
  let renewedAt = 0;
  let closing: Promise<void> | undefined;

  /**
   * Replaces all connections when one does not answer, because a network that drops packets reports nothing. The caller may
   * safely retry after this error: work that still waited for a connection never begins, and a transaction does not commit.
   * @param work its signal aborts when the caller has the error
   */
  async function answered<T>(
    isAlone: boolean,
    work: (connection: Connection, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const askedAt = performance.now();
    const told = new AbortController();
    const { signal } = told;
    const late = passed(answerMs, undefined, { signal }).then(() => {
      told.abort();
      if (askedAt >= renewedAt && closing === undefined) {
        renewedAt = performance.now();
        pool.renew();
        endAbandoned();
      }
      throw new StoreError("unavailable", `${location} does not answer: nothing came within ${answerMs / 1_000} s`);
    });
    late.catch(() => {});
    try {
      return await Promise.race([
        pool.use(isAlone, (connection) => signal.aborted ? late : work(connection, signal)),
        late,
      ]);
    } finally {
      told.abort();
    }
  }

  /**
   * Ends statements that wait for a lock at the server after their connection was replaced. They would run later, and use up
   * connections until then. If the server stays silent, nothing more happens.
   */
  function endAbandoned(): void {
    const seconds = answerMs / 1_000 * 2 / 3;
    pool.use(true, (connection) => connection.send(END_ABANDONED, [seconds])).catch(() => {});
  }

  /** Repeats work that lost a conflict. It has written nothing. */
  async function untilWon<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!isConflict(error) || tries === MOST_TRIES) throw error;
        await passed(Math.random() * 10 * 2 ** tries);
      }
    }
  }

  const write: Queries["write"] = (sql, parameters) =>
    untilWon(() => answered(false, (connection) => connection.send(sql, parameters)));

  return {
    async read(sql, parameters) {
      try {
        return await write(sql, parameters);
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        return await write(sql, parameters);
      }
    },
    write,
    transaction: (work) =>
      untilWon(() => answered(true, (connection, signal) => tryTransaction(connection, work, signal))),
    listen(channel, onPayload) {
      if (!setting.prepare || closing !== undefined) return;
      listener ??= postgres(driverOptions(setting));
      // The library reconnects whenever this connection breaks, also the first time.
      listener.listen(channel, onPayload).catch(() => {});
    },
    close: () => closing ??= Promise.all([pool.close(), listener?.end({ timeout: 0 })]).then(() => {}),
  };
}

/**
 * Sends nothing after the end of the transaction: it would be a commit of its own, or part of another transaction.
 * @param signal aborts when the caller has its error. Then this does not commit
 */
async function tryTransaction<T>(
  connection: Connection,
  work: (queries: Queries) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let isOver = false;
  let failure: { error: unknown } | undefined;
  const query: Queries["write"] = async (sql, parameters) => {
    if (isOver) throw failure?.error ?? new Error("the transaction is over");
    try {
      return await connection.send(sql, parameters);
    } catch (error) {
      // Later statements fail because of the first one. Its error is the cause.
      failure ??= { error };
      throw failure.error;
    }
  };
  try {
    const begun = query(BEGIN);
    const [done] = await Promise.all([work({ read: query, write: query }), begun]);
    // PostgreSQL answers the COMMIT of a failed transaction without an error.
    if (failure !== undefined) throw failure.error;
    signal.throwIfAborted();
    const committed = query("COMMIT");
    isOver = true;
    await committed;
    return done;
  } catch (error) {
    isOver = true;
    if (connection.isOpen) await connection.send("ROLLBACK").catch(() => connection.end(0));
    throw error;
  }
}
