import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { sleep } from "../clock.ts";

/** A server on a port that another can take over. */
export interface PortServer {
  readonly port: number;
  /**
   * Stops accepting and closes idle connections. Resolves when the requests under way are answered and all connections
   * closed.
   */
  drain(): Promise<void>;
  /** Closes all connections, where the runtime can. */
  cut(): void;
}

export interface OverloadControlOptions {
  /** @param onFailed called when the server stops accepting */
  listen(onFailed: (cause: unknown) => void): PortServer;
  /** Called when connections are closed, at most once a minute. */
  onProblem?: (message: string, cause: unknown) => void;
}

/** Descriptors reserved for the node, the store and the receivers of webhooks. */
const RESERVED_DESCRIPTORS = 16;
const LOOK_MS = 1_000;
/** How long requests under way may go on when descriptors stay short. */
const GRACE_MS = 5_000;
/** The pause before the next try to listen. */
const LISTEN_AGAIN_MS = 50;
const REPORT_MS = 60_000;
const DRAIN_LOOK_MS = 5;

/**
 * Keeps a server working when clients hold its file descriptors. Once only a few are free, a new server takes over the
 * port. The former one answers the requests under way and closes silent and half-sent ones. The runtimes offer no other
 * way to find idle connections or close them.
 */
export function serveWithOverloadControl({ listen, onProblem }: OverloadControlOptions): PortServer {
  let current: PortServer | undefined;
  /** Former servers, and since when they leave (`performance.now()`). */
  const leaving = new Map<PortServer, number>();
  let again: ReturnType<typeof setTimeout> | undefined;
  let isStopping = false;
  let reportedAtMs = -Infinity;

  function open(): PortServer {
    const server = listen((cause) => {
      // Not at once: it fails again until a connection is closed.
      if (server === current) shed(cause, LISTEN_AGAIN_MS);
    });
    return current = server;
  }

  function shed(cause: unknown, pauseMs = 0): void {
    if (isStopping) return;
    if (performance.now() - reportedAtMs >= REPORT_MS) {
      reportedAtMs = performance.now();
      onProblem?.("connections are closed because file descriptors run out", cause);
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

/** Why the reserved descriptors cannot be opened; undefined when they can. */
function shortage(): unknown {
  const opened: number[] = [];
  try {
    while (opened.length < RESERVED_DESCRIPTORS) opened.push(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    // Other errors, such as a missing permission, tell nothing about descriptors.
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "EMFILE" || code === "ENFILE" ? message : undefined;
  } finally {
    opened.forEach(closeSync);
  }
}
