import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { sleep } from "../clock.ts";

/** A server on a port, which another can take over. */
export interface PortServer {
  readonly port: number;
  /** Stops accepting, closes idle connections, and resolves when the requests under way are answered and all are closed. */
  drain(): Promise<void>;
  /** Closes every connection, whatever is under way on it, where the runtime can. */
  cut(): void;
}

export interface OverloadControlOptions {
  /** @param onFailed to be told when the server has given up accepting */
  listen(onFailed: (cause: unknown) => void): PortServer;
  /** Told when connections are shed, at most once a minute. */
  onProblem?: (message: string, cause: unknown) => void;
}

/** What connections do not get: the node, the receivers of webhooks and the store need descriptors, too. */
const RESERVED_DESCRIPTORS = 16;
const LOOK_MS = 1_000;
/** How long requests under way have when descriptors stay short. */
const GRACE_MS = 5_000;
/** How long until it is tried again to listen. */
const LISTEN_AGAIN_MS = 50;
const TELL_MS = 60_000;
const DRAIN_LOOK_MS = 5;

/**
 * Keeps a server going when strangers hold its file descriptors: once only a few are free, another server takes over the
 * port, and the one before it answers what is under way and closes all that is silent or half-sent. Neither runtime says
 * which connections are idle, or closes those on which nothing has come yet, but so.
 */
export function serveWithOverloadControl({ listen, onProblem }: OverloadControlOptions): PortServer {
  let current: PortServer | undefined;
  /** Those taken over from, and since when (`performance.now()`). */
  const leaving = new Map<PortServer, number>();
  let again: ReturnType<typeof setTimeout> | undefined;
  let isStopping = false;
  let toldAtMs = -Infinity;

  function open(): PortServer {
    const server = listen((cause) => {
      // Not at once: it would fail again as long as nothing is closed.
      if (server === current) shed(cause, LISTEN_AGAIN_MS);
    });
    return current = server;
  }

  function shed(cause: unknown, pauseMs = 0): void {
    if (isStopping) return;
    if (performance.now() - toldAtMs >= TELL_MS) {
      toldAtMs = performance.now();
      onProblem?.("connections are closed, for file descriptors run out", cause);
    }
    if (current === undefined) return;
    leave(current);
    current = undefined;
    again = setTimeout(openAgain, pauseMs);
  }

  function leave(server: PortServer): void {
    leaving.set(server, performance.now());
    server.drain().catch(() => {}).finally(() => leaving.delete(server));
  }

  function openAgain(): void {
    try {
      open();
    } catch {
      again = setTimeout(openAgain, LISTEN_AGAIN_MS);
    }
  }

  const first = open();
  const looking = setInterval(() => {
    const cause = shortage();
    if (cause === undefined) return;
    shed(cause);
    for (const [server, sinceMs] of leaving) if (performance.now() - sinceMs >= GRACE_MS) server.cut();
  }, LOOK_MS);

  return {
    port: first.port,
    async drain() {
      isStopping = true;
      clearInterval(looking);
      clearTimeout(again);
      if (current !== undefined) leave(current);
      while (leaving.size > 0) await sleep(DRAIN_LOOK_MS);
    },
    cut() {
      for (const server of leaving.keys()) server.cut();
    },
  };
}

/** What keeps the reserved descriptors from being opened; undefined when nothing does. */
function shortage(): unknown {
  const opened: number[] = [];
  try {
    while (opened.length < RESERVED_DESCRIPTORS) opened.push(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    // Whatever else is in the way, such as a permission that the runtime was not given, says nothing of descriptors.
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "EMFILE" || code === "ENFILE" ? message : undefined;
  } finally {
    opened.forEach(closeSync);
  }
}
