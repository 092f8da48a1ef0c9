/** Response headers that a page may read. */
const EXPOSED_HEADERS = [
  "Link",
  "Retry-After",
  "Location",
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "RateLimit",
  "RateLimit-Policy",
].join(", ");

/** Request headers that a page may send. Tracing libraries add the second line (W3C Trace Context, W3C Baggage, Sentry). */
const ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, X-Request-Id, " +
  "traceparent, tracestate, baggage, sentry-trace";
/** How long a browser may cache the response to a preflight. */
const PREFLIGHT_SECONDS = "600";

export type Cors = ReturnType<typeof createCors>;

/**
 * CORS (the Fetch standard). Credentials are never allowed, because pages send the key themselves.
 * @param origins the origins whose pages may call, or `*`
 */
export function createCors(origins: readonly string[]) {
  const isOpen = origins.includes("*");
  const allowed = new Set(origins);
  const open = { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED_HEADERS };
  const others = { vary: "Origin" };
  return {
    /** For every response. */
    headers(request: Request): Record<string, string> {
      if (isOpen) return open;
      const origin = request.headers.get("origin");
      if (origin === null || !allowed.has(origin)) return others;
      return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED_HEADERS, ...others };
    },
    /** For the response to a preflight of a path with these methods. */
    preflightHeaders: (methods: readonly string[]) => ({
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": ALLOWED_HEADERS,
      "access-control-max-age": PREFLIGHT_SECONDS,
    }),
  };
}

/** Whether a request is a CORS preflight. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}
