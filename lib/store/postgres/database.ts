import { connect, isIP, type Socket } from "node:net";
import { setTimeout as passed } from "node:timers/promises";
import postgres from "postgres";
import { StoreError } from "../store.ts";
import { isConflict, isConnectionLost } from "./errors.ts";
import type { PostgresSetting } from "./setting.ts";

/** A value of a statement: `$1`, `$2` … A list of rows goes as JSON, for `json_to_recordset($1::text::json)`. */
export type Parameter = string | number | boolean | null | Uint8Array | readonly object[];

/**
 * The rows of `$1`, a list, as a table `given` that others are joined with. The limit says nothing to who reads it, and
 * everything to a planner: that there are few of them, each to be looked for by an index.
 */
export function givenRows(columns: string): string {
  return `(SELECT * FROM json_to_recordset($1::text::json) AS rows (${columns})
    LIMIT json_array_length($1::text::json)) AS given`;
}

/** Rows, and how many were affected. */
export type Rows<Row> = Row[] & { count: number };

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

/** Longer than any statement takes: then the connection leads nowhere, and all are made anew. */
const ANSWER_MS = 15_000;
const CONNECT_SECONDS = 5;
const IDLE_SECONDS = 300;
/** How long what is under way may take when connections are given up, and when the store is closed. */
const DRAIN_SECONDS = 5;
const MOST_TRIES = 6;

/**
 * Kept to by the server, also where this process is suspended: it must not keep locks that others wait for, and gives
 * them up before those are given up on.
 * Of the transaction, not of the session: another transaction of a pooled session may be another program's.
 */
const BOUNDS = "SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '5s'; " +
  "SET LOCAL idle_in_transaction_session_timeout = '3s'";

/** Connects when the first statement is sent, and again whenever a connection broke. */
export function openDatabase(setting: PostgresSetting, { answerMs = ANSWER_MS } = {}): PostgresDatabase {
  const { location } = setting;
  let pool = createPool(setting);
  let listener: Pool | undefined;
  let closing: Promise<void> | undefined;

  /** Gives all connections up where one does not answer: a network that drops everything tells nobody. */
  async function answered<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    const used = pool;
    const timer = new AbortController();
    const late = passed(answerMs, undefined, { signal: timer.signal }).then(() => {
      if (pool === used && closing === undefined) pool = createPool(setting);
      void used.end();
      throw new StoreError("unavailable", `${location} does not answer: nothing came within ${answerMs / 1_000} s`);
    });
    late.catch(() => {});
    try {
      return await Promise.race([work(used), late]);
    } finally {
      timer.abort();
    }
  }

  const write: Queries["write"] = (sql, parameters) => answered((used) => send(used.sql, sql, parameters));

  async function tryTransaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return await answered((used) =>
      used.sql.begin(async (transaction) => {
        const query: Queries["write"] = (sql, parameters) => send(transaction, sql, parameters);
        const bounded = transaction.unsafe(BOUNDS).execute();
        const [done] = await Promise.all([work({ read: query, write: query }), bounded]);
        return done;
      })
    ) as T;
  }

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
    async transaction(work) {
      for (let tries = 1;; tries++) {
        try {
          return await tryTransaction(work);
        } catch (error) {
          if (!isConflict(error) || tries === MOST_TRIES) throw error;
          await passed(Math.random() * 10 * 2 ** tries);
        }
      }
    },
    listen(channel, onPayload) {
      if (!setting.prepare || closing !== undefined) return;
      listener ??= createPool(setting);
      // Tried again by the driver whenever the connection is lost, the first one included.
      listener.sql.listen(channel, onPayload).catch(() => {});
    },
    close: () => closing ??= Promise.all([pool.end(), listener?.end()]).then(() => {}),
  };
}

// deno-lint-ignore no-explicit-any -- the rows are what the statement says
async function send(sql: Pick<postgres.Sql, "unsafe">, text: string, parameters: Parameter[] = []): Promise<any> {
  return await sql.unsafe(text, parameters.map(encoded), { prepare: true });
}

/** NUL, which PostgreSQL has no place for in a text, becomes U+FFFD, and so do halves of surrogate pairs. */
function encoded(parameter: Parameter): string | number | boolean | null | Uint8Array {
  if (typeof parameter === "string") return storable(parameter);
  if (parameter === null || typeof parameter !== "object" || parameter instanceof Uint8Array) return parameter;
  return JSON.stringify(parameter, (_, value) => typeof value === "string" ? storable(value) : value);
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

interface Pool {
  sql: postgres.Sql;
  /** Lets what is under way come to its end for a moment. */
  end(): Promise<void>;
}

function createPool(setting: PostgresSetting): Pool {
  const { host, port, database, user, password, sslmode, certificateAuthorities, prepare, poolSize } = setting;
  let sockets: Socket[] = [];

  /** Not the driver's own, which stay open for good where the other side is silent. */
  function socket(): Socket {
    const opened = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    sockets = [...sockets.filter(({ destroyed }) => !destroyed), opened];
    return opened;
  }

  const options = {
    host,
    port,
    database,
    user,
    // Given, so that the driver does not look for one of its own.
    pass: password ?? "",
    ssl: sslOf(sslmode, host, certificateAuthorities),
    max: poolSize,
    prepare,
    socket,
    connect_timeout: CONNECT_SECONDS,
    idle_timeout: IDLE_SECONDS,
    backoff: (retries: number) => Math.min(1, 0.05 * 2 ** Math.min(retries, 10)),
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "payment-escrow-gateway" },
    // Integers of 64 bits: none of ours is beyond 2^53.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  };
  const sql = postgres(options as postgres.Options<Record<string, postgres.PostgresType>>);
  return {
    sql,
    async end() {
      await sql.end({ timeout: DRAIN_SECONDS });
      for (const one of sockets) one.destroy();
    },
  };
}

function sslOf(sslmode: PostgresSetting["sslmode"], host: string, ca: string | undefined) {
  if (sslmode === "disable" || host.startsWith("/")) return false;
  if (sslmode !== "verify-full") return sslmode;
  // An address is no name that a server is asked for (RFC 6066), but what its certificate has to be for.
  const whose = isIP(host) ? { host } : { servername: host };
  return { rejectUnauthorized: true, ...whose, ...(ca === undefined ? {} : { ca }) };
}
