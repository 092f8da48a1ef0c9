import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findPgbouncer } from "../store/postgres_cluster.ts";
import { type Pooler, startPooler } from "../store/postgres_pooler.ts";
import { type DeliveryRate, type DeliveryRun, measureDeliveries } from "./delivery_run.ts";
import { type FilledStore, fillPostgres, fillSqlite } from "./delivery_stores.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { holdTransaction } from "./held_transaction.ts";
import type { PostgresBench } from "./postgres_bench.ts";
import { runtimeCommand, start } from "./processes.ts";

/** More than are delivered in a second here. */
const MOST_PER_SECOND = 20_000;
const POOL_SIZE = 10;

/** Deliveries on PostgreSQL: against sqlite, with a second gateway, through a pooler, with a transaction held open. */
export async function postgresDeliveryFigures(bench: PostgresBench): Promise<Figure[]> {
  const pgbouncer = findPgbouncer();
  if (pgbouncer === undefined) throw new Error("pgbouncer is not here: apt install pgbouncer");
  const receiver = await start([...runtimeCommand("bun"), join(bench.root, "tests/bench/checking_receiver.ts")]);
  const pooler = await startPooler(pgbouncer, bench.cluster.port, POOL_SIZE);
  try {
    const figures: Figure[] = [];
    for (const subscriptions of [1, 100]) {
      const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
      const events = Math.ceil((bench.warmUpSeconds + bench.deliverySeconds) * MOST_PER_SECOND / subscriptions);
      const load = { url: receiver.line, subscriptions, events };
      const stores = {
        sqlite: await fillSqlite(folder, load),
        postgres: await fillPostgres(bench.cluster, load),
      };
      figures.push(...await againstSqlite(bench, stores, pooler), await besideHeld(bench, stores.postgres));
      await Promise.all([stores.sqlite.remove(), stores.postgres.remove()]);
      rmSync(folder, { recursive: true });
    }
    return figures;
  } finally {
    await pooler.stop();
    await receiver.stop();
  }
}

/** What one round measured. */
type Round = Record<"sqlite" | "one" | "two" | "pooled", DeliveryRate>;

type Stores = { sqlite: FilledStore; postgres: FilledStore };

async function againstSqlite(bench: PostgresBench, { sqlite, postgres }: Stores, pooler: Pooler): Promise<Figure[]> {
  const seconds = bench.deliverySeconds;
  const pooled = (location: string) => location.replace(/:\d+\//, `:${pooler.port}/`) + "?prepare=false";
  const measured: Round[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    measured.push({
      sqlite: await deliver(bench, sqlite, { seconds }),
      one: await deliver(bench, postgres, { seconds }),
      two: await deliver(bench, postgres, { seconds, gateways: 2 }),
      pooled: await deliver(bench, postgres, { seconds, throughPooler: pooled }),
    });
  }
  const rates = (name: keyof Round) => measured.map((round) => round[name]);
  const figure = (work: string, name: keyof Round, reference: "sqlite" | "one", goal: string) => ({
    ...described(bench, postgres, work),
    measured: said(rates(name)),
    reference: `${reference === "sqlite" ? "one on sqlite" : "the same without it"}: ${said(rates(reference))}`,
    ratio: withSpread(measured.map((round) => round[name].perSecond / round[reference].perSecond), 2),
    goal,
  });
  return [
    figure("by one gateway", "one", "sqlite", "≥ 0.5"),
    figure("by two gateways", "two", "sqlite", "≥ 0.5"),
    figure("through pgbouncer", "pooled", "one", "each event once, too"),
  ];
}

/** The same before, with and after a transaction that is open all the time, each on a new copy of the store. */
async function besideHeld(bench: PostgresBench, postgres: FilledStore): Promise<Figure> {
  const aloneSeconds = Math.max(bench.deliverySeconds, bench.heldSeconds / 5);
  const alone = { seconds: aloneSeconds, isFed: true };
  const before = await deliver(bench, postgres, alone);
  const held = await deliver(bench, postgres, { seconds: bench.heldSeconds, isFed: true, holdsTransaction: true });
  const after = await deliver(bench, postgres, alone);
  const without = (before.perSecond + after.perSecond) / 2;
  return {
    ...described(bench, postgres, `with a transaction held open for ${bench.heldSeconds} s`),
    measured: `${said([held])}, tenth by tenth ${held.tenths.map((rate) => rate.toFixed(0)).join(" ")}`,
    reference: `without it, before and after: ${before.perSecond.toFixed(0)}/s and ${after.perSecond.toFixed(0)}/s`,
    ratio: `${(held.perSecond / without).toFixed(2)}; ${withSpread(held.tenths.map((rate) => rate / without), 2)}`,
    goal: "≥ 0.85",
  };
}

interface Variant extends Pick<DeliveryRun, "seconds" | "isFed"> {
  gateways?: number;
  throughPooler?: (location: string) => string;
  holdsTransaction?: boolean;
}

async function deliver(bench: PostgresBench, filled: FilledStore, variant: Variant): Promise<DeliveryRate> {
  const { root, runtime, warmUpSeconds } = bench;
  const { seconds, isFed, gateways = 1, throughPooler = (location) => location } = variant;
  const copy = await filled.copy();
  try {
    const held = variant.holdsTransaction ? await holdTransaction(copy.location) : undefined;
    const location = throughPooler(copy.location);
    const rate = await measureDeliveries({
      ...{ root, runtime, warmUpSeconds, seconds, isFed, gateways, location },
      load: filled.load,
    });
    await held?.release();
    const { subscriptions } = filled.load;
    process.stderr.write(
      `${runtime}, ${subscriptions} subscriptions, ${location}, ${gateways} gateways: ${said([rate])}\n`,
    );
    return rate;
  } finally {
    await copy.remove();
  }
}

const described = ({ runtime }: PostgresBench, { load: { subscriptions } }: FilledStore, how: string) => ({
  number: "14",
  work: `webhook deliveries on PostgreSQL, ${subscriptions} subscription${subscriptions === 1 ? "" : "s"}, ${how}`,
  runtime,
});

const said = (rates: DeliveryRate[]) =>
  `${median(rates.map(({ perSecond }) => perSecond)).toFixed(0)}/s, ` +
  `${median(rates.map(({ cpuEach }) => cpuEach)).toFixed(0)} µs each`;
