import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../lib/store/open.ts";
import type { DeliveryLoad } from "./delivery_stores.ts";
import { cpuMicroseconds, runtimeCommand, type RuntimeName, start } from "./processes.ts";
import { createIngest } from "./webhook_load.ts";

export interface DeliveryRun {
  root: string;
  runtime: RuntimeName;
  /** Where gateways have the store, and how many of them deliver. */
  location: string;
  gateways: number;
  load: DeliveryLoad;
  /** Before it is measured: the JIT is warm then, and gateways have shared the subscriptions. */
  warmUpSeconds: number;
  seconds: number;
  /** Has the log grow while it is delivered, so that it does not come to its end. */
  isFed?: boolean;
}

export interface DeliveryRate {
  /** Deliveries in a second: over the whole time, and over each tenth of it. */
  perSecond: number;
  tenths: number[];
  /** CPU time of all gateways for each delivery. */
  cpuEach: number;
}

/** So many events the log is kept ahead of what came. */
const FED_AHEAD = 30_000;
const FEED_EVERY_MS = 250;

/**
 * Delivers for so long. Void (throws) when the log came to its end, when any event did not come exactly once to each
 * subscription whose cursor has passed it, or one came that no cursor has passed, or a signature was wrong.
 */
export async function measureDeliveries(run: DeliveryRun): Promise<DeliveryRate> {
  const { root, runtime, location, gateways, load: { url, subscriptions, events } } = run;
  const cameTo = async (path: string) => (await (await fetch(`${url}${path}`)).json() as { came: number }).came;
  await cameTo("/reset");
  const command = [...runtimeCommand(runtime), join(root, "tests/bench/worker_process.ts"), location];
  const started = await Promise.all(Array.from({ length: gateways }, () => start(command)));
  const feeding = run.isFed ? feed(location, events, async () => await cameTo("/") / subscriptions) : undefined;
  const cpu = () => started.reduce((sum, { pid }) => sum + cpuMicroseconds(pid), 0);
  const look = async () => ({ came: await cameTo("/"), atMs: performance.now(), cpu: cpu() });
  let looks: Awaited<ReturnType<typeof look>>[] = [];
  try {
    await passed(run.warmUpSeconds * 1_000);
    looks = [await look()];
    for (let tenth = 0; tenth < 10; tenth++) {
      await passed(run.seconds * 100);
      looks.push(await look());
    }
  } finally {
    await feeding?.stop();
    await Promise.all(started.map(({ stop }) => stop()));
  }
  const last = await checkOutcome(run);
  if (looks.at(-1)!.came >= last * subscriptions) throw new Error(`void: ${last} events were too few to measure`);
  const rate = (from: typeof looks[number], to: typeof looks[number]) =>
    (to.came - from.came) / ((to.atMs - from.atMs) / 1_000);
  const [first, end] = [looks[0]!, looks.at(-1)!];
  return {
    perSecond: rate(first, end),
    tenths: looks.slice(1).map((to, n) => rate(looks[n]!, to)),
    cpuEach: (end.cpu - first.cpu) / (end.came - first.came),
  };
}

/** Compares what came with what the store says was delivered; answers how many events the log has. */
async function checkOutcome({ location, load: { url } }: DeliveryRun): Promise<number> {
  const store = await openStore(location);
  const readers = await store.deliveries.consumers({ limit: 500 });
  const { last } = await store.events.bounds();
  await store.close();
  const body = JSON.stringify(readers.map(({ progress }) => progress.cursor));
  const { wrong } = await (await fetch(`${url}/check`, { method: "POST", body })).json() as { wrong: string[] };
  if (wrong.length > 0) throw new Error(`void: ${wrong.join("; ")}`);
  return last;
}

/** Appends to the log as fast as its events are delivered. */
function feed(location: string, events: number, delivered: () => Promise<number>): { stop(): Promise<void> } {
  let isOver = false;
  async function run(): Promise<void> {
    const store = await openStore(location);
    const ingest = createIngest(store, events);
    for (; !isOver; await passed(FEED_EVERY_MS)) await ingest.appendUpTo(Math.ceil(await delivered()) + FED_AHEAD);
    await store.close();
  }
  const running = run();
  running.catch(() => {});
  return {
    async stop() {
      isOver = true;
      await running;
    },
  };
}
