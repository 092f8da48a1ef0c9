import { setTimeout as passed } from "node:timers/promises";
import { type PostgresProxy, startPostgresProxy } from "../store/postgres_proxy.ts";
import type { KillStage } from "./kill_stage.ts";
import type { MortalGateway } from "./mortal_gateway.ts";

/** One of several gateways on one database, which somebody starts again whenever it is gone. */
export interface FleetGateway {
  /** Its URL; undefined while there is none, or it is only starting. */
  url(): string | undefined;
  /** Its way to the database. */
  proxy: PostgresProxy;
  /** Kills it; starts the next one, and resolves when that is ready. */
  replace(): Promise<void>;
  suspend(): void;
  wake(): void;
  /** Moves its clock by a day, and back at the next call. */
  stepClock(): void;
  stop(): Promise<void>;
}

export interface Fleet {
  gateways: FleetGateway[];
  /** The last that gateways wrote that ended by themselves after they had been ready. */
  ended: string[];
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** As whoever watches over processes waits before the next try. */
const RESTART_MS = 250;

/** @param storeAt the store's URL with a database at this port of this machine */
export async function startFleet(
  stage: KillStage,
  { count, databasePort, storeAt }: { count: number; databasePort: number; storeAt: (port: number) => string },
): Promise<Fleet> {
  const ended: string[] = [];

  async function startOne(n: number): Promise<FleetGateway> {
    const proxy = await startPostgresProxy(databasePort);
    let living: MortalGateway;
    let url: string | undefined;

    /** Tries until one is ready: while the database is away none can start. */
    async function begin(): Promise<void> {
      for (;; await passed(RESTART_MS)) {
        const stepMs = n % 2 === 1 ? DAY_MS : -DAY_MS;
        const next = stage.live({ aheadMs: 0, stepMs, postsPerEndpoint: 8, writes: 0 }, storeAt(proxy.port));
        living = next;
        url = await next.ready.catch(() => undefined);
        if (url === undefined) continue;
        void next.gone.then(() => living === next && url !== undefined && ended.push(lastOf(next.log())));
        return;
      }
    }

    async function kill(): Promise<void> {
      url = undefined;
      await living.kill();
    }

    await begin();
    return {
      url: () => url,
      proxy,
      async replace() {
        await kill();
        await begin();
      },
      suspend: () => living.suspend(),
      wake: () => living.wake(),
      stepClock: () => living.stepClock(),
      async stop() {
        await kill();
        proxy.close();
      },
    };
  }

  // The first alone, so that it is the watcher.
  const gateways = [await startOne(0)];
  gateways.push(...await Promise.all(Array.from({ length: count - 1 }, (_, n) => startOne(n + 1))));
  return { gateways, ended, stop: async () => void await Promise.all(gateways.map((gateway) => gateway.stop())) };
}

const lastOf = (log: string) =>
  log.trim().split("\n").filter((line) => !line.includes("request failed")).slice(-30).join("\n");
