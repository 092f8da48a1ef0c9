import { Hono } from "hono";
import { cors } from "hono/cors";
import { GatewayError } from "../errors.ts";
import type { Peer } from "../runtime/serve.ts";
import { closing, endpoint, type EndpointContext, type EndpointParts, type RequestMeter } from "./endpoint.ts";
import { errorResponse } from "./error_response.ts";
import { answerMetrics, type MetricsPage } from "./metrics_page.ts";
import { openApiDocument } from "./openapi.ts";
import type { AnyRoute } from "./route.ts";

/** What a browser's page may read of our answers. */
const EXPOSED_HEADERS = [
  "Retry-After",
  "Location",
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "RateLimit",
  "RateLimit-Policy",
];

export interface AppOptions extends EndpointParts {
  routes: AnyRoute[];
  /** Origins whose pages may call; empty: none, and no CORS headers at all. */
  corsOrigins: string[];
  /** Whether `/openapi.json` is served. */
  pages: boolean;
  version: string;
  /** What `/metrics` serves; undefined: there is no such page. */
  metrics: MetricsPage | undefined;
}

export type GatewayApp = Hono<{ Bindings: { peer: Peer } }>;

/** The HTTP surface: every route behind `endpoint`, and answers for what is no endpoint. */
export function createApp(options: AppOptions): GatewayApp {
  const app: GatewayApp = new Hono();
  if (options.corsOrigins.length > 0) {
    app.use(cors({
      origin: options.corsOrigins.includes("*") ? "*" : options.corsOrigins,
      allowMethods: ["GET", "POST", "DELETE"],
      allowHeaders: ["Authorization", "Content-Type", "X-API-Key", "X-Request-Id", "Last-Event-ID"],
      exposeHeaders: EXPOSED_HEADERS,
      maxAge: 600,
    }));
  }
  for (const route of options.routes) app.on(route.method.toUpperCase(), route.path, endpoint(route, options));
  if (options.pages) {
    const document = JSON.stringify(openApiDocument(options.routes, options.version));
    app.get(
      "/openapi.json",
      (c) => plain(c, options, new Response(document, { headers: { "content-type": "application/json" } })),
    );
  }
  if (options.metrics !== undefined) {
    const answer = answerMetrics(options.metrics, options);
    app.get("/metrics", async (c) => plain(c, options, await answer(c)));
  }
  // No catch-all beside the routes: with a single handler Hono stays synchronous.
  const paths = pathMethods(options);
  /** What no route of a known path and method is counted as: a scanner must not make a series of every path it tries. */
  const other = options.meter("other", "other");
  app.notFound((c) => {
    const known = paths.find(({ pattern }) => pattern.test(c.req.path));
    return refused(c, options, other, known === undefined ? noSuchPath(c) : methodNotAllowed(c, known.methods));
  });
  app.onError((error, c) => refused(c, options, other, error));
  return app;
}

interface PathMethods {
  pattern: RegExp;
  methods: string[];
}

function pathMethods({ routes, pages, metrics }: AppOptions): PathMethods[] {
  const found = Map.groupBy(routes, ({ path }) => path as string);
  const known = [...found].map(([path, same]) => ({
    pattern: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`),
    methods: same.map(({ method }) => method.toUpperCase()),
  }));
  if (pages) known.push({ pattern: /^\/openapi\.json$/, methods: ["GET"] });
  if (metrics !== undefined) known.push({ pattern: /^\/metrics$/, methods: ["GET"] });
  return known;
}

function noSuchPath(c: EndpointContext): GatewayError {
  return new GatewayError("not_found", `there is no ${c.req.method} ${c.req.path.slice(0, 200)}`);
}

function methodNotAllowed(c: EndpointContext, methods: string[]): GatewayError {
  const allowed = (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ");
  return new GatewayError("invalid_request", `${c.req.method} is not allowed here; allowed: ${allowed}`, {
    status: 405,
    headers: { Allow: allowed },
  });
}

/** An answer outside the endpoints costs no token, but says how the caller's address stands. */
function plain(c: EndpointContext, parts: EndpointParts, response: Response): Response {
  const headers = {
    ...parts.rateHeaders(parts.peekAddress(c.req.raw, c.env.peer)),
    ...closing(parts),
    "x-request-id": parts.requestId(c.req.raw),
  };
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

function refused(c: EndpointContext, parts: EndpointParts, meter: RequestMeter, error: Error): Response {
  const requestId = parts.requestId(c.req.raw);
  const response = errorResponse(error, {
    ...parts.rateHeaders(parts.peekAddress(c.req.raw, c.env.peer)),
    ...closing(parts),
    "x-request-id": requestId,
  });
  parts.onAnswer(c, response.status, requestId, error);
  meter.answered(response.status, 0);
  return response;
}
