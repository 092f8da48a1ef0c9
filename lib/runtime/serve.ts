import { sleep } from "../clock.ts";
import { listening } from "./listening.ts";
import { type PortServer, serveWithOverloadControl } from "./overload_control.ts";

/** The sender of a request, looked up only on access because that costs time. */
export interface Peer {
  /** The IP address of the socket; empty when the connection is closed. */
  readonly remoteAddress: string;
}

export interface ServeOptions {
  hostname: string;
  /** 0 takes any free port. */
  port: number;
  fetch: (request: Request, peer: Peer) => Response | Promise<Response>;
  /**
   * How long a connection may be silent: before or within a request, and while its response is pending or streamed. Bun
   * counts whole seconds up to 255. Deno has no such time: silent connections stay until file descriptors run out. For
   * public traffic put it behind a proxy that has one.
   */
  idleTimeoutMs: number;
  /** Called when connections are closed because file descriptors run out. */
  onProblem?: (message: string, cause: unknown) => void;
}

export interface HttpServer {
  /** The bound port. */
  readonly port: number;
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  /**
   * Stops accepting, closes idle connections and waits for requests under way, at most `drainMs`. Then Bun cuts the
   * rest off; on Deno they end with the process. Returns whether all requests finished. May be called again.
   */
  stop(options: { drainMs: number }): Promise<boolean>;
}

/**
 * Serves `fetch` over HTTP/1.1.
 * @throws {ListenError} with host, port and reason when it cannot bind
 */
export function serveHttp(options: ServeOptions): Promise<HttpServer> {
  const serve = typeof Bun !== "undefined" ? serveOnBun : serveOnDeno;
  return listening(options, (address) => serve(options, address));
}

const BUN_MAX_IDLE_SECONDS = 255;

function serveOnBun({ hostname, port, fetch, idleTimeoutMs, onProblem }: ServeOptions, address: string): HttpServer {
  let bound = port;
  const listen = () => {
    const server = Bun.serve({
      hostname: address,
      port: bound,
      development: false,
      // Otherwise Bun shares the port with a process that listens on it already.
      reusePort: false,
      idleTimeout: Math.min(BUN_MAX_IDLE_SECONDS, Math.ceil(idleTimeoutMs / 1000)),
      fetch: (request, server) => fetch(request, new BunPeer(request, server)),
    });
    bound = server.port ?? bound;
    return { port: bound, drain: () => drainOnBun(server), cut: () => void server.stop(true) };
  };
  return httpServer(hostname, serveWithOverloadControl({ listen, onProblem }));
}

/** How long no request may be under way before connections without one are closed. */
const QUIET_MS = 20;

/** Bun alone would wait for connections without a request, or with half of one. */
async function drainOnBun(server: { stop(isAtOnce?: boolean): Promise<void>; pendingRequests: number }): Promise<void> {
  const drained = server.stop();
  do await sleep(QUIET_MS); while (server.pendingRequests > 0);
  void server.stop(true);
  await drained;
}

/**
 * Deno's server ends at the first connection that it cannot accept, and another one replaces it. The former one still
 * finishes its requests and closes idle connections, which frees descriptors.
 */
function serveOnDeno({ hostname, port, fetch, onProblem }: ServeOptions, address: string): HttpServer {
  let bound = port;
  const listen = (onFailed: (cause: unknown) => void) => {
    let pendingRequests = 0;
    let isLeaving = false;
    const answered = () => void pendingRequests--;
    const server = Deno.serve(
      { hostname: address, port: bound, onListen: () => {}, onError: failedOnDeno },
      (request, info) => {
        pendingRequests++;
        info.completed.then(answered, answered);
        const answer = fetch(request, peerOf(info));
        return request.body === null ? answer : withBodyOnDeno(request.body, answer, () => isLeaving);
      },
    );
    bound = server.addr.port;
    server.finished.catch(onFailed);
    const drain = () => {
      isLeaving = true;
      return drainOnDeno(server, () => pendingRequests);
    };
    // Deno cannot cut connections after a graceful shutdown has begun.
    return { port: bound, drain, cut: () => {} };
  };
  return httpServer(hostname, serveWithOverloadControl({ listen, onProblem }));
}

/**
 * A graceful shutdown ends a connection with an unread body only while that is read. After a complete answer it never
 * does. So while leaving, this breaks off the answer, and with it the connection.
 */
async function withBodyOnDeno(
  body: ReadableStream<Uint8Array>,
  answer: Response | Promise<Response>,
  isLeaving: () => boolean,
): Promise<Response> {
  const answered = await answer;
  const isWhole = readToEnd(body);
  if (!isLeaving() || await isWhole) return answered;
  const brokenOff = new ReadableStream({ start: (controller) => controller.error(BROKEN_OFF) });
  return new Response(brokenOff, { status: answered.status });
}

const BROKEN_OFF = new Error("the body broke off");

/** Like Deno's default, but silent for answers that were broken off on purpose: clients must not write to the log. */
function failedOnDeno(error: unknown): Response {
  if (error !== BROKEN_OFF) console.error(error);
  return new Response("Internal Server Error", { status: 500 });
}

/** How much of a body is read after its answer, so that a client cannot send forever. */
const READ_ON_BYTES = 1_048_576;

/** Whether the body ended. */
async function readToEnd(body: ReadableStream<Uint8Array>): Promise<boolean> {
  let size = 0;
  try {
    for await (const { length } of body) {
      size += length;
      if (size > READ_ON_BYTES) return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** How long the last answers may take to be sent: Deno completes a request when it starts to send. */
const SENDING_MS = 2_000;

/** Deno alone would wait for the rest of a body that the answer did not need. */
async function drainOnDeno(server: { shutdown(): Promise<void> }, pendingRequests: () => number): Promise<void> {
  let isOver = false;
  const over = server.shutdown().finally(() => isOver = true);
  for (let quietMs = 0; !isOver && quietMs < SENDING_MS; quietMs += QUIET_MS) {
    await Promise.race([over, sleep(QUIET_MS)]);
    if (pendingRequests() > 0) quietMs = 0;
  }
}

function httpServer(hostname: string, { port, drain, cut }: PortServer): HttpServer {
  let drained: Promise<void> | undefined;
  return {
    port,
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`,
    async stop({ drainMs }) {
      drained ??= drain();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timeUp = new Promise<true>((resolve) => timer = setTimeout(() => resolve(true), drainMs));
      const isLate = await Promise.race([drained.then(() => false), timeUp]);
      if (isLate) cut();
      clearTimeout(timer);
      return !isLate;
    },
  };
}

class BunPeer implements Peer {
  constructor(
    private readonly request: Request,
    private readonly server: { requestIP(request: Request): { address: string } | null },
  ) {}

  get remoteAddress(): string {
    return this.server.requestIP(this.request)?.address ?? "";
  }
}

/** Deno's information about a request. */
export interface DenoServeInfo {
  remoteAddr: { hostname: string };
}

/** The sender of a request to `deno serve`. */
export function peerOf(info: DenoServeInfo): Peer {
  return new DenoPeer(info);
}

class DenoPeer implements Peer {
  constructor(private readonly info: DenoServeInfo) {}

  get remoteAddress(): string {
    return this.info.remoteAddr.hostname;
  }
}
