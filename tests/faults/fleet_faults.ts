import { setTimeout as passed } from "node:timers/promises";
import postgres from "postgres";
import type { Cluster } from "../store/postgres_cluster.ts";
import type { Fleet, FleetGateway } from "./fleet.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** The user of all gateways, and of whoever else uses the database. */
export const GATEWAYS_USER = "gateway";
export const OTHERS_USER = "others";

/** How long a suspended gateway sleeps at least: longer than any lease, and than anybody waits for an answer. */
const PAST_LEASES_MS = 15_500;
const AFTER_STARTING_MS = 1_500;

export interface FleetFaultsParts {
  fleet: Fleet;
  cluster: Cluster;
  /** How many connections the database takes. */
  maxConnections: number;
  random: SeededRandom;
  /** How often one gateway is killed in a round. */
  kills: number;
  /** What happens to the database in a round; `full`: others take all of its connections. */
  troubles: readonly DatabaseTrouble[];
}

export type DatabaseTrouble = "sessions ended" | "restarted" | "crashed" | "full";

/**
 * Runs every fault of gateways and their database once. At any time each gateway has another fault,
 * and the database has one fault after the other. Of two gateways the second has all faults but the suspension. Takes about 17 s.
 *
 * @param isFirst in the first round the first gateway, which is the watcher, is the one that is suspended
 */
export async function faultRound(parts: FleetFaultsParts, isFirst: boolean) {
  const { fleet, cluster, maxConnections, random } = parts;
  const soon = (fromMs: number, toMs: number) => passed(random.between(fromMs, toMs));
  const [suspended, killed, unreachable = killed, misdated = killed] = isFirst
    ? fleet.gateways
    : shuffled(fleet.gateways, random);

  async function suspend(gateway: FleetGateway): Promise<void> {
    gateway.suspend();
    await soon(PAST_LEASES_MS, PAST_LEASES_MS + 1_000);
    gateway.wake();
  }

  async function kill(gateway: FleetGateway): Promise<void> {
    for (let { kills } = parts; kills > 0; kills--) {
      await soon(0, 2 * AFTER_STARTING_MS);
      await gateway.replace();
    }
  }

  async function loseTheWay({ proxy }: FleetGateway): Promise<void> {
    await soon(0, 1_000);
    proxy.stall();
    await soon(2_000, 9_000);
    proxy.flow();
    await soon(500, 2_000);
    proxy.cut();
    await soon(500, 3_000);
    proxy.flow();
  }

  /** It goes wrong for one round, and stays wrong for some. */
  async function stepClock(gateway: FleetGateway): Promise<void> {
    await soon(0, 2_000);
    gateway.stepClock();
    await soon(8_000, 12_000);
    if (random.next() < 0.5) gateway.stepClock();
  }

  const terminate = () =>
    cluster.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${GATEWAYS_USER}'`);

  async function restart(mode: "fast" | "immediate"): Promise<void> {
    await cluster.stop(mode);
    await soon(200, 1_500);
    await cluster.start();
  }

  /** Others take every connection that they can have, those of the gateways too as these end. */
  async function fill(): Promise<void> {
    const others = postgres({
      host: "127.0.0.1",
      port: cluster.port,
      database: "gateway",
      user: OTHERS_USER,
      pass: "",
      max: maxConnections,
      fetch_types: false,
      backoff: () => 0.05,
    } as postgres.Options<Record<string, never>>);
    const untilMs = Date.now() + random.between(2_000, 4_000);
    const holding = Array.from({ length: maxConnections }, async () => {
      for (let left = untilMs - Date.now(); left > 0; left = untilMs - Date.now()) {
        await others`SELECT pg_sleep(${left / 1_000})`.catch(() => passed(50));
      }
    });
    for (let times = 3; times > 0; times--) {
      await passed(300);
      await terminate();
    }
    await Promise.all(holding);
    await others.end({ timeout: 1 });
  }

  async function troubleDatabase(): Promise<void> {
    const does: Record<DatabaseTrouble, () => Promise<unknown>> = {
      "sessions ended": terminate,
      "restarted": () => restart("fast"),
      "crashed": () => restart("immediate"),
      "full": fill,
    };
    for (const trouble of shuffled(parts.troubles, random)) {
      await soon(500, 2_000);
      await does[trouble]();
    }
  }

  const killing = kill(killed!);
  // Do not step the clock of a process that is starting.
  const stepping = (misdated === killed ? killing : Promise.resolve()).then(() => stepClock(misdated!));
  await Promise.all([suspend(suspended!), killing, loseTheWay(unreachable!), stepping, troubleDatabase()]);
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  return items.map((item) => ({ item, place: random.next() })).sort((a, b) => a.place - b.place).map(({ item }) =>
    item
  );
}
