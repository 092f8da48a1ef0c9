import { Agent, type ClientRequest, type ClientRequestArgs } from "node:http";
import net from "node:net";
import { clearInterval, setInterval } from "node:timers";
import tls from "node:tls";

/** Where to connect: exactly this address, whatever the name may resolve to by now. */
export interface Endpoint {
  /** Connections are shared under it. */
  key: string;
  address: string;
  port: number;
  /** The name (or address) that the certificate must be for; absent: no TLS. */
  tlsHost?: string;
}

/** What a request under way is told of its connection. */
export interface Exchange {
  /** So many bytes have come, and are parsed next. */
  onBytes(count: number): void;
  onClose(): void;
}

/** An open connection, for one request at a time. */
export interface Connection {
  readonly endpoint: Endpoint;
  readonly socket: net.Socket;
  /** Whether it has carried an answer. */
  hasServed: boolean;
  /** The request under way. */
  exchange?: Exchange;
}

/** A connection that is being made. */
export interface Connecting {
  /** Rejects with a `PostFailure`. */
  opened: Promise<Connection>;
  /** Ends it, with this message when it is not open yet. */
  giveUp(why: string): void;
}

/** What a request needs to go over a connection of one's own choice. */
export interface ConnectionRequestArgs extends ClientRequestArgs {
  connection: Connection;
}

export interface ConnectionsOptions {
  /** Of those that wait, over all endpoints; beyond it the one that waited longest is closed. */
  maxIdle: number;
  /** One that has waited so long is closed. */
  idleMs: number;
  /** Certificates (PEM) to trust instead of the runtime's own. */
  ca?: string;
}

/**
 * The connections of a poster, kept open between requests. As the `agent` of a request it hands over the connection that
 * the request names and asks nobody where to connect: no setting of the environment and no resolver.
 */
export class Connections extends Agent {
  /** The one used last is at the end. */
  readonly #idle = new Map<string, Connection[]>();
  /** Since when (`performance.now()`), in the order in which they began to wait. */
  readonly #idleSinceMs = new Map<Connection, number>();
  readonly #options: ConnectionsOptions;
  #sweeper: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    // No proxy, said aloud: Deno would write requests as for the one in the environment, whatever they go over.
    super({ keepAlive: true, proxyEnv: {} });
    this.#options = options;
  }

  /** What `node:http` calls of an agent for each request. */
  addRequest(request: ClientRequest, { connection }: ConnectionRequestArgs): void {
    request.onSocket(connection.socket);
  }

  /** One that waits for a request to one of these endpoints, in their order; the caller's from then on. */
  take(endpoints: Endpoint[]): Connection | undefined {
    for (const { key } of endpoints) {
      for (let waiting; (waiting = this.#idle.get(key)?.at(-1)) !== undefined;) {
        this.#forget(waiting);
        // The other side may have closed it a moment ago.
        if (waiting.socket.writable) return waiting;
      }
    }
    return undefined;
  }

  /** Makes a new one. With TLS it is open once the certificate was checked. */
  connect(endpoint: Endpoint): Connecting {
    const { promise: opened, resolve, reject } = Promise.withResolvers<Connection>();
    if (net.isIP(endpoint.address) === 0) {
      // A name would be looked up again here.
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
      // Nobody asked: whatever it is, it must not become the answer to the next request.
      if (connection.exchange === undefined) socket.destroy();
      else connection.exchange.onBytes(bytes.length);
    });
    // What `node:http` says to its agent when an answer is over and the connection can carry another request.
    socket.on("free", () => this.#keep(connection));
    return {
      opened,
      giveUp(why) {
        reject(new PostFailure(why));
        socket.destroy();
      },
    };
  }

  /** Closes those that wait, and those that come back later. */
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
    // An address is no server name (RFC 6066 §3); its certificate is checked for the address then.
    servername: net.isIP(tlsHost) === 0 ? tlsHost : "",
    ALPNProtocols: ["http/1.1"],
    // Said aloud, or NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  });
  socket.setNoDelay(true);
  return socket;
}

/** There was no answer, or not in full. The message is short, for an operator, and the same on both runtimes. */
export class PostFailure extends Error {
  override name = "PostFailure";
}

const WORDS: Record<string, string> = {
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

/** What went wrong with a socket. */
export function socketFailure({ code, message }: NodeJS.ErrnoException): PostFailure {
  return new PostFailure(WORDS[code ?? ""] ?? otherWords(code, message));
}

function otherWords(code: string | undefined, message: string): string {
  if (/certificate/i.test(message)) return "certificate is not valid";
  if (/ssl|tls|EPROTO/i.test(`${code} ${message}`)) return "TLS handshake failed";
  return code === undefined ? "connection failed" : `connection failed (${code})`;
}
