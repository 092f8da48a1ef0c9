import process from "node:process";
import { createRequestMetrics, type RequestMetrics } from "../http/request_metrics.ts";
import { createRegistry } from "../metrics/exposition.ts";
import { runtimeName, runtimeVersion } from "../runtime/runtime.ts";
import type { Head } from "../stellar/head.ts";
import type { AttemptOutcome, NodeReport } from "../stellar/rpc/nodes.ts";
import type { StoreErrorKind } from "../store/store.ts";
import type { NewAttempt } from "../store/webhook.ts";
import { COMMIT, VERSION } from "../version.ts";

/** The sources of gauges, read at each scrape. */
export interface MetricSources {
  ledger(): Pick<Head, "sequence" | "closeTime" | "clockDisagreement">;
  nodes(): NodeReport[];
  /** Problems of the store's file and its disk. */
  troubles(): unknown[];
  contracts(): { problem: string | undefined }[];
  /** Number of open event streams. */
  streams(): number;
  history(): Promise<History>;
  backlog(): Promise<Owed>;
  /** Number of bypass movements, and the last one. */
  bypassMovements(): { count: number; last: { event: { knownAt: number } } | undefined };
  expiring(): Promise<Expiring>;
}

interface History {
  lagLedgers: number | null;
  gaps: { detectedAt: string }[];
  undecodedEvents: number;
}

/** Webhook deliveries. */
interface Owed {
  pending: number;
  rejected: number;
  dead: number;
  failing: number;
  /** Time since which the oldest has been pending, Unix seconds. */
  oldestSince: number | null;
}

interface Expiring {
  payments: number | undefined;
  complete: boolean;
}

/** The values of one scrape. */
interface Reading {
  nowMs: number;
  requestsInFlight: number;
  streams: number;
  troubles: number;
  contractProblems: number;
  memory: { rss: number; heapUsed: number };
  ledger: ReturnType<MetricSources["ledger"]>;
  bypass: ReturnType<MetricSources["bypassMovements"]>;
  expiring: Expiring;
  /** Undefined when the store fails. */
  history: History | undefined;
  /** Undefined when the store fails. */
  owed: Owed | undefined;
}

type Gauge = [name: string, help: string, value: (reading: Reading) => number | undefined];

/** Gauges without labels. */
const GAUGES: readonly Gauge[] = [
  [
    "gateway_requests_in_flight",
    "Requests in progress.",
    ({ requestsInFlight }) => requestsInFlight,
  ],
  ["gateway_ledger_sequence", "Sequence of the latest ledger.", ({ ledger }) => ledger.sequence],
  [
    "gateway_ledger_lag_seconds",
    "Seconds since the latest ledger closed.",
    // A wrong clock of this machine is no lag of the network.
    ({ ledger, nowMs }) =>
      ledger.closeTime === 0 ? undefined : Math.max(0, nowMs / 1000 + aheadSeconds(ledger) - ledger.closeTime),
  ],
  [
    "gateway_clock_disagreement_seconds",
    "Seconds by which the network's time is ahead of this machine's clock; 0 when both agree within a minute.",
    ({ ledger }) => aheadSeconds(ledger),
  ],
  [
    "gateway_events_scan_lag_ledgers",
    "Ledgers between the event history and the latest ledger.",
    ({ history }) => history?.lagLedgers ?? undefined,
  ],
  [
    "gateway_event_gaps",
    "Gaps: ranges of ledgers whose events the gateway could not read.",
    ({ history }) => history?.gaps.length,
  ],
  [
    "gateway_event_gap_detected_seconds",
    "Unix time at which the gateway found the newest gap; 0 without a gap.",
    ({ history }) => history && Math.max(0, ...history.gaps.map(({ detectedAt }) => Date.parse(detectedAt) / 1000)),
  ],
  [
    "gateway_events_undecoded",
    "Events stored raw because the gateway cannot decode them; 100 means 100 or more.",
    ({ history }) => history?.undecodedEvents,
  ],
  ["gateway_event_streams", "Open event streams.", ({ streams }) => streams],
  [
    "gateway_payments_expiring",
    "Pending payments in the last quarter of their life; a merchant loses payments that it does not claim in time.",
    ({ expiring }) => expiring.payments,
  ],
  [
    "gateway_payments_expiring_complete",
    "1 when gateway_payments_expiring counts all expiring payments, 0 when it may miss some.",
    ({ expiring }) => Number(expiring.complete),
  ],
  [
    "gateway_bypass_movements",
    "Bypass movements (in an asset that the gateway would have refused), among the newest 5000 events at the start and since.",
    ({ bypass }) => bypass.count,
  ],
  [
    "gateway_bypass_movement_known_seconds",
    "Unix time at which the gateway read the last bypass movement; 0 without any.",
    ({ bypass }) => bypass.last?.event.knownAt ?? 0,
  ],
  ["gateway_deliveries_pending", "Pending deliveries.", ({ owed }) => owed?.pending],
  [
    "gateway_deliveries_rejected",
    "Deliveries that the receiver rejected (a 4xx, for example).",
    ({ owed }) => owed?.rejected,
  ],
  [
    "gateway_deliveries_dead",
    "Deliveries without further retries, and undelivered events past retention.",
    ({ owed }) => owed?.dead,
  ],
  [
    "gateway_webhooks_failing",
    "Webhooks whose endpoint fails, without those of disabled keys.",
    ({ owed }) => owed?.failing,
  ],
  [
    "gateway_deliveries_oldest_seconds",
    "Age of the oldest pending delivery, without those of disabled keys; 0 without any.",
    ({ owed, ledger }) => owed && (owed.oldestSince === null ? 0 : Math.max(0, ledger.closeTime - owed.oldestSince)),
  ],
  [
    "gateway_troubles",
    "Problems of the store's file and its disk; GET /v1/status lists them.",
    ({ troubles }) => troubles,
  ],
  [
    "gateway_contract_problems",
    "Contracts of the settings that are not as expected; GET /v1/status lists them.",
    ({ contractProblems }) => contractProblems,
  ],
  ["process_resident_memory_bytes", "Resident memory.", ({ memory }) => memory.rss],
  ["process_heap_bytes", "JavaScript heap in use.", ({ memory }) => memory.heapUsed],
];

const UPSTREAM_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LOOP_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Refusals of a healthy store. Callers can cause them, so they are no reason for an alert. */
const REFUSALS: readonly StoreErrorKind[] = ["exists", "fenced"];

export interface GatewayMetrics {
  requests: RequestMetrics;
  rpcAttempt(attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }): void;
  /** The watcher reported a change. */
  watcherTold(kind: string): void;
  deliveryAttempted(attempt: Pick<NewAttempt, "outcome" | "durationMs">): void;
  /** A call of the store failed. Refusals of a healthy store are not counted. */
  storeFailed(kind: StoreErrorKind): void;
  /** The event loop ran a timer so late. */
  eventLoopDelayed(seconds: number): void;
  /** All metrics in Prometheus' text format, without those of a failing store. */
  render(sources: MetricSources): Promise<string>;
}

/** All metrics of the gateway. `now`: Unix milliseconds. */
export function createGatewayMetrics({ now }: { now: () => number }): GatewayMetrics {
  const registry = createRegistry();
  const { counter, gauge, histogram } = registry;
  const requests = createRequestMetrics(registry);
  const attempts = counter(
    "gateway_rpc_requests_total",
    "Requests to an RPC node, by outcome: ok, error (a JSON-RPC error), failed (no response, or a malformed one).",
    ["node", "method", "outcome"],
  );
  const attemptSeconds = histogram(
    "gateway_rpc_request_duration_seconds",
    "Time of one request to an RPC node.",
    UPSTREAM_SECONDS,
    ["method"],
  );
  const nodeUp = gauge("gateway_rpc_node_up", "0 while the gateway avoids a failing or lagging node.", ["node"]);
  const nodeInUse = gauge("gateway_rpc_node_in_use", "1 for the node that the gateway calls now.", ["node"]);
  const nodeLag = gauge(
    "gateway_rpc_node_lag_seconds",
    "Seconds by which a node's latest ledger is older than the latest ledger of all nodes.",
    ["node"],
  );
  const notices = counter("gateway_watcher_notices_total", "Reports of the watcher, by kind.", ["kind"]);
  const deliveries = counter("gateway_delivery_attempts_total", "Delivery attempts, by outcome.", ["outcome"]);
  const deliverySeconds = histogram(
    "gateway_delivery_attempt_duration_seconds",
    "Time of one delivery attempt.",
    UPSTREAM_SECONDS,
  ).with();
  const storeErrors = counter("gateway_store_errors_total", "Failed calls of the store, by kind.", ["kind"]);
  const loopDelay = histogram(
    "gateway_event_loop_delay_seconds",
    "How late the event loop ran a timer, measured four times a second.",
    LOOP_SECONDS,
  ).with();
  const incomplete = counter("gateway_metrics_incomplete_total", "Scrapes without the store's values.").with();
  gauge("gateway_build_info", "Version, commit and runtime of the gateway.", [
    "version",
    "commit",
    "runtime",
    "runtime_version",
  ])
    .with(VERSION, COMMIT ?? "", runtimeName, runtimeVersion).set(1);
  const cpu = counter("process_cpu_seconds_total", "User and system CPU time.").with();
  gauge("process_start_time_seconds", "Unix time at which the process began to serve.").with().set(now() / 1000);
  // Created at the start, so that the first one is an increase.
  for (const outcome of ["delivered", "retry", "rejected", "dead"]) deliveries.with(outcome);
  for (const kind of ["unavailable", "full"]) storeErrors.with(kind);
  const gauges = GAUGES.map(([name, help, value]) => ({ series: gauge(name, help).with(), value }));
  let cpuSeconds = 0;

  function countCpu(): void {
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

  async function readStore({ history, backlog }: MetricSources): Promise<{ history?: History; owed?: Owed }> {
    try {
      const [held, owed] = await Promise.all([history(), backlog()]);
      return { history: held, owed };
    } catch {
      // Store errors have a counter of their own. A scrape without the store's values is better than none.
      incomplete.inc();
      return {};
    }
  }

  return {
    requests,
    rpcAttempt({ node, method, outcome, durationMs }) {
      attempts.with(node, method, outcome).inc();
      attemptSeconds.with(method).observe(durationMs / 1000);
    },
    watcherTold: (kind) => notices.with(kind).inc(),
    deliveryAttempted({ outcome, durationMs }) {
      deliveries.with(outcome).inc();
      deliverySeconds.observe(durationMs / 1000);
    },
    storeFailed: (kind) => REFUSALS.includes(kind) || storeErrors.with(kind).inc(),
    eventLoopDelayed: (seconds) => loopDelay.observe(seconds),
    async render(sources) {
      const expiring = await sources.expiring().catch(() => ({ payments: undefined, complete: false }));
      const { history, owed } = await readStore(sources);
      countCpu();
      readNodes(sources.nodes());
      const reading: Reading = {
        nowMs: now(),
        requestsInFlight: requests.inFlight,
        streams: sources.streams(),
        troubles: sources.troubles().length,
        contractProblems: sources.contracts().filter(({ problem }) => problem !== undefined).length,
        memory: process.memoryUsage(),
        ledger: sources.ledger(),
        bypass: sources.bypassMovements(),
        expiring,
        history,
        owed,
      };
      for (const { series, value } of gauges) series.set(value(reading));
      return registry.render();
    },
  };
}

function aheadSeconds({ clockDisagreement }: Reading["ledger"]): number {
  return clockDisagreement() ?? 0;
}
