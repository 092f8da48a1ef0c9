import { Hono } from "hono";
import type { H, RouterRoute } from "hono/types";
import { GatewayError } from "../errors.ts";
import type { NetworkExample } from "../escrow/example_values.ts";
import type { Peer } from "../runtime/serve.ts";
import { failureResponse, plainResponse } from "./response.ts";
import type { Endpoint } from "./endpoint.ts";
import { type AppContext, type AppEnv, type AppParts, RequestContext, type RequestMeter } from "./request_context.ts";
import { createResponseCache } from "./response_cache.ts";
import { recognize } from "./middleware/authenticate.ts";
import { createCors, isPreflight } from "./middleware/cors.ts";
import { pages } from "./pages/pages.ts";
import { hasGoodHost, requestPath, shownPath } from "./request_target.ts";
import { PathRouter } from "./router.ts";
import { metricsPage, type MetricsSource } from "./routes/metrics_page.ts";
import { NOUNS } from "./routes/routes.ts";

export interface AppOptions extends Omit<AppParts, "cors" | "responseCache" | "meterOf"> {
  /** Origins whose pages may call. When empty, there are no CORS headers. */
  corsOrigins: readonly string[];
  version: string;
  /** Of a sandbox: the values in the examples of /openapi.json. */
  exampleValues?: NetworkExample;
  /** The page `/metrics`; undefined for none. */
  metrics: MetricsSource | undefined;
  /** Counts the responses of one route; `path` is its pattern. */
  meter(method: string, path: string): RequestMeter;
}

/** The HTTP surface. It answers every request and never throws. */
export interface GatewayApp {
  fetch(request: Request, peer: Peer): Response | Promise<Response>;
}

/** Hono passes the bindings to `getPath`, but its type lacks them. */
type GetPath = (request: Request, options?: { env?: unknown }) => string;

/** The HTTP surface: endpoints, pages, and responses for all other requests. */
export function createApp(options: AppOptions): GatewayApp {
  const router: PathRouter<[H, RouterRoute]> = new PathRouter();
  const app = new Hono<AppEnv>({ router, getPath: routedPath as GetPath });
  for (const noun of NOUNS) app.route("/", noun);
  if (options.pages) app.route("/", pages(options.version, options.exampleValues));
  if (options.metrics !== undefined) app.route("/", metricsPage(options.metrics));
  const paths = Map.groupBy(app.routes, ({ path }) => path);
  for (const [path, routes] of paths) app.all(path, otherMethod(routes.map(({ method }) => method)));
  app.notFound(refuseUnknownPath);
  app.onError((error, c) => failureResponse(c.env, error));
  const parts: AppParts = {
    ...options,
    cors: options.corsOrigins.length === 0 ? undefined : createCors(options.corsOrigins),
    responseCache: createResponseCache((path) => router.keep(path)),
    meterOf: createMeters(app, options),
  };
  return {
    fetch: (request, peer) =>
      app.fetch(request.method === "HEAD" ? asGet(request) : request, new RequestContext(parts, request, peer)),
  };
}

/** Hono's `getPath`: the path that selects the handler. It also looks the URL up in the response cache. */
function routedPath(request: Request, { env: context }: { env: RequestContext }): string {
  const known = context.parts.responseCache.get(request.url);
  if (known === undefined || !hasGoodHost(request)) return requestPath(request);
  context.known = known;
  return known.path;
}

/**
 * Treats HEAD as GET: the runtimes send the length of the body alone (RFC 9110 §8.6). Hono would drop the body of a HEAD
 * response, and the runtimes would send length 0.
 */
function asGet({ url, headers }: Request): Request {
  return { method: "GET", url, headers } as Request;
}

/** One series for each route pattern, and one for all other paths: a scanner must not create a series for each path. */
function createMeters(app: Hono<AppEnv>, { meter }: AppOptions): AppParts["meterOf"] {
  const meters = new Map<object, RequestMeter>();
  for (const { method, path, handler } of app.routes) {
    const { spec } = handler as Partial<Endpoint>;
    if (spec !== undefined) meters.set(spec, meter(method, path));
  }
  const other = meter("other", "other");
  return (spec) => spec === undefined ? other : meters.get(spec) ?? other;
}

/** Answers the methods that a path lacks, and the CORS preflight. */
function otherMethod(methods: string[]): (c: AppContext) => Promise<Response> {
  const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  return async function refuseMethod({ env: context }) {
    const { request, parts } = context;
    if (parts.cors !== undefined && isPreflight(request)) {
      return plainResponse(
        context,
        new Response(null, { status: 204, headers: parts.cors.preflightHeaders(allowed) }),
      );
    }
    await recognize(context);
    throw new GatewayError(
      "invalid_request",
      `the method of ${shownPath(request)} must be ${allowed.join(" or ")}; got ${request.method}`,
      { status: 405, headers: { Allow: allowed.join(", ") } },
    );
  };
}

async function refuseUnknownPath({ env: context }: AppContext): Promise<never> {
  const { request } = context;
  if (!hasGoodHost(request)) {
    throw new GatewayError("invalid_request", "Host must be a host, with or without a port");
  }
  await recognize(context);
  throw new GatewayError("not_found", `there is no ${request.method} ${shownPath(request)}`);
}
