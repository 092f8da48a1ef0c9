import process from "node:process";
import type { RequestMeter } from "../http/endpoint.ts";
import { createRegistry } from "../metrics.ts";
import { runtimeName, runtimeVersion } from "../runtime/runtime.ts";
import type { AttemptOutcome, NodeReport } from "../stellar/rpc_nodes.ts";
import type { StoreErrorKind } from "../store/store.ts";
import type { Attempt, Backlog } from "../store/webhook_store.ts";
import { COMMIT, VERSION } from "../version.ts";

/** What is looked up when the metrics are asked for. */
export interface MetricSources {
  ledger(): { sequence: number; closeTime: number };
  nodes(): NodeReport[];
  history(): Promise<{ lagLedgers: number | null; gaps: unknown[]; undecodedEvents: number }>;
  backlog(): Promise<Backlog>;
}

export interface GatewayMetrics {
  /** What counts the answers of one route; `path` is its pattern. */
  meter(method: string, path: string): RequestMeter;
  /** A request was refused for its key's rate or its address's. */
  limited(by: "key" | "address"): void;
  rpcAttempt(attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }): void;
  /** The watcher told of something. */
  watcherTold(kind: string): void;
  deliveryAttempted(attempt: Pick<Attempt, "outcome" | "durationMs">): void;
  storeFailed(kind: StoreErrorKind): void;
  /** The event loop was so late for a timer. */
  eventLoopDelayed(seconds: number): void;
  /** Requests that take longer than the turn of the event loop they came in. */
  readonly requestsInFlight: number;
  /** Everything in Prometheus' text format. What a failing store cannot tell is left out. */
  render(sources: MetricSources): Promise<string>;
}

const REQUEST_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const UPSTREAM_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LOOP_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Everything the gateway counts. `now`: Unix milliseconds. */
export function createGatewayMetrics({ now }: { now: () => number }): GatewayMetrics {
  const registry = createRegistry();
  const startedAtMs = now();
  let requestsInFlight = 0;

  const requests = registry.counter(
    "gateway_requests_total",
    "Requests answered, by route pattern.",
    ["method", "route", "status"],
  );
  const durations = registry.histogram(
    "gateway_request_duration_seconds",
    "Time to an answer, by route pattern; what is answered from memory at once counts as 0.",
    REQUEST_SECONDS,
    ["method", "route"],
  );
  const inFlight = registry.gauge("gateway_requests_in_flight", "Requests whose answer is still to come.").with();
  const limited = registry.counter(
    "gateway_requests_limited_total",
    "Requests refused for the rate of their key or, with no valid key, of their address.",
    ["by"],
  );
  const byKey = limited.with("key");
  const byAddress = limited.with("address");
  const rpcRequests = registry.counter(
    "gateway_rpc_requests_total",
    "Attempts at an RPC node: ok, error (a JSON-RPC error), failed (no answer, or nonsense).",
    ["node", "method", "outcome"],
  );
  const rpcDurations = registry.histogram(
    "gateway_rpc_request_duration_seconds",
    "Time of one attempt at an RPC node.",
    UPSTREAM_SECONDS,
    ["method"],
  );
  const nodeUp = registry.gauge("gateway_rpc_node_up", "0 while a node fails or lags and is left alone.", ["node"]);
  const nodeInUse = registry.gauge("gateway_rpc_node_in_use", "1 for the node that is asked now.", ["node"]);
  const nodeLag = registry.gauge(
    "gateway_rpc_node_lag_seconds",
    "How much older a node's newest ledger was than the newest of any node.",
    ["node"],
  );
  const ledgerSequence = registry.gauge("gateway_ledger_sequence", "The newest ledger seen.").with();
  const ledgerLag = registry.gauge("gateway_ledger_lag_seconds", "How long ago the newest ledger seen closed.").with();
  const scanLag = registry.gauge(
    "gateway_events_scan_lag_ledgers",
    "How many ledgers the event history is behind the newest ledger seen.",
  ).with();
  const gaps = registry.gauge("gateway_event_gaps", "Ranges of ledgers whose events could not be read.").with();
  const undecoded = registry.gauge(
    "gateway_events_undecoded",
    "Events kept raw because they could not be decoded; 100 stands for 100 or more.",
  ).with();
  const watcherTold = registry.counter(
    "gateway_watcher_notices_total",
    "Changes in how the watcher fares, by kind.",
    ["kind"],
  );
  const deliveries = registry.counter("gateway_delivery_attempts_total", "Attempts to deliver, by outcome.", [
    "outcome",
  ]);
  const deliveryOutcomes = {
    delivered: deliveries.with("delivered"),
    retry: deliveries.with("retry"),
    ended: deliveries.with("ended"),
    dead: deliveries.with("dead"),
  };
  const deliveryDuration = registry.histogram(
    "gateway_delivery_attempt_duration_seconds",
    "Time of one attempt to deliver.",
    UPSTREAM_SECONDS,
  ).with();
  const pending = registry.gauge("gateway_deliveries_pending", "Deliveries that are due now or later.").with();
  const dead = registry.gauge("gateway_deliveries_dead", "Deliveries whose attempts are used up.").with();
  const oldest = registry.gauge(
    "gateway_deliveries_oldest_seconds",
    "How long the oldest pending delivery has been owed; 0 when none is.",
  ).with();
  const storeErrors = registry.counter("gateway_store_errors_total", "Calls of the store that failed, by kind.", [
    "kind",
  ]);
  for (const kind of ["unavailable", "full"]) storeErrors.with(kind);
  const loopDelay = registry.histogram(
    "gateway_event_loop_delay_seconds",
    "How late the event loop was for a timer, looked at four times a second.",
    LOOP_SECONDS,
  ).with();
  const scrapeErrors = registry.counter("gateway_metrics_incomplete_total", "Scrapes that lacked what the store says.")
    .with();
  registry.gauge("gateway_build_info", "What runs here.", ["version", "commit", "runtime", "runtime_version"])
    .with(VERSION, COMMIT ?? "", runtimeName, runtimeVersion).set(1);
  const resident = registry.gauge("process_resident_memory_bytes", "Resident memory.").with();
  const heap = registry.gauge("process_heap_bytes", "JavaScript heap in use.").with();
  const cpu = registry.counter("process_cpu_seconds_total", "User and system CPU time.").with();
  registry.gauge("process_start_time_seconds", "When the process began to serve, Unix time.").with()
    .set(startedAtMs / 1000);
  let cpuSeconds = 0;

  function readProcess(): void {
    const { rss, heapUsed } = process.memoryUsage();
    resident.set(rss);
    heap.set(heapUsed);
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1_000_000;
    cpu.inc(seconds - cpuSeconds);
    cpuSeconds = seconds;
  }

  function readNodes(nodes: NodeReport[]): void {
    for (const { name, condition, inUse, lagSeconds, closeTime } of nodes) {
      nodeUp.with(name).set(condition === "well" || condition === "doubted" ? 1 : 0);
      nodeInUse.with(name).set(inUse ? 1 : 0);
      nodeLag.with(name).set(closeTime === 0 ? undefined : lagSeconds);
    }
  }

  async function readStore({ history, backlog }: MetricSources): Promise<void> {
    try {
      const [held, owed] = await Promise.all([history(), backlog()]);
      scanLag.set(held.lagLedgers ?? undefined);
      gaps.set(held.gaps.length);
      undecoded.set(held.undecodedEvents);
      pending.set(owed.pending);
      dead.set(owed.dead);
      oldest.set(owed.oldestCreatedAtMs === null ? 0 : Math.max(0, (now() - owed.oldestCreatedAtMs) / 1000));
    } catch {
      // The store counts its own errors; a scrape without its figures is worth more than none.
      for (const gauge of [scanLag, gaps, undecoded, pending, dead, oldest]) gauge.set(undefined);
      scrapeErrors.inc();
    }
  }

  return {
    meter(method, path) {
      const duration = durations.with(method, path);
      /** By status: a route has a handful. */
      const counters: ReturnType<typeof requests.with>[] = [];
      return {
        begin() {
          requestsInFlight += 1;
          return performance.now();
        },
        answered(status, begunAt) {
          (counters[status] ??= requests.with(method, path, String(status))).inc();
          if (begunAt === 0) return duration.observe(0);
          requestsInFlight -= 1;
          duration.observe((performance.now() - begunAt) / 1000);
        },
      };
    },
    limited: (by) => (by === "key" ? byKey : byAddress).inc(),
    rpcAttempt({ node, method, outcome, durationMs }) {
      rpcRequests.with(node, method, outcome).inc();
      rpcDurations.with(method).observe(durationMs / 1000);
    },
    watcherTold: (kind) => watcherTold.with(kind).inc(),
    deliveryAttempted({ outcome, durationMs }) {
      deliveryOutcomes[outcome].inc();
      deliveryDuration.observe(durationMs / 1000);
    },
    storeFailed: (kind) => storeErrors.with(kind).inc(),
    eventLoopDelayed: (seconds) => loopDelay.observe(seconds),
    get requestsInFlight() {
      return requestsInFlight;
    },
    async render(sources) {
      const { sequence, closeTime } = sources.ledger();
      ledgerSequence.set(sequence);
      ledgerLag.set(closeTime === 0 ? undefined : Math.max(0, now() / 1000 - closeTime));
      inFlight.set(requestsInFlight);
      readNodes(sources.nodes());
      readProcess();
      await readStore(sources);
      return registry.render();
    },
  };
}
