import { type Handler, Hono } from "hono";
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

export interface AppOptions extends Omit<AppParts, "cors" | "knownReads" | "otherMeter"> {
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

/** At most twice as many URLs of cached reads are remembered. */
const MAX_KNOWN_READS = 10_000;

/** The HTTP surface: endpoints, pages, and responses for all other requests. */
export function createApp(options: AppOptions): GatewayApp {
  const parts: AppParts = {
    ...options,
    cors: options.corsOrigins.length === 0 ? undefined : createCors(options.corsOrigins),
    knownReads: createRecentMap(MAX_KNOWN_READS),
    otherMeter: options.meter("other", "other"),
  };
  const app = new Hono<AppEnv>({ getPath: requestPath });
  for (const [path, routes] of Map.groupBy(nounsOf(options).flatMap(({ routes }) => routes), ({ path }) => path)) {
    for (const { method, handler } of routes) app.on(method, path, metered(method, path, handler, options));
    app.all(path, otherMethod(routes.map(({ method }) => method)));
  }
  app.notFound(refuseUnknownPath);
  const failed = (error: unknown, context: RequestContext) => failureResponse(context, error);
  app.onError((error, c) => failed(error, c.env));

  /** A read that has succeeded before skips Hono's routing, which costs a third of its time. */
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
      const isHead = request.method === "HEAD";
      const read = isHead || request.method === "GET" ? parts.knownReads.get(request.url) : undefined;
      if (read !== undefined && hasGoodHost(request)) return known(read, context);
      return app.fetch(isHead ? asGet(request) : request, context);
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
function metered(method: string, path: string, handler: Handler, { meter: meterOf }: AppOptions): Handler<AppEnv> {
  if (!("spec" in handler)) return handler;
  const meter = meterOf(method, path);
  return (c, next) => {
    c.env.meter = meter;
    return handler(c, next);
  };
}

/**
 * Treats HEAD as GET: the runtimes send the length of the body alone (RFC 9110 §8.6). Hono would drop the body of a HEAD
 * response, and the runtimes would send length 0.
 */
function asGet({ url, headers }: Request): Request {
  return { method: "GET", url, headers } as Request;
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
