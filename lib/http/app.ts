import { type Handler, Hono } from "hono";
import type { RouterRoute } from "hono/types";
import { createRecentMap } from "../bounded_map.ts";
import { GatewayError } from "../errors.ts";
import type { NetworkExample } from "../escrow/example_values.ts";
import type { Peer } from "../runtime/serve.ts";
import { failureResponse, plainResponse } from "./response.ts";
import {
  type AppContext,
  type AppEnv,
  type AppParts,
  type KnownRead,
  RequestContext,
  type RequestMeter,
} from "./request_context.ts";
import { recognize } from "./middleware/authenticate.ts";
import { createCors, isPreflight } from "./middleware/cors.ts";
import { pages } from "./pages/pages.ts";
import { hasGoodHost, requestPath, shownPath } from "./request_target.ts";
import { metricsPage, type MetricsSource } from "./routes/metrics_page.ts";
import { NOUNS } from "./routes/routes.ts";

export interface AppOptions extends Omit<AppParts, "cors" | "knownReads" | "exporting" | "otherMeter"> {
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

/** All methods that no endpoint has. */
const OTHER = "OTHER";
/** At most twice as many URLs of cached reads are remembered. */
const MAX_KNOWN_READS = 10_000;

/** The HTTP surface: endpoints, pages, and responses for all other requests. */
export function createApp(options: AppOptions): GatewayApp {
  const parts: AppParts = {
    ...options,
    cors: options.corsOrigins.length === 0 ? undefined : createCors(options.corsOrigins),
    knownReads: createRecentMap(MAX_KNOWN_READS),
    exporting: new Set(),
    otherMeter: options.meter("other", "other"),
  };
  const app = new Hono<AppEnv>({ getPath: requestPath });
  const routes = nounsOf(options).flatMap(({ routes }) => routes);
  const methods = new Set(routes.map(({ method }) => method)).add(OTHER);
  for (const [path, own] of Map.groupBy(routes, ({ path }) => path)) {
    const refuse = otherMethod(own.map(({ method }) => method));
    // One handler for each path and method: Hono makes promises of a chain.
    for (const method of methods) {
      const route = own.find((one) => one.method === method);
      app.on(method, path, route === undefined ? refuse : metered(route, options));
    }
  }
  app.notFound(refuseUnknownPath);
  const failed = (error: unknown, context: RequestContext) => failureResponse(context, error);
  app.onError((error, c) => failed(error, c.env));

  /** A read that has succeeded before skips Hono's routing. */
  function known(read: KnownRead, context: RequestContext): Response | Promise<Response> {
    try {
      const response = read(context);
      return response instanceof Promise ? response.catch((error) => failed(error, context)) : response;
    } catch (error) {
      return failed(error, context);
    }
  }

  return {
    fetch(request, peer) {
      const context = new RequestContext(parts, request, peer);
      const method = request.method === "HEAD" ? "GET" : methods.has(request.method) ? request.method : OTHER;
      const read = method === "GET" ? parts.knownReads.get(request.url) : undefined;
      if (read !== undefined && hasGoodHost(request)) return known(read, context);
      return app.fetch(method === request.method ? request : withMethod(method, request), context);
    },
  };
}

function nounsOf({ pages: hasPages, version, exampleValues, metrics }: AppOptions): Hono<AppEnv>[] {
  return [
    ...NOUNS,
    ...(hasPages ? [pages(version, exampleValues)] : []),
    ...(metrics === undefined ? [] : [metricsPage(metrics)]),
  ];
}

/** One series for each endpoint, and one for all other paths: a scanner must not create a series for each path. */
function metered({ method, path, handler }: RouterRoute, { meter: meterOf }: AppOptions): Handler<AppEnv> {
  if (!("spec" in handler)) return handler;
  const meter = meterOf(method, path);
  return (c, next) => {
    c.env.meter = meter;
    return handler(c, next);
  };
}

/**
 * The request with another method, for routing. HEAD is routed as GET: the runtimes send the length of the body alone (RFC 9110
 * §8.6). Hono would drop the body of a HEAD response, and the runtimes would send length 0.
 */
function withMethod(method: string, { url, headers }: Request): Request {
  return { method, url, headers } as Request;
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
