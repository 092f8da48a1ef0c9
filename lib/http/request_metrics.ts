import type { Registry } from "../metrics/exposition.ts";
import type { RequestMeter } from "./request_context.ts";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the series of requests. */
export function createRequestMetrics(registry: Registry) {
  const answers = registry.counter(
    "gateway_requests_total",
    "Responses, by route pattern.",
    ["method", "route", "status"],
  );
  const durations = registry.histogram(
    "gateway_request_duration_seconds",
    "Time to the response, by route pattern; responses from memory count as 0.",
    SECONDS,
    ["method", "route"],
  );
  const limited = registry.counter(
    "gateway_requests_limited_total",
    "Refused requests, by the limit: rate of the key, rate of the address, stored Idempotency-Keys, submits under way.",
    ["by"],
  );
  // Created at the start, so that the first refusal is an increase.
  for (const by of ["key", "address", "idempotency_keys", "submits"]) limited.with(by);
  let inFlight = 0;

  return {
    /** Counts the responses of one route; `path` is its pattern. */
    meter(method: string, path: string): RequestMeter {
      const seconds = durations.with(method, path);
      /** By status. */
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
    /** Counts a request refused for the rate of its key or its address, or for too many stored `Idempotency-Key`s. */
    limited: (by: "key" | "address" | "idempotency_keys" | "submits") => limited.with(by).inc(),
    /** Requests in progress, without those that end in the event-loop turn of their arrival. */
    get inFlight() {
      return inFlight;
    },
  };
}
