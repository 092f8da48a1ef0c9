import { clearInterval, setInterval } from "node:timers";
import type { Connection } from "./connection.ts";

/** Connections that wait for another request. */
export interface ConnectionPool {
  /** The one used last under this key, undefined when none is open. It is the caller's from then on. */
  take(key: string): Connection | undefined;
  /** Keeps an open connection for later. */
  give(key: string, connection: Connection): void;
  /** Closes all of them. */
  close(): void;
}

export interface ConnectionPoolOptions {
  /** Over all keys; beyond it the one that waited longest is closed. */
  maxIdle?: number;
  /** After so long without a request a connection is closed. */
  idleMs?: number;
  /** Unix ms. */
  now: () => number;
}

interface Idle {
  key: string;
  connection: Connection;
  sinceMs: number;
}

export function createConnectionPool({ maxIdle = 512, idleMs = 15_000, now }: ConnectionPoolOptions): ConnectionPool {
  const byKey = new Map<string, Idle[]>();
  /** In the order in which they began to wait. */
  const all = new Set<Idle>();
  let sweeper: ReturnType<typeof setInterval> | undefined;
  let isClosed = false;

  function drop(idle: Idle): void {
    all.delete(idle);
    const those = byKey.get(idle.key)!;
    those.splice(those.indexOf(idle), 1);
    if (those.length === 0) byKey.delete(idle.key);
    idle.connection.destroy();
  }

  function sweep(): void {
    for (const idle of all) {
      if (idle.connection.isOpen && now() - idle.sinceMs < idleMs) continue;
      drop(idle);
    }
    if (all.size === 0) stopSweeping();
  }

  function stopSweeping(): void {
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return {
    take(key) {
      const those = byKey.get(key);
      for (let idle = those?.pop(); idle !== undefined; idle = those?.pop()) {
        all.delete(idle);
        if (those!.length === 0) byKey.delete(key);
        if (idle.connection.isOpen) return idle.connection;
      }
      return undefined;
    },
    give(key, connection) {
      if (isClosed || !connection.isOpen) return connection.destroy();
      const idle = { key, connection, sinceMs: now() };
      const those = byKey.get(key);
      if (those === undefined) byKey.set(key, [idle]);
      else those.push(idle);
      all.add(idle);
      if (all.size > maxIdle) drop(all.values().next().value!);
      sweeper ??= setInterval(sweep, idleMs / 3).unref();
    },
    close() {
      isClosed = true;
      stopSweeping();
      for (const idle of all) drop(idle);
    },
  };
}
