/** What a browser's page may read of our answers. */
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

/** What a page may send. The second line is added by tracing libraries (W3C Trace Context, W3C Baggage, Sentry). */
const ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, X-Request-Id, " +
  "traceparent, tracestate, baggage, sentry-trace";
/** How long a browser may go by a preflight's answer. */
const PREFLIGHT_SECONDS = "600";

/** Which pages may call (CORS, the Fetch standard). Credentials are never allowed: keys are sent by hand. */
export interface Cors {
  /** For every answer. */
  headers(request: Request): Record<string, string>;
  /** For the answer to a preflight of a path with these methods. */
  preflightHeaders(methods: readonly string[]): Record<string, string>;
}

/** @param origins whose pages may call, or `*` */
export function createCors(origins: readonly string[]): Cors {
  const isOpen = origins.includes("*");
  const allowed = new Set(origins);
  const open = { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED_HEADERS };
  const others = { vary: "Origin" };
  return {
    headers(request) {
      if (isOpen) return open;
      const origin = request.headers.get("origin");
      if (origin === null || !allowed.has(origin)) return others;
      return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED_HEADERS, ...others };
    },
    preflightHeaders: (methods) => ({
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": ALLOWED_HEADERS,
      "access-control-max-age": PREFLIGHT_SECONDS,
    }),
  };
}

/** Whether a browser asks with this if a page may call. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}
