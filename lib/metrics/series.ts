import type { Registry } from "./exposition.ts";
import { runtimeName, runtimeVersion } from "../runtime/runtime.ts";
import { COMMIT, VERSION } from "../version.ts";

const REQUEST_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const UPSTREAM_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LOOP_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** What is counted of requests. */
export function requestSeries(registry: Registry) {
  const answered = registry.counter(
    "gateway_requests_total",
    "Requests answered, by route pattern.",
    ["method", "route", "status"],
  );
  const seconds = registry.histogram(
    "gateway_request_duration_seconds",
    "Time to an answer, by route pattern; what is answered from memory at once counts as 0.",
    REQUEST_SECONDS,
    ["method", "route"],
  );
  const inFlight = registry.gauge("gateway_requests_in_flight", "Requests whose answer is still to come.").with();
  const limited = registry.counter(
    "gateway_requests_limited_total",
    "Requests refused for the rate of their key or, with no valid key, of their address; or as too many Idempotency-Keys are kept.",
    ["by"],
  );
  const by = {
    key: limited.with("key"),
    address: limited.with("address"),
    idempotency_keys: limited.with("idempotency_keys"),
  };
  return { answered, seconds, inFlight, limited: by };
}

/** What is counted of the RPC nodes and the ledger they show. */
export function rpcSeries(registry: Registry) {
  return {
    attempts: registry.counter(
      "gateway_rpc_requests_total",
      "Attempts at an RPC node: ok, error (a JSON-RPC error), failed (no answer, or nonsense).",
      ["node", "method", "outcome"],
    ),
    seconds: registry.histogram(
      "gateway_rpc_request_duration_seconds",
      "Time of one attempt at an RPC node.",
      UPSTREAM_SECONDS,
      ["method"],
    ),
    up: registry.gauge("gateway_rpc_node_up", "0 while a node fails or lags and is left alone.", ["node"]),
    inUse: registry.gauge("gateway_rpc_node_in_use", "1 for the node that is asked now.", ["node"]),
    nodeLag: registry.gauge(
      "gateway_rpc_node_lag_seconds",
      "How much older a node's newest ledger was than the newest of any node.",
      ["node"],
    ),
    sequence: registry.gauge("gateway_ledger_sequence", "The newest ledger seen.").with(),
    ledgerLag: registry.gauge("gateway_ledger_lag_seconds", "How long ago the newest ledger seen closed.").with(),
    clockDisagreement: registry.gauge(
      "gateway_clock_disagreement_seconds",
      "By how much the network's time is ahead of this machine's clock; 0 when they agree within a minute.",
    ).with(),
  };
}

/** What is counted of the event history. */
export function eventSeries(registry: Registry) {
  return {
    scanLag: registry.gauge(
      "gateway_events_scan_lag_ledgers",
      "How many ledgers the event history is behind the newest ledger seen.",
    ).with(),
    gaps: registry.gauge("gateway_event_gaps", "Ranges of ledgers whose events could not be read.").with(),
    gapNoticed: registry.gauge(
      "gateway_event_gap_noticed_seconds",
      "When the newest of these ranges was noticed, Unix time; 0 when there is none.",
    ).with(),
    undecoded: registry.gauge(
      "gateway_events_undecoded",
      "Events kept raw because they could not be decoded; 100 stands for 100 or more.",
    ).with(),
    streams: registry.gauge("gateway_event_streams", "Live event streams that are open.").with(),
    expiring: registry.gauge(
      "gateway_payments_expiring",
      "Pending payments in the last quarter of their life: what is not claimed then is lost to the merchant.",
    ).with(),
    expiringComplete: registry.gauge(
      "gateway_payments_expiring_complete",
      "1: gateway_payments_expiring counts all there are; 0: not all that may be expiring could be looked at.",
    ).with(),
    foreign: registry.gauge(
      "gateway_foreign_movements",
      "Movements in an asset that they should not be in, of the newest 5000 events at the start and since.",
    ).with(),
    foreignKnown: registry.gauge(
      "gateway_foreign_movement_known_seconds",
      "When the last of these movements became known, Unix time; 0 when there was none.",
    ).with(),
    notices: registry.counter(
      "gateway_watcher_notices_total",
      "Changes in how the watcher fares, by kind.",
      ["kind"],
    ),
  };
}

/** What is counted of deliveries to webhooks. */
export function deliverySeries(registry: Registry) {
  const attempts = registry.counter("gateway_delivery_attempts_total", "Attempts to deliver, by outcome.", ["outcome"]);
  return {
    attempts: {
      delivered: attempts.with("delivered"),
      retry: attempts.with("retry"),
      rejected: attempts.with("rejected"),
      dead: attempts.with("dead"),
    },
    seconds: registry.histogram(
      "gateway_delivery_attempt_duration_seconds",
      "Time of one attempt to deliver.",
      UPSTREAM_SECONDS,
    ).with(),
    pending: registry.gauge("gateway_deliveries_pending", "Deliveries that are due now or later.").with(),
    rejected: registry.gauge("gateway_deliveries_rejected", "Deliveries that an answer ended (4xx and the like).")
      .with(),
    dead: registry.gauge("gateway_deliveries_dead", "Deliveries given up, and events forgotten undelivered.").with(),
    failing: registry.gauge(
      "gateway_webhooks_failing",
      "Webhooks whose endpoint fails, without those of disabled keys.",
    ).with(),
    oldest: registry.gauge(
      "gateway_deliveries_oldest_seconds",
      "How long the oldest delivery has been owed, tried already or not, without those of disabled keys; 0 when none is.",
    ).with(),
  };
}

/** What is counted of the store and of the process. */
export function processSeries(registry: Registry, startedAtMs: number) {
  const storeErrors = registry.counter("gateway_store_errors_total", "Calls of the store that failed, by kind.", [
    "kind",
  ]);
  // There from the start, so that the first one is an increase.
  for (const kind of ["unavailable", "full"]) storeErrors.with(kind);
  const loopDelay = registry.histogram(
    "gateway_event_loop_delay_seconds",
    "How late the event loop was for a timer, looked at four times a second.",
    LOOP_SECONDS,
  ).with();
  const troubles = registry.gauge(
    "gateway_troubles",
    "How much is wrong with the store's file and its disk; GET /v1/status says what.",
  ).with();
  const contractProblems = registry.gauge(
    "gateway_contract_problems",
    "How many contracts of the settings are not as expected; GET /v1/status says which.",
  ).with();
  const incomplete = registry.counter(
    "gateway_metrics_incomplete_total",
    "Scrapes that lacked what the store says.",
  ).with();
  registry.gauge("gateway_build_info", "What runs here.", ["version", "commit", "runtime", "runtime_version"])
    .with(VERSION, COMMIT ?? "", runtimeName, runtimeVersion).set(1);
  const resident = registry.gauge("process_resident_memory_bytes", "Resident memory.").with();
  const heap = registry.gauge("process_heap_bytes", "JavaScript heap in use.").with();
  const cpu = registry.counter("process_cpu_seconds_total", "User and system CPU time.").with();
  registry.gauge("process_start_time_seconds", "When the process began to serve, Unix time.").with()
    .set(startedAtMs / 1000);
  return { storeErrors, troubles, contractProblems, loopDelay, incomplete, resident, heap, cpu };
}
