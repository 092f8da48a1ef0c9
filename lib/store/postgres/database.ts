import { setTimeout as passed } from "node:timers/promises";
import postgres from "postgres";
import type { Parameter, Rows, Sql } from "../sql/database.ts";
import { StoreError } from "../store_error.ts";
import { APPLICATION_NAME, type Connection, driverOptions } from "./connection.ts";
import { isConflict, isConnectionLost } from "./errors.ts";
import { createPool } from "./pool.ts";
import type { PostgresSetting } from "./setting.ts";

/**
 * The rows of `$1`, a list, as a table `given` that others are joined with. The limit says nothing to who reads it, and
 * everything to a planner: that there are few of them, each to be looked for by an index.
 */
export function givenRows(columns: string): string {
  return `(SELECT * FROM json_to_recordset($1::text::json) AS rows (${columns})
    LIMIT json_array_length($1::text::json)) AS given`;
}

/** Statements are sent in the order of the calls, also before the ones before them are answered. */
export interface Queries {
  /** A statement that changes nothing, and is tried again once when the connection breaks. */
  read<Row>(sql: string, parameters?: Parameter[]): Promise<Rows<Row>>;
  /** A statement that changes something: in a commit of its own, unless in a transaction. */
  write<Row = never>(sql: string, parameters?: Parameter[]): Promise<Rows<Row>>;
}

export interface PostgresDatabase extends Queries {
  /**
   * Does this in one transaction; again when it lost against another. It must await nothing but its statements.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /**
   * Calls `onPayload` with what is told on a channel, until `close`; on a connection of its own, which is made anew when it
   * breaks: what is told meanwhile is missed. Does nothing through a transaction pooler, where nobody can listen.
   */
  listen(channel: string, onPayload: (payload: string) => void): void;
  close(): Promise<void>;
}

/** What each noun of this driver is given. */
export interface PostgresContext {
  database: PostgresDatabase;
  sql: Sql;
  location: string;
  /** Stands before the name of every table (`tablePrefix`). */
  prefix: string;
}

/** The database's clock, Unix milliseconds, as it is when this is come to: no gateway's own has a say. */
export const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Longer than any statement takes: then the connection leads nowhere, and all are made anew. */
const ANSWER_MS = 15_000;
const MOST_TRIES = 6;

/**
 * Kept to by the server, also where this process is suspended: it must not keep locks that others wait for, and gives
 * them up before those are given up on.
 * Of the transaction, not of the session: another transaction of a pooled session may be another program's. A database may
 * have another isolation as its own, in which a statement after a lock does not see what was committed before that.
 */
const BEGIN =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '5s'; " +
  "SET LOCAL idle_in_transaction_session_timeout = '3s'";

/** Sessions of gateways whose statement takes longer than any does in a transaction. */
const END_ABANDONED = `SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND application_name = '${APPLICATION_NAME}'
    AND state = 'active' AND query_start < clock_timestamp() - make_interval(secs => $1::double precision)`;

/** Connects when the first statement is sent, and again whenever a connection broke. */
export function openDatabase(setting: PostgresSetting, { answerMs = ANSWER_MS } = {}): PostgresDatabase {
  const { location } = setting;
  const pool = createPool(setting);
  let listener: postgres.Sql | undefined;
  let renewedAt = 0;
  let closing: Promise<void> | undefined;

  /**
   * Gives all connections up where one does not answer: a network that drops everything tells nobody. Who was told so may do
   * the same again: work that waited for a connection until then is never begun, and a transaction is not committed.
   * @param work its signal is aborted when its caller has been told
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
   * What waits for a lock goes on at the server when its connection is given up, is done later, and takes one of the server's
   * places until then. It began later than it was asked for. Where the server is silent it is left as it is.
   */
  function endAbandoned(): void {
    const seconds = answerMs / 1_000 * 2 / 3;
    pool.use(true, (connection) => connection.send(END_ABANDONED, [seconds])).catch(() => {});
  }

  /** Again what lost against another: it has written nothing. */
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
      // Tried again by the driver whenever the connection is lost, the first one included.
      listener.listen(channel, onPayload).catch(() => {});
    },
    close: () => closing ??= Promise.all([pool.close(), listener?.end({ timeout: 0 })]).then(() => {}),
  };
}

/**
 * Nothing is sent once it is over: it would be a commit of its own, or part of another's transaction.
 * @param signal aborted when nobody waits for it any more: then it is not committed
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
      // What comes after a statement that failed fails because of that.
      failure ??= { error };
      throw failure.error;
    }
  };
  try {
    const begun = query(BEGIN);
    const [done] = await Promise.all([work({ read: query, write: query }), begun]);
    // A COMMIT of what has failed is answered as if nothing were wrong.
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
