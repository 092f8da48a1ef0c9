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
  /** Origins whose pages may call; empty: none, and no CORS headers at all. */
  corsOrigins: readonly string[];
  version: string;
  /** Of a sandbox: the values in the examples of /openapi.json. */
  exampleValues?: NetworkExample;
  /** What `/metrics` serves; undefined: there is no such page. */
  metrics: MetricsSource | undefined;
  /** What counts the answers of one route; `path` is its pattern. */
  meter(method: string, path: string): RequestMeter;
}

/** The HTTP surface: answers every request, and never throws. */
export interface GatewayApp {
  fetch(request: Request, peer: Peer): Response | Promise<Response>;
}

/** Hono hands `getPath` the bindings, but says nothing of their type. */
type GetPath = (request: Request, options?: { env?: unknown }) => string;

/** The HTTP surface: every noun's endpoints, the pages, and answers for whatever is neither. */
export function createApp(options: AppOptions): GatewayApp {
  const router: PathRouter<[H, RouterRoute]> = new PathRouter();
  const app = new Hono<AppEnv>({ router, getPath: routedPath as GetPath });
  for (const noun of NOUNS) app.route("/", noun);
  if (options.pages) app.route("/", pages(options.version, options.exampleValues));
  if (options.metrics !== undefined) app.route("/", metricsPage(options.metrics));
  const paths = Map.groupBy(app.routes, ({ path }) => path);
  for (const [path, routes] of paths) app.all(path, otherMethod(routes.map(({ method }) => method)));
  app.notFound(nothingThere);
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

/** The path by which Hono finds the handler: its `getPath`. Notes what is known of the URL. */
function routedPath(request: Request, { env: context }: { env: RequestContext }): string {
  const known = context.parts.responseCache.get(request.url);
  if (known === undefined || !hasGoodHost(request)) return requestPath(request);
  context.known = known;
  return known.path;
}

/**
 * HEAD is answered with the body of GET, of which the runtimes send the length alone (RFC 9110 §8.6). Hono, if it knew, would
 * take the body away, and they would send 0.
 */
function asGet({ url, headers }: Request): Request {
  return { method: "GET", url, headers } as Request;
}

/** Series by route pattern and for all else one: a scanner must not make a series of every path it tries. */
function createMeters(app: Hono<AppEnv>, { meter }: AppOptions): AppParts["meterOf"] {
  const meters = new Map<object, RequestMeter>();
  for (const { method, path, handler } of app.routes) {
    const { spec } = handler as Partial<Endpoint>;
    if (spec !== undefined) meters.set(spec, meter(method, path));
  }
  const other = meter("other", "other");
  return (spec) => spec === undefined ? other : meters.get(spec) ?? other;
}

/** Answers the methods that a path does not have; among them, where pages may call, the preflight. */
function otherMethod(methods: string[]): (c: AppContext) => Promise<Response> {
  const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  return async function answerOtherMethod({ env: context }) {
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
      `${request.method} is not allowed at ${shownPath(request)}; ${allowed.join(" or ")} is meant`,
      { status: 405, headers: { Allow: allowed.join(", ") } },
    );
  };
}

async function nothingThere({ env: context }: AppContext): Promise<never> {
  const { request } = context;
  if (!hasGoodHost(request)) {
    throw new GatewayError("invalid_request", "the Host header must be a host, with or without a port");
  }
  await recognize(context);
  throw new GatewayError("not_found", `there is no ${request.method} ${shownPath(request)}`);
}
