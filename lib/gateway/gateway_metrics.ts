import process from "node:process";
import { createRequestMetrics, type RequestMetrics } from "../http/request_metrics.ts";
import { createRegistry } from "../metrics/exposition.ts";
import { runtimeName, runtimeVersion } from "../runtime/runtime.ts";
import type { Head } from "../stellar/head.ts";
import type { AttemptOutcome, NodeReport } from "../stellar/rpc/nodes.ts";
import type { StoreErrorKind } from "../store/store.ts";
import type { NewAttempt } from "../store/webhook.ts";
import { COMMIT, VERSION } from "../version.ts";

/** What is looked up when the metrics are asked for. */
export interface MetricSources {
  ledger(): Pick<Head, "sequence" | "closeTime" | "clockDisagreement">;
  nodes(): NodeReport[];
  /** What is wrong with the store's file and its disk. */
  troubles(): unknown[];
  contracts(): { problem: string | undefined }[];
  /** How many event streams are open. */
  streams(): number;
  history(): Promise<History>;
  backlog(): Promise<Owed>;
  /** How many movements were in an asset that they should not be in, and the last one. */
  bypassMovements(): { count: number; last: { event: { knownAt: number } } | undefined };
  expiring(): Promise<Expiring>;
}

interface History {
  lagLedgers: number | null;
  gaps: { detectedAt: string }[];
  undecodedEvents: number;
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

interface Expiring {
  payments: number | undefined;
  complete: boolean;
}

/** What was found at one scrape. */
interface Reading {
  nowMs: number;
  requestsInFlight: number;
  streams: number;
  troubles: number;
  contractProblems: number;
  memory: { rss: number; heapUsed: number };
  ledger: ReturnType<MetricSources["ledger"]>;
  foreign: ReturnType<MetricSources["bypassMovements"]>;
  expiring: Expiring;
  /** Undefined when the store cannot tell. */
  history: History | undefined;
  /** Undefined when the store cannot tell. */
  owed: Owed | undefined;
}

type Gauge = [name: string, help: string, value: (reading: Reading) => number | undefined];

/** The gauges of one series each. */
const GAUGES: readonly Gauge[] = [
  [
    "gateway_requests_in_flight",
    "Requests whose answer is still to come.",
    ({ requestsInFlight }) => requestsInFlight,
  ],
  ["gateway_ledger_sequence", "The newest ledger seen.", ({ ledger }) => ledger.sequence],
  [
    "gateway_ledger_lag_seconds",
    "How long ago the newest ledger seen closed.",
    // A wrong clock of this machine's is no lag of the network's.
    ({ ledger, nowMs }) =>
      ledger.closeTime === 0 ? undefined : Math.max(0, nowMs / 1000 + aheadSeconds(ledger) - ledger.closeTime),
  ],
  [
    "gateway_clock_disagreement_seconds",
    "By how much the network's time is ahead of this machine's clock; 0 when they agree within a minute.",
    ({ ledger }) => aheadSeconds(ledger),
  ],
  [
    "gateway_events_scan_lag_ledgers",
    "How many ledgers the event history is behind the newest ledger seen.",
    ({ history }) => history?.lagLedgers ?? undefined,
  ],
  [
    "gateway_event_gaps",
    "Ranges of ledgers whose events could not be read.",
    ({ history }) => history?.gaps.length,
  ],
  [
    "gateway_event_gap_detected_seconds",
    "When the newest of these ranges was noticed, Unix time; 0 when there is none.",
    ({ history }) => history && Math.max(0, ...history.gaps.map(({ detectedAt }) => Date.parse(detectedAt) / 1000)),
  ],
  [
    "gateway_events_undecoded",
    "Events kept raw because they could not be decoded; 100 stands for 100 or more.",
    ({ history }) => history?.undecodedEvents,
  ],
  ["gateway_event_streams", "Live event streams that are open.", ({ streams }) => streams],
  [
    "gateway_payments_expiring",
    "Pending payments in the last quarter of their life: what is not claimed then is lost to the merchant.",
    ({ expiring }) => expiring.payments,
  ],
  [
    "gateway_payments_expiring_complete",
    "1: gateway_payments_expiring counts all there are; 0: not all that may be expiring could be looked at.",
    ({ expiring }) => Number(expiring.complete),
  ],
  [
    "gateway_bypass_movements",
    "Movements in an asset that they should not be in, of the newest 5000 events at the start and since.",
    ({ foreign }) => foreign.count,
  ],
  [
    "gateway_bypass_movement_known_seconds",
    "When the last of these movements became known, Unix time; 0 when there was none.",
    ({ foreign }) => foreign.last?.event.knownAt ?? 0,
  ],
  ["gateway_deliveries_pending", "Deliveries that are due now or later.", ({ owed }) => owed?.pending],
  [
    "gateway_deliveries_rejected",
    "Deliveries that an answer ended (4xx and the like).",
    ({ owed }) => owed?.rejected,
  ],
  ["gateway_deliveries_dead", "Deliveries given up, and events forgotten undelivered.", ({ owed }) => owed?.dead],
  [
    "gateway_webhooks_failing",
    "Webhooks whose endpoint fails, without those of disabled keys.",
    ({ owed }) => owed?.failing,
  ],
  [
    "gateway_deliveries_oldest_seconds",
    "How long the oldest delivery has been owed, tried already or not, without those of disabled keys; 0 when none is.",
    ({ owed, ledger }) => owed && (owed.oldestSince === null ? 0 : Math.max(0, ledger.closeTime - owed.oldestSince)),
  ],
  [
    "gateway_troubles",
    "How much is wrong with the store's file and its disk; GET /v1/status says what.",
    ({ troubles }) => troubles,
  ],
  [
    "gateway_contract_problems",
    "How many contracts of the settings are not as expected; GET /v1/status says which.",
    ({ contractProblems }) => contractProblems,
  ],
  ["process_resident_memory_bytes", "Resident memory.", ({ memory }) => memory.rss],
  ["process_heap_bytes", "JavaScript heap in use.", ({ memory }) => memory.heapUsed],
];

const UPSTREAM_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LOOP_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** What a store that is well refuses: callers can bring it about, and nobody is to be woken for it. */
const REFUSALS: readonly StoreErrorKind[] = ["exists", "fenced"];

export interface GatewayMetrics {
  requests: RequestMetrics;
  rpcAttempt(attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }): void;
  /** The watcher told of something. */
  watcherTold(kind: string): void;
  deliveryAttempted(attempt: Pick<NewAttempt, "outcome" | "durationMs">): void;
  /** A call of the store has failed; what a store that is well refuses is not counted. */
  storeFailed(kind: StoreErrorKind): void;
  /** The event loop was so late for a timer. */
  eventLoopDelayed(seconds: number): void;
  /** Everything in Prometheus' text format. What a failing store cannot tell is left out. */
  render(sources: MetricSources): Promise<string>;
}

/** Everything the gateway counts. `now`: Unix milliseconds. */
export function createGatewayMetrics({ now }: { now: () => number }): GatewayMetrics {
  const registry = createRegistry();
  const { counter, gauge, histogram } = registry;
  const requests = createRequestMetrics(registry);
  const attempts = counter(
    "gateway_rpc_requests_total",
    "Attempts at an RPC node: ok, error (a JSON-RPC error), failed (no answer, or nonsense).",
    ["node", "method", "outcome"],
  );
  const attemptSeconds = histogram(
    "gateway_rpc_request_duration_seconds",
    "Time of one attempt at an RPC node.",
    UPSTREAM_SECONDS,
    ["method"],
  );
  const nodeUp = gauge("gateway_rpc_node_up", "0 while a node fails or lags and is left alone.", ["node"]);
  const nodeInUse = gauge("gateway_rpc_node_in_use", "1 for the node that is asked now.", ["node"]);
  const nodeLag = gauge(
    "gateway_rpc_node_lag_seconds",
    "How much older a node's newest ledger was than the newest of any node.",
    ["node"],
  );
  const notices = counter("gateway_watcher_notices_total", "Changes in how the watcher fares, by kind.", ["kind"]);
  const deliveries = counter("gateway_delivery_attempts_total", "Attempts to deliver, by outcome.", ["outcome"]);
  const deliverySeconds = histogram(
    "gateway_delivery_attempt_duration_seconds",
    "Time of one attempt to deliver.",
    UPSTREAM_SECONDS,
  ).with();
  const storeErrors = counter("gateway_store_errors_total", "Calls of the store that failed, by kind.", ["kind"]);
  const loopDelay = histogram(
    "gateway_event_loop_delay_seconds",
    "How late the event loop was for a timer, looked at four times a second.",
    LOOP_SECONDS,
  ).with();
  const incomplete = counter("gateway_metrics_incomplete_total", "Scrapes that lacked what the store says.").with();
  gauge("gateway_build_info", "What runs here.", ["version", "commit", "runtime", "runtime_version"])
    .with(VERSION, COMMIT ?? "", runtimeName, runtimeVersion).set(1);
  const cpu = counter("process_cpu_seconds_total", "User and system CPU time.").with();
  gauge("process_start_time_seconds", "When the process began to serve, Unix time.").with().set(now() / 1000);
  // There from the start, so that the first one is an increase.
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
      // The store's errors are counted where they happen; a scrape without its figures is worth more than none.
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
        foreign: sources.bypassMovements(),
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
