import { sleep } from "../clock.ts";
import { listening } from "./listening.ts";
import { type PortServer, serveWithOverloadControl } from "./overload_control.ts";

/** Who sent a request. Looked up only when it is read, so that a request nobody asks about pays nothing. */
export interface Peer {
  /** IP address as the socket shows it; empty when the connection is already gone. */
  readonly remoteAddress: string;
}

export interface ServeOptions {
  hostname: string;
  /** 0 takes any free port. */
  port: number;
  fetch: (request: Request, peer: Peer) => Response | Promise<Response>;
  /**
   * How long a connection may stay silent: before a request, in the middle of one, and while its response is awaited or
   * streamed. Bun counts whole seconds up to 255. Deno has no such time: there silent connections stay until file
   * descriptors run out. Before strangers it belongs behind a proxy that has one.
   */
  idleTimeoutMs: number;
  /** Told when connections were closed because file descriptors ran out. */
  onProblem?: (message: string, cause: unknown) => void;
}

export interface HttpServer {
  /** The port really bound. */
  readonly port: number;
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  /**
   * Stops accepting, closes idle connections and waits for requests in flight, at most `drainMs`. What is still
   * running then is cut off on Bun; Deno leaves it to the end of the process. Answers whether all could be finished.
   * Safe to call again.
   */
  stop(options: { drainMs: number }): Promise<boolean>;
}

/**
 * Serves `fetch` over HTTP/1.1.
 * @throws {ListenError} naming host, port and reason when the address cannot be bound
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
      // Outside of development Bun would share the port with whoever listens on it already.
      reusePort: false,
      idleTimeout: Math.min(BUN_MAX_IDLE_SECONDS, Math.ceil(idleTimeoutMs / 1000)),
      fetch: (request, server) => fetch(request, new BunPeer(request, server)),
    });
    bound = server.port ?? bound;
    return { port: bound, drain: () => drainOnBun(server), cut: () => void server.stop(true) };
  };
  return httpServer(hostname, serveWithOverloadControl({ listen, onProblem }));
}

/** How long no request must have been under way before connections are closed on which none came. */
const QUIET_MS = 20;

/** By itself Bun would wait for connections on which nothing, or half a request, has come. */
async function drainOnBun(server: { stop(isAtOnce?: boolean): Promise<void>; pendingRequests: number }): Promise<void> {
  const drained = server.stop();
  do await sleep(QUIET_MS); while (server.pendingRequests > 0);
  void server.stop(true);
  await drained;
}

/**
 * Deno's server gives up for good at the first connection that it cannot accept: another one takes its place. The one that
 * gave up still finishes its requests and closes its idle connections, which brings descriptors back.
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
    // Deno has no way to cut connections once a graceful shutdown has begun.
    return { port: bound, drain, cut: () => {} };
  };
  return httpServer(hostname, serveWithOverloadControl({ listen, onProblem }));
}

/**
 * A connection on which the rest of a body is awaited ends by a graceful shutdown only while that is being read, and not at
 * all once a whole answer was given after it had begun: then the answer breaks off instead, and the connection with it.
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

/** As Deno does by itself, but silent of answers that were broken off on purpose: strangers write nothing into the log. */
function failedOnDeno(error: unknown): Response {
  if (error !== BROKEN_OFF) console.error(error);
  return new Response("Internal Server Error", { status: 500 });
}

/** What is read of a body after its answer: whoever goes on sending is not read for ever. */
const READ_ON_BYTES = 1_048_576;

/** Whether the end came. */
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

/** How long the last answers have to go out: Deno calls one completed when it has begun to send it. */
const SENDING_MS = 2_000;

/** By itself Deno would wait for the rest of a body whose request was answered without it. */
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

/** What Deno hands a server beside the request. */
export interface DenoServeInfo {
  remoteAddr: { hostname: string };
}

/** Who sent a request that came by `deno serve`. */
export function peerOf(info: DenoServeInfo): Peer {
  return new DenoPeer(info);
}

class DenoPeer implements Peer {
  constructor(private readonly info: DenoServeInfo) {}

  get remoteAddress(): string {
    return this.info.remoteAddr.hostname;
  }
}
