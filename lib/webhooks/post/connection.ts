import net from "node:net";
import tls from "node:tls";
import { createAnswerReader, type HttpAnswer, type HttpAnswerReader } from "./http_answer.ts";

/** Where to connect: exactly this address, whatever the name may resolve to by now. */
export interface Endpoint {
  address: string;
  port: number;
  /** Absent: no TLS. `host` is the name (or address) that the certificate must be for. */
  tls?: { host: string; ca?: string };
}

/** A connection failed. The message is short and for an operator. */
export class ConnectionFailure extends Error {
  override name = "ConnectionFailure";

  constructor(
    message: string,
    /** Nothing of an answer had come, on a connection that had served before: it was most likely closed meanwhile. */
    readonly wasStale: boolean = false,
    /** What had come of the answer. */
    readonly answer?: HttpAnswer,
  ) {
    super(message);
  }
}

/** One connection, for one request at a time. */
export interface Connection {
  readonly address: string;
  /** Whether another request may be sent. */
  readonly isOpen: boolean;
  /**
   * Sends a request and waits for its answer.
   * @throws {ConnectionFailure}
   */
  exchange(request: Uint8Array): Promise<HttpAnswer>;
  /** Closes it at once; an exchange under way fails with this message. */
  destroy(why?: string): void;
}

/** A connection that is being made. */
export interface Connecting {
  /** Rejects with a `ConnectionFailure`. */
  connected: Promise<Connection>;
  /** Ends it with this message. Does nothing once it is made. */
  giveUp(why: string): void;
}

/** Connects to exactly one address. With TLS, nothing is sent before the certificate was checked. */
export function connect(endpoint: Endpoint): Connecting {
  const { promise: connected, resolve, reject } = Promise.withResolvers<Connection>();
  if (net.isIP(endpoint.address) === 0) {
    // A name would be looked up again here.
    reject(new ConnectionFailure("not an address to connect to"));
    return { connected, giveUp() {} };
  }
  const socket = openSocket(endpoint);
  function giveUp(why: string): void {
    socket.destroy();
    reject(new ConnectionFailure(why));
  }
  const onError = (error: NodeJS.ErrnoException) => giveUp(connectionWords(error));
  const onClose = () => giveUp("connection closed while it was made");
  socket.on("error", onError);
  socket.on("close", onClose);
  socket.once(endpoint.tls === undefined ? "connect" : "secureConnect", () => {
    const connection = createConnection(socket, endpoint.address);
    socket.off("error", onError);
    socket.off("close", onClose);
    resolve(connection);
  });
  return { connected, giveUp };
}

function openSocket({ address, port, tls: secure }: Endpoint): net.Socket {
  if (secure === undefined) return net.connect({ host: address, port, noDelay: true });
  const socket = tls.connect({
    host: address,
    port,
    // An address is no server name (RFC 6066 §3); its certificate is checked for the address then.
    servername: net.isIP(secure.host) === 0 ? secure.host : "",
    ALPNProtocols: ["http/1.1"],
    // Said aloud, or NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
    rejectUnauthorized: true,
    ...(secure.ca === undefined ? {} : { ca: secure.ca }),
  });
  socket.setNoDelay(true);
  return socket;
}

interface Exchange {
  reader: HttpAnswerReader;
  hasAnswerBegun: boolean;
  resolve(answer: HttpAnswer): void;
  reject(failure: ConnectionFailure): void;
}

function createConnection(socket: net.Socket, address: string): Connection {
  let current: Exchange | undefined;
  let isOpen = true;
  let served = 0;

  function shut(): void {
    isOpen = false;
    socket.destroy();
  }

  function fail(message: string): void {
    shut();
    if (current === undefined) return;
    const { reject, reader, hasAnswerBegun } = current;
    current = undefined;
    reject(new ConnectionFailure(message, served > 0 && !hasAnswerBegun, reader.soFar()));
  }

  function finish(answer: HttpAnswer): void {
    const { resolve } = current!;
    current = undefined;
    served++;
    // A request that is still being sent would run into the next one.
    if (!answer.isReusable || socket.writableLength > 0) shut();
    resolve(answer);
  }

  socket.on("data", (piece: Uint8Array) => {
    // Nobody asked: whatever it is, it must not become the answer to the next request.
    if (current === undefined) return shut();
    current.hasAnswerBegun = true;
    try {
      const answer = current.reader.push(piece);
      if (answer !== undefined) finish(answer);
    } catch (error) {
      fail((error as Error).message);
    }
  });
  const onEnd = () => {
    const answer = current?.reader.end();
    if (answer !== undefined) finish(answer);
    else fail("connection closed before the end of the answer");
  };
  socket.on("end", onEnd);
  socket.on("close", onEnd);
  socket.on("error", (error: NodeJS.ErrnoException) => fail(connectionWords(error)));

  return {
    address,
    get isOpen() {
      return isOpen && !socket.destroyed;
    },
    exchange(request) {
      const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
      current = { reader: createAnswerReader(), hasAnswerBegun: false, resolve, reject };
      socket.write(request);
      return promise;
    },
    destroy: (why = "connection closed by the gateway") => fail(why),
  };
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

/** What went wrong with a socket, in words that are the same on both runtimes. */
function connectionWords({ code, message }: NodeJS.ErrnoException): string {
  const words = code === undefined ? undefined : WORDS[code];
  if (words !== undefined) return words;
  if (/certificate/i.test(message)) return "certificate is not valid";
  if (/ssl|tls|EPROTO/i.test(`${code} ${message}`)) return "TLS handshake failed";
  return code === undefined ? "connection failed" : `connection failed (${code})`;
}
