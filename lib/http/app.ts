import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { GatewayError } from "../errors.ts";
import type { Peer } from "../runtime/serve.ts";
import { answerHeaders, endpoint, type EndpointParts, type EndpointRequest, type RequestMeter } from "./endpoint.ts";
import { errorResponse } from "./error_response.ts";
import { answerMetrics, type MetricsPage } from "./metrics_page.ts";
import { openApiDocument } from "./openapi.ts";
import { createRecentRequests } from "./recent_requests.ts";
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

/** The HTTP surface: answers every request, and never throws. */
export interface GatewayApp {
  fetch(request: Request, peer: Peer): Response | Promise<Response>;
}

type AppContext = Context<{ Bindings: { peer: Peer } }>;

/** The HTTP surface: every route behind `endpoint`, and answers for what is no endpoint. */
export function createApp(options: AppOptions): GatewayApp {
  const app = new Hono<{ Bindings: { peer: Peer } }>();
  const isCrossOrigin = options.corsOrigins.length > 0;
  if (isCrossOrigin) app.use(crossOrigin(options.corsOrigins));
  // Behind CORS every answer has to pass through Hono.
  const recent = isCrossOrigin ? undefined : createRecentRequests();
  for (const route of options.routes) {
    const answer = endpoint(route, options);
    app.on(route.method.toUpperCase(), route.path, (c) => {
      const request = endpointRequest(c);
      recent?.remember(request, answer);
      return answer(request);
    });
  }
  if (options.pages) {
    const document = JSON.stringify(openApiDocument(options.routes, options.version));
    app.get(
      "/openapi.json",
      (c) => plain(c, options, new Response(document, { headers: { "content-type": "application/json" } })),
    );
  }
  if (options.metrics !== undefined) {
    const answer = answerMetrics(options.metrics, options);
    app.get("/metrics", async (c) => plain(c, options, await answer(endpointRequest(c))));
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
  return { fetch: (request, peer) => recent?.answer(request, peer) ?? app.fetch(request, { peer }) };
}

function crossOrigin(origins: string[]) {
  return cors({
    origin: origins.includes("*") ? "*" : origins,
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: ["Authorization", "Content-Type", "X-API-Key", "X-Request-Id", "Last-Event-ID"],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 600,
  });
}

function endpointRequest(c: AppContext): EndpointRequest {
  return { raw: c.req.raw, peer: c.env.peer, method: c.req.method, path: c.req.path, params: c.req.param() };
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

function noSuchPath(c: AppContext): GatewayError {
  return new GatewayError("not_found", `there is no ${c.req.method} ${c.req.path.slice(0, 200)}`);
}

function methodNotAllowed(c: AppContext, methods: string[]): GatewayError {
  const allowed = (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ");
  return new GatewayError("invalid_request", `${c.req.method} is not allowed here; allowed: ${allowed}`, {
    status: 405,
    headers: { Allow: allowed },
  });
}

/** An answer outside the endpoints costs no token, but says how the caller's address stands. */
function plain(c: AppContext, parts: EndpointParts, response: Response): Response {
  const headers = {
    ...answerHeaders(parts, parts.peekAddress(c.req.raw, c.env.peer)),
    "x-request-id": parts.requestId(c.req.raw),
  };
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

function refused(c: AppContext, parts: EndpointParts, meter: RequestMeter, error: Error): Response {
  const requestId = parts.requestId(c.req.raw);
  const response = errorResponse(error, {
    ...answerHeaders(parts, parts.peekAddress(c.req.raw, c.env.peer)),
    "x-request-id": requestId,
  });
  parts.onAnswer(endpointRequest(c), response.status, requestId, error);
  meter.answered(response.status, 0);
  return response;
}
