import { Agent, type ClientRequest, type ClientRequestArgs } from "node:http";
import net from "node:net";
import { clearInterval, setInterval } from "node:timers";
import tls from "node:tls";

/** The exact address to connect to, whatever its name resolves to by now. */
export interface Endpoint {
  /** Requests with the same key share connections. */
  key: string;
  address: string;
  port: number;
  /** The name (or address) of the certificate; absent without TLS. */
  tlsHost?: string;
}

/** The events of its connection for a request under way. */
export interface Exchange {
  /** This many bytes have arrived and are parsed next. */
  onBytes(count: number): void;
  onClose(): void;
}

/** An open connection, for one request at a time. */
export interface Connection {
  readonly endpoint: Endpoint;
  readonly socket: net.Socket;
  /** Whether it has carried an answer before. */
  hasServed: boolean;
  /** The request under way. */
  exchange?: Exchange;
}

/** A connection under way. */
export interface Connecting {
  /** Rejects with a `PostFailure`. */
  opened: Promise<Connection>;
  /** Closes it; with this message if it is not open yet. */
  giveUp(why: string): void;
}

/** The arguments of a request over a chosen connection. */
export interface ConnectionRequestArgs extends ClientRequestArgs {
  connection: Connection;
}

export interface ConnectionsOptions {
  /** Idle connections over all endpoints. Beyond this the longest idle one is closed. */
  maxIdle: number;
  /** An idle connection is closed after this time. */
  idleMs: number;
  /** Certificates (PEM) to trust instead of the runtime's own. */
  ca?: string;
}

/**
 * The connections of a poster, open between requests. As the `agent` of a request it returns the connection that the
 * request names. No environment setting and no resolver decides where to connect.
 */
export class Connections extends Agent {
  /** The last used one is at the end. */
  readonly #idle = new Map<string, Connection[]>();
  /** Since when each is idle (`performance.now()`), in that order. */
  readonly #idleSinceMs = new Map<Connection, number>();
  readonly #options: ConnectionsOptions;
  #sweeper: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    // An explicit empty proxy setting: Deno would write requests for the proxy of the environment.
    super({ keepAlive: true, proxyEnv: {} });
    this.#options = options;
  }

  /** `node:http` calls this for each request. */
  addRequest(request: ClientRequest, { connection }: ConnectionRequestArgs): void {
    request.onSocket(connection.socket);
  }

  /** Takes an idle connection to one of these endpoints, in their order. */
  take(endpoints: Endpoint[]): Connection | undefined {
    for (const { key } of endpoints) {
      for (let waiting; (waiting = this.#idle.get(key)?.at(-1)) !== undefined;) {
        this.#forget(waiting);
        // The receiver may have just closed it.
        if (waiting.socket.writable) return waiting;
      }
    }
    return undefined;
  }

  /** Opens a new connection. With TLS it is open after the certificate check. */
  connect(endpoint: Endpoint): Connecting {
    const { promise: opened, resolve, reject } = Promise.withResolvers<Connection>();
    if (net.isIP(endpoint.address) === 0) {
      // A name would need another look-up here.
      reject(new PostFailure("not an address to connect to"));
      return { opened, giveUp() {} };
    }
    const socket = openSocket(endpoint, this.#options.ca);
    const connection: Connection = { endpoint, socket, hasServed: false };
    socket.once(endpoint.tlsHost === undefined ? "connect" : "secureConnect", () => resolve(connection));
    socket.on("error", (error) => reject(socketFailure(error)));
    socket.on("close", () => {
      reject(new PostFailure("connection closed while it was made"));
      connection.exchange?.onClose();
      this.#forget(connection);
    });
    socket.on("data", (bytes: Uint8Array) => {
      // Unrequested bytes must not become the answer to the next request.
      if (connection.exchange === undefined) socket.destroy();
      else connection.exchange.onBytes(bytes.length);
    });
    // `node:http` emits this when an answer is complete and the connection is free.
    socket.on("free", () => this.#keep(connection));
    return {
      opened,
      giveUp(why) {
        reject(new PostFailure(why));
        socket.destroy();
      },
    };
  }

  /** Closes idle connections, and later those that become idle. */
  close(): void {
    this.#isClosed = true;
    for (const { socket } of this.#idleSinceMs.keys()) socket.destroy();
  }

  #keep(connection: Connection): void {
    const { socket, endpoint: { key } } = connection;
    if (this.#isClosed || !socket.writable || socket.destroyed) return void socket.destroy();
    connection.hasServed = true;
    const those = this.#idle.get(key);
    if (those === undefined) this.#idle.set(key, [connection]);
    else those.push(connection);
    this.#idleSinceMs.set(connection, performance.now());
    if (this.#idleSinceMs.size > this.#options.maxIdle) this.#drop(this.#idleSinceMs.keys().next().value!);
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#options.idleMs / 3).unref();
  }

  #forget(connection: Connection): void {
    if (!this.#idleSinceMs.delete(connection)) return;
    const those = this.#idle.get(connection.endpoint.key)!;
    if (those.at(-1) === connection) those.pop();
    else those.splice(those.indexOf(connection), 1);
    if (those.length === 0) this.#idle.delete(connection.endpoint.key);
  }

  #drop(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  #sweep(): void {
    const untilMs = performance.now() - this.#options.idleMs;
    for (const [connection, sinceMs] of this.#idleSinceMs) {
      if (sinceMs > untilMs) break;
      this.#drop(connection);
    }
    if (this.#idleSinceMs.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

function openSocket({ address, port, tlsHost }: Endpoint, ca: string | undefined): net.Socket {
  if (tlsHost === undefined) return net.connect({ host: address, port, noDelay: true });
  const socket = tls.connect({
    host: address,
    port,
    // An address is no server name (RFC 6066 §3). The certificate is then checked for the address.
    servername: net.isIP(tlsHost) === 0 ? tlsHost : "",
    ALPNProtocols: ["http/1.1"],
    // Explicit, or NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  });
  socket.setNoDelay(true);
  return socket;
}

/** There was no complete answer. The message is short, for an operator, and equal on both runtimes. */
export class PostFailure extends Error {
  override name = "PostFailure";
}

const TEXTS: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ETIMEDOUT: "connection timed out",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  EADDRNOTAVAIL: "network unreachable",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another name",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  CERT_REVOKED: "certificate is revoked",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate is from no trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate is from no trusted authority",
  UNABLE_TO_GET_ISSUER_CERT: "certificate is from no trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate is from no trusted authority",
};

/** The failure of a socket. */
export function socketFailure({ code, message }: NodeJS.ErrnoException): PostFailure {
  return new PostFailure(TEXTS[code ?? ""] ?? otherText(code, message));
}

function otherText(code: string | undefined, message: string): string {
  if (/certificate/i.test(message)) return "certificate is not valid";
  if (/ssl|tls|EPROTO/i.test(`${code} ${message}`)) return "TLS handshake failed";
  return code === undefined ? "connection failed" : `connection failed (${code})`;
}
