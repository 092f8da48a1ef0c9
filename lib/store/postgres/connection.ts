import { Buffer } from "node:buffer";
import { connect, isIP, type Socket } from "node:net";
import { setTimeout as passed } from "node:timers/promises";
import postgres from "postgres";
import { storableJson, storableText } from "../codec.ts";
import type { Parameter } from "../sql/database.ts";
import { isConnectionLost } from "./errors.ts";
import type { PostgresSetting } from "./setting.ts";

/**
 * One connection, opened with its first statement. A lost connection stays lost, and the pool opens another. The library's own
 * reconnect is unsafe (porsager/postgres issues 1154 and 1208). It resends unsent statements, may continue a transaction on
 * a new connection, and sends a ROLLBACK without a connection, which ends the process.
 */
export interface Connection {
  /** Sends statements in the order of the calls, without waiting for earlier answers. */
  // deno-lint-ignore no-explicit-any -- the rows are what the statement says
  send(text: string, parameters?: Parameter[]): Promise<any>;
  /** False once the connection is lost or ended. Then statements under way and later ones reject. */
  readonly isOpen: boolean;
  /** Waits at most this long for the statements under way, then ends. */
  end(drainMs: number): Promise<void>;
}

/** The name of a gateway's sessions in the server's views. */
export const APPLICATION_NAME = "payment-escrow-gateway";
const CONNECT_SECONDS = 5;
/** The server keeps prepared statements, often 100 KB each, as long as the connection. Searches have thousands of forms. */
const MOST_PREPARED = 500;

/** @param onClose called once, when the connection is lost or ended */
export function createConnection(setting: PostgresSetting, onClose: () => void): Connection {
  let socket: Socket | undefined;
  const prepared = new Set<string>();
  let isOpen = true;
  let underWay = 0;
  let whenIdle = () => {};
  const sql = postgres(driverOptions(setting, openSocket, close));

  /** Our own socket: the library's stays open for ever when the other side is silent. */
  function openSocket(): Socket {
    if (socket !== undefined) {
      close();
      throw closedError();
    }
    const { host, port } = setting;
    return socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  }

  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    void sql.end({ timeout: 0 }).then(() => socket?.destroy());
    onClose();
  }

  return {
    get isOpen() {
      return isOpen;
    },
    async send(text, parameters = []) {
      if (!isOpen) throw closedError();
      underWay += 1;
      if (prepared.size < MOST_PREPARED) prepared.add(text);
      try {
        return await sql.unsafe(text, parameters.map(encoded), { prepare: prepared.has(text) });
      } catch (error) {
        if (isConnectionLost(error)) close();
        throw error;
      } finally {
        underWay -= 1;
        if (underWay === 0) whenIdle();
      }
    },
    async end(drainMs) {
      if (underWay > 0) {
        const waiting = new AbortController();
        const idle = new Promise<void>((resolve) => whenIdle = resolve);
        await Promise.race([idle, passed(drainMs, undefined, { signal: waiting.signal }).catch(() => {})]);
        waiting.abort();
      }
      close();
      await sql.end();
    },
  };
}

function closedError(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "CONNECTION_CLOSED" });
}

/** The options of the library: how to reach the server. Ending a connection is left to us. */
export function driverOptions(
  { host, port, database, user, password, sslmode, certificateAuthorities, prepare }: PostgresSetting,
  socket?: () => Socket,
  onclose?: () => void,
): postgres.Options<Record<string, postgres.PostgresType>> {
  const options = {
    host,
    port,
    database,
    user,
    // Set, so that the library does not search for one.
    pass: password ?? "",
    ssl: sslOf(sslmode, host, certificateAuthorities),
    max: 1,
    prepare,
    ...(socket === undefined ? {} : { socket, onclose }),
    connect_timeout: CONNECT_SECONDS,
    idle_timeout: null,
    max_lifetime: null,
    backoff: (retries: number) => Math.min(1, 0.05 * 2 ** Math.min(retries, 10)),
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: APPLICATION_NAME },
    // Integers of 64 bits. Ours stay below 2^53.
    types: {
      bigint: { to: 20, from: [20], parse: Number, serialize: String },
      bytea: { to: 17, from: [17], parse: bytesOf, serialize: (bytes: Uint8Array) => `\\x${bytes.toHex()}` },
    },
  };
  return options as unknown as postgres.Options<Record<string, postgres.PostgresType>>;
}

/** Parses both forms of the setting `bytea_output`. */
function bytesOf(text: string): Uint8Array {
  if (text.startsWith("\\x")) return Buffer.from(text.slice(2), "hex");
  const octal = (_: string, digits: string) => digits === "\\" ? digits : String.fromCharCode(parseInt(digits, 8));
  return Buffer.from(text.replace(/\\([0-7]{3}|\\)/g, octal), "latin1");
}

function sslOf(sslmode: PostgresSetting["sslmode"], host: string, ca: string | undefined) {
  if (sslmode === "disable" || host.startsWith("/")) return false;
  if (sslmode !== "verify-full") return sslmode;
  // A TLS client sends no server name for an address (RFC 6066), but the certificate must be for the address.
  const whose = isIP(host) ? { host } : { servername: host };
  return { rejectUnauthorized: true, ...whose, ...(ca === undefined ? {} : { ca }) };
}

function encoded(parameter: Parameter): string | number | boolean | null | Uint8Array {
  if (typeof parameter === "string") return storableText(parameter);
  if (parameter === null || typeof parameter !== "object" || parameter instanceof Uint8Array) return parameter;
  return storableJson(parameter);
}
