import type { Registry } from "../metrics/exposition.ts";
import type { RequestMeter } from "./request_context.ts";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What is counted of requests. */
export interface RequestMetrics {
  /** What counts the answers of one route; `path` is its pattern. */
  meter(method: string, path: string): RequestMeter;
  /** A request was refused for its key's rate or its address's, or because too many `Idempotency-Key`s are kept. */
  limited(by: "key" | "address" | "idempotency_keys"): void;
  /** Requests that take longer than the turn of the event loop they came in. */
  readonly inFlight: number;
}

/** Registers the series of requests. */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const answers = registry.counter(
    "gateway_requests_total",
    "Requests answered, by route pattern.",
    ["method", "route", "status"],
  );
  const durations = registry.histogram(
    "gateway_request_duration_seconds",
    "Time to an answer, by route pattern; what is answered from memory at once counts as 0.",
    SECONDS,
    ["method", "route"],
  );
  const limited = registry.counter(
    "gateway_requests_limited_total",
    "Requests refused for the rate of their key or, with no valid key, of their address; or as too many Idempotency-Keys are kept.",
    ["by"],
  );
  // There from the start, so that the first one is an increase.
  for (const by of ["key", "address", "idempotency_keys"]) limited.with(by);
  let inFlight = 0;

  return {
    meter(method, path) {
      const seconds = durations.with(method, path);
      /** By status: a route has a handful. */
      const counters: ReturnType<typeof answers.with>[] = [];
      return {
        begin() {
          inFlight += 1;
          return performance.now();
        },
        answered(status, begunAt) {
          (counters[status] ??= answers.with(method, path, String(status))).inc();
          if (begunAt === 0) return seconds.observe(0);
          inFlight -= 1;
          seconds.observe((performance.now() - begunAt) / 1000);
        },
      };
    },
    limited: (by) => limited.with(by).inc(),
    get inFlight() {
      return inFlight;
    },
  };
}
