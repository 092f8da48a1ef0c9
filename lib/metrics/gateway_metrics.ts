import process from "node:process";
import type { RequestMeter } from "../http/exchange.ts";
import { createRegistry } from "./exposition.ts";
import type { Head } from "../stellar/head.ts";
import type { AttemptOutcome, NodeReport } from "../stellar/rpc/nodes.ts";
import type { StoreErrorKind } from "../store/store.ts";
import type { NewAttempt } from "../store/webhook.ts";
import { deliverySeries, eventSeries, processSeries, requestSeries, rpcSeries } from "./series.ts";

/** What is looked up when the metrics are asked for. */
export interface MetricSources {
  ledger(): Pick<Head, "sequence" | "closeTime" | "clockDisagreement">;
  nodes(): NodeReport[];
  /** What is wrong with the store's file and its disk. */
  troubles(): unknown[];
  contracts(): { problem: string | undefined }[];
  /** How many event streams are open. */
  streams(): number;
  history(): Promise<{ lagLedgers: number | null; gaps: { noticedAt: string }[]; undecodedEvents: number }>;
  backlog(): Promise<Owed>;
  /** How many movements were in an asset that they should not be in, and the last one. */
  foreignMovements(): { count: number; last: { event: { knownAt: number } } | undefined };
  expiring(): Promise<{ payments: number; complete: boolean }>;
}

/** What is owed to webhooks. */
interface Owed {
  pending: number;
  rejected: number;
  dead: number;
  failing: number;
  /** Since when the oldest has been owed, Unix seconds. */
  oldestSince: number | null;
}

/** What a store that is well refuses: callers can bring it about, and nobody is to be woken for it. */
const REFUSALS: readonly StoreErrorKind[] = ["exists", "fenced"];

export interface GatewayMetrics {
  /** What counts the answers of one route; `path` is its pattern. */
  meter(method: string, path: string): RequestMeter;
  /** A request was refused for its key's rate or its address's, or because too many `Idempotency-Key`s are kept. */
  limited(by: keyof ReturnType<typeof requestSeries>["limited"]): void;
  rpcAttempt(attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }): void;
  /** The watcher told of something. */
  watcherTold(kind: string): void;
  deliveryAttempted(attempt: Pick<NewAttempt, "outcome" | "durationMs">): void;
  /** A call of the store has failed; what a store that is well refuses is not counted. */
  storeFailed(kind: StoreErrorKind): void;
  /** The event loop was so late for a timer. */
  eventLoopDelayed(seconds: number): void;
  /** Requests that take longer than the turn of the event loop they came in. */
  readonly requestsInFlight: number;
  /** Everything in Prometheus' text format. What a failing store cannot tell is left out. */
  render(sources: MetricSources): Promise<string>;
}

/** Everything the gateway counts. `now`: Unix milliseconds. */
export function createGatewayMetrics({ now }: { now: () => number }): GatewayMetrics {
  const registry = createRegistry();
  const requests = requestSeries(registry);
  const rpc = rpcSeries(registry);
  const events = eventSeries(registry);
  const deliveries = deliverySeries(registry);
  const own = processSeries(registry, now());
  let requestsInFlight = 0;
  let cpuSeconds = 0;

  function readOwn({ troubles, contracts }: MetricSources): void {
    own.troubles.set(troubles().length);
    own.contractProblems.set(contracts().filter(({ problem }) => problem !== undefined).length);
    const { rss, heapUsed } = process.memoryUsage();
    own.resident.set(rss);
    own.heap.set(heapUsed);
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1_000_000;
    own.cpu.inc(seconds - cpuSeconds);
    cpuSeconds = seconds;
  }

  function readChain({ ledger, nodes, foreignMovements }: MetricSources): void {
    const { count, last } = foreignMovements();
    events.foreign.set(count);
    events.foreignKnown.set(last?.event.knownAt ?? 0);
    const { sequence, closeTime, clockDisagreement } = ledger();
    rpc.sequence.set(sequence);
    const aheadSeconds = clockDisagreement() ?? 0;
    rpc.clockDisagreement.set(aheadSeconds);
    // A wrong clock of this machine's is no lag of the network's.
    rpc.ledgerLag.set(closeTime === 0 ? undefined : Math.max(0, now() / 1000 + aheadSeconds - closeTime));
    for (const { name, condition, inUse, lagSeconds, closeTime } of nodes()) {
      rpc.up.with(name).set(condition === "well" || condition === "doubted" ? 1 : 0);
      rpc.inUse.with(name).set(inUse ? 1 : 0);
      rpc.nodeLag.with(name).set(closeTime === 0 ? undefined : lagSeconds);
    }
  }

  async function readStore({ history, backlog, ledger, expiring }: MetricSources): Promise<void> {
    const { payments, complete } = await expiring().catch(() => ({ payments: undefined, complete: false }));
    events.expiring.set(payments);
    events.expiringComplete.set(Number(complete));
    const networkTime = ledger().closeTime;
    const { scanLag, gaps, gapNoticed, undecoded } = events;
    const { pending, rejected, dead, failing, oldest } = deliveries;
    try {
      const [held, owed] = await Promise.all([history(), backlog()]);
      scanLag.set(held.lagLedgers ?? undefined);
      gaps.set(held.gaps.length);
      gapNoticed.set(Math.max(0, ...held.gaps.map(({ noticedAt }) => Date.parse(noticedAt) / 1000)));
      undecoded.set(held.undecodedEvents);
      pending.set(owed.pending);
      rejected.set(owed.rejected);
      dead.set(owed.dead);
      failing.set(owed.failing);
      oldest.set(owed.oldestSince === null ? 0 : Math.max(0, networkTime - owed.oldestSince));
    } catch {
      // The store's errors are counted where they happen; a scrape without its figures is worth more than none.
      const gauges = [scanLag, gaps, gapNoticed, undecoded, pending, rejected, dead, failing, oldest];
      for (const gauge of gauges) gauge.set(undefined);
      own.incomplete.inc();
    }
  }

  return {
    meter(method, path) {
      const seconds = requests.seconds.with(method, path);
      /** By status: a route has a handful. */
      const counters: ReturnType<typeof requests.answered.with>[] = [];
      return {
        begin() {
          requestsInFlight += 1;
          return performance.now();
        },
        answered(status, begunAt) {
          (counters[status] ??= requests.answered.with(method, path, String(status))).inc();
          if (begunAt === 0) return seconds.observe(0);
          requestsInFlight -= 1;
          seconds.observe((performance.now() - begunAt) / 1000);
        },
      };
    },
    limited: (by) => requests.limited[by].inc(),
    rpcAttempt({ node, method, outcome, durationMs }) {
      rpc.attempts.with(node, method, outcome).inc();
      rpc.seconds.with(method).observe(durationMs / 1000);
    },
    watcherTold: (kind) => events.notices.with(kind).inc(),
    deliveryAttempted({ outcome, durationMs }) {
      deliveries.attempts[outcome].inc();
      deliveries.seconds.observe(durationMs / 1000);
    },
    storeFailed: (kind) => REFUSALS.includes(kind) || own.storeErrors.with(kind).inc(),
    eventLoopDelayed: (seconds) => own.loopDelay.observe(seconds),
    get requestsInFlight() {
      return requestsInFlight;
    },
    async render(sources) {
      requests.inFlight.set(requestsInFlight);
      events.streams.set(sources.streams());
      readChain(sources);
      readOwn(sources);
      await readStore(sources);
      return registry.render();
    },
  };
}
