import process from "node:process";
import type { BypassMovements } from "../escrow/assets/bypass_movements.ts";
import { type ReconciliationSummary, troubling } from "../escrow/books/last_reconciliation.ts";
import type { Solvency } from "../escrow/assets/solvency.ts";
import type { PaymentsCondition } from "../escrow/payments/payments_condition.ts";
import type { HistoryStatus } from "../events/history.ts";
import { createRequestMetrics } from "../http/request_metrics.ts";
import { createRegistry } from "../metrics/exposition.ts";
import { runtimeName, runtimeVersion } from "../runtime/runtime.ts";
import type { Head } from "../stellar/head.ts";
import type { AttemptOutcome, NodeReport } from "../stellar/rpc/nodes.ts";
import type { StoreErrorKind } from "../store/store.ts";
import type { NewAttempt } from "../store/webhook.ts";
import { COMMIT, VERSION } from "../version.ts";
import type { Backlog } from "../webhooks/backlog.ts";
import type { WatchedContract } from "./contract_watch.ts";

/** The condition of the gateway, as `GET /v1/status` and the metrics show it. */
export interface Condition {
  head: Pick<Head, "sequence" | "closeTime" | "clockDisagreement">;
  nodes: NodeReport[];
  contracts: WatchedContract[];
  /** Problems of the store's file and its disk, for people. */
  troubles: string[];
  bypass: ReturnType<BypassMovements["found"]>;
  /** Undefined for a scrape while the store fails, as `solvency`. */
  payments: PaymentsCondition | undefined;
  /** Undefined before the first comparison, and for a scrape while the store fails. */
  solvency: Solvency | undefined;
  /** Undefined before the first one, and for a scrape while the store fails. */
  reconciliation: ReconciliationSummary | undefined;
  /** Undefined for a scrape while the store fails, as `backlog`. */
  history: HistoryStatus | undefined;
  backlog: Backlog | undefined;
}

/** The values of one scrape. */
interface Reading extends Condition {
  nowMs: number;
  requestsInFlight: number;
  streams: number;
  memory: { rss: number; heapUsed: number };
}

type Gauge = [name: string, help: string, value: (reading: Reading) => number | undefined];

/** Gauges without labels. */
const GAUGES: readonly Gauge[] = [
  [
    "gateway_requests_in_flight",
    "Requests in progress.",
    ({ requestsInFlight }) => requestsInFlight,
  ],
  ["gateway_ledger_sequence", "Sequence of the latest ledger.", ({ head }) => head.sequence],
  [
    "gateway_ledger_lag_seconds",
    "Seconds since the latest ledger closed.",
    // A wrong clock of this machine is no lag of the network.
    ({ head, nowMs }) =>
      head.closeTime === 0 ? undefined : Math.max(0, nowMs / 1000 + aheadSeconds(head) - head.closeTime),
  ],
  [
    "gateway_clock_disagreement_seconds",
    "Seconds by which the network's time is ahead of this machine's clock; 0 when both agree within a minute.",
    ({ head }) => aheadSeconds(head),
  ],
  [
    "gateway_events_scan_lag_ledgers",
    "Ledgers between the event history and the latest ledger.",
    ({ history }) => history?.lagLedgers ?? undefined,
  ],
  [
    "gateway_event_gaps",
    "Gaps: ranges of ledgers whose events the gateway could not read. A first start's unread ledgers are none.",
    ({ history }) => history && missing(history).length,
  ],
  [
    "gateway_event_gap_detected_seconds",
    "Unix time at which the gateway found the newest gap; 0 without a gap.",
    ({ history }) => history && Math.max(0, ...missing(history).map(({ detectedAt }) => Date.parse(detectedAt) / 1000)),
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
    ({ payments }) => payments?.expiring.payments,
  ],
  [
    "gateway_payments_expiring_complete",
    "1 when gateway_payments_expiring counts all expiring payments, 0 when it may miss some.",
    ({ payments }) => Number(payments?.expiring.complete ?? false),
  ],
  [
    "gateway_payments_expired",
    "Payments of this gateway's API keys that ended unclaimed in the last seven days and are not acknowledged.",
    ({ payments }) => payments?.expired.payments,
  ],
  [
    "gateway_payments_expired_others",
    "Payments of other submitters that ended unclaimed in the last seven days; anyone can make them.",
    ({ payments }) => payments?.expired.others,
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
  [
    "gateway_escrow_owed_known",
    "1 when the gateway knows what the escrow owes, 0 when its history lacks a part of it; absent before the first comparison.",
    ({ solvency }) => solvency && Number(solvency.unknownBecause === null),
  ],
  [
    "gateway_reconciliation_differences",
    "Differences between the log and the contracts in the last reconciliation, without those of a gap; absent before the first.",
    ({ reconciliation }) => reconciliation && troubling(reconciliation),
  ],
  ["gateway_deliveries_pending", "Pending deliveries.", ({ backlog }) => backlog?.pending],
  [
    "gateway_deliveries_rejected",
    "Deliveries that the receiver rejected (a 4xx, for example).",
    ({ backlog }) => backlog?.rejected,
  ],
  [
    "gateway_deliveries_dead",
    "Deliveries without further retries, and undelivered events past retention.",
    ({ backlog }) => backlog?.dead,
  ],
  [
    "gateway_webhooks_failing",
    "Webhooks whose endpoint fails, without those of disabled keys.",
    ({ backlog }) => backlog?.failing,
  ],
  [
    "gateway_deliveries_oldest_seconds",
    "Age of the oldest pending delivery, without those of disabled keys; 0 without any.",
    ({ backlog, head }) =>
      backlog && (backlog.oldestSince === null ? 0 : Math.max(0, head.closeTime - backlog.oldestSince)),
  ],
  [
    "gateway_troubles",
    "Problems of the store's file and its disk; GET /v1/status lists them.",
    ({ troubles }) => troubles.length,
  ],
  [
    "gateway_contract_problems",
    "Contracts of the settings that are not as expected; GET /v1/status lists them.",
    ({ contracts }) => contracts.filter(({ problem }) => problem !== undefined).length,
  ],
  ["process_resident_memory_bytes", "Resident memory.", ({ memory }) => memory.rss],
  ["process_heap_bytes", "JavaScript heap in use.", ({ memory }) => memory.heapUsed],
];

const UPSTREAM_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LOOP_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Refusals of a healthy store. Callers can cause them, so they are no reason for an alert. */
const REFUSALS: readonly StoreErrorKind[] = ["exists", "fenced"];

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** All metrics of the gateway. `now`: Unix milliseconds. */
export function createGatewayMetrics({ now }: { now: () => number }) {
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
  const missing = gauge(
    "gateway_escrow_missing",
    "By how much the escrow holds less of an asset than it owes, in the smallest unit; absent while that is not known.",
    ["asset"],
  );
  const frozen = gauge("gateway_escrow_frozen", "1 while the issuer has frozen the escrow's balance.", ["asset"]);
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
  const comparedAssets = new Set<string>();
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

  function readSolvency(solvency: Solvency | undefined): void {
    const assets = new Map(solvency?.assets.map((one) => [one.asset, one]));
    for (const asset of comparedAssets.union(assets)) {
      const found = assets.get(asset);
      missing.with(asset).set(found?.missing == null ? undefined : Number(found.missing));
      frozen.with(asset).set(found && Number(found.frozen));
      comparedAssets.add(asset);
    }
  }

  return {
    requests,
    rpcAttempt(
      { node, method, outcome, durationMs }: {
        node: string;
        method: string;
        outcome: AttemptOutcome;
        durationMs: number;
      },
    ) {
      attempts.with(node, method, outcome).inc();
      attemptSeconds.with(method).observe(durationMs / 1000);
    },
    /** The watcher reported a change. */
    watcherTold: (kind: string) => notices.with(kind).inc(),
    deliveryAttempted({ outcome, durationMs }: Pick<NewAttempt, "outcome" | "durationMs">) {
      deliveries.with(outcome).inc();
      deliverySeconds.observe(durationMs / 1000);
    },
    /** A call of the store failed. Refusals of a healthy store are not counted. */
    storeFailed: (kind: StoreErrorKind) => REFUSALS.includes(kind) || storeErrors.with(kind).inc(),
    /** The event loop ran a timer so late. */
    eventLoopDelayed: (seconds: number) => loopDelay.observe(seconds),
    /** All metrics in Prometheus' text format, without those of a failing store. */
    render(condition: Condition, streams: number): string {
      if (condition.backlog === undefined) incomplete.inc();
      countCpu();
      readNodes(condition.nodes);
      readSolvency(condition.solvency);
      const reading: Reading = {
        ...condition,
        nowMs: now(),
        requestsInFlight: requests.inFlight,
        streams,
        memory: process.memoryUsage(),
      };
      for (const { series, value } of gauges) series.set(value(reading));
      return registry.render();
    },
  };
}

/** The gaps that are no part of a first start, which reads the newest ledgers first. */
function missing({ gaps }: HistoryStatus): HistoryStatus["gaps"] {
  return gaps.filter(({ reason }) => reason !== "start");
}

function aheadSeconds({ clockDisagreement }: Condition["head"]): number {
  return clockDisagreement() ?? 0;
}
