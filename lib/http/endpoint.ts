import type { Handler } from "hono";
import { GatewayError } from "../errors.ts";
import type { KeyRecord } from "../store/store.ts";
import { goodResponse } from "./response.ts";
import type { AnySpec, EndpointSpec, Input, Note } from "./endpoint_spec.ts";
import type { AppContext, AppEnv, Dependencies, RequestContext } from "./request_context.ts";
import { authenticate, requireScope } from "./middleware/authenticate.ts";
import { takeFromKey } from "./middleware/rate_limit.ts";
import { checkedBody } from "./validation/body.ts";
import { checkedAssets } from "./validation/checked.ts";
import { checkedIdempotencyKey } from "./validation/idempotency_key.ts";
import { checkedQuery } from "./validation/query.ts";

/** When the store or the body took longer, the key is verified again. */
const SLOW_MS = 100;

/** A Hono handler with the specification of its endpoint. */
export type Endpoint = Handler<AppEnv> & { spec: AnySpec };

/**
 * Makes the handler of an endpoint with JSON responses.
 *
 * @param handle may return synchronously: cached reads do, and cost no promise. `note` adds fields to the log line
 */
export function endpoint<P = Record<never, never>, Q = Record<never, never>, B = undefined, A extends object = object>(
  spec: EndpointSpec<P, Q, B, A>,
  handle: (input: Input<P, Q, B>, dependencies: Dependencies, note: Note) => A | Promise<A>,
): Endpoint {
  function succeeded(c: AppContext, params: P, result: A): Response {
    const { env: context } = c;
    if (context.parts.checkAnswers) spec.response.parse(result);
    if (spec.cached && context.known === undefined) {
      context.parts.responseCache.remember(context.request.url, { path: c.req.path, params });
    }
    const status = spec.isPlain?.(result) ? 200 : spec.status ?? 200;
    return goodResponse(context, status, spec.cached ? cachedText(result) : JSON.stringify(result));
  }

  return guarded<P, Q, B>(spec, (c, input) => {
    const { env: context } = c;
    const result = handle(input, context.parts.dependencies, (fields) => context.note(fields));
    return result instanceof Promise
      ? result.then((r) => succeeded(c, input.params, r))
      : succeeded(c, input.params, result);
  });
}

/**
 * Makes a handler with all checks: key → rate limit → scope → validation → `respond`. Errors are thrown, and `app.ts` renders
 * them. The checks are no chain of Hono middleware, because that makes a promise of each step. Five empty steps cost 1.3 µs, and
 * a cached read takes 9 µs in all on Bun.
 */
export function guarded<P, Q, B>(
  spec: AnySpec,
  respond: (c: AppContext, input: Input<P, Q, B>) => Response | Promise<Response>,
): Endpoint {
  // While the gateway drains, health checks fail early, so that a balancer sends requests elsewhere. New streams are refused,
  // because a stream does not end by itself.
  const isRefusedEarly = spec.scopes.length === 0 || spec.mediaType === "text/event-stream";

  function started(context: RequestContext, c: AppContext): Response | Promise<Response> {
    const { parts } = context;
    if (parts.isStopping() || (isRefusedEarly && parts.isDraining())) {
      throw new GatewayError("unavailable", "the gateway is shutting down");
    }
    if (parts.isStoreGone() && (spec.scopes.length === 0 || isWrite(context.request))) {
      throw new GatewayError(
        "unavailable",
        "the gateway has lost its store file and refuses writes; the operator must restore it",
      );
    }
    if (spec.scopes.length === 0) return handled(context, c, undefined);
    const key = authenticate(context);
    if (!(key instanceof Promise)) return admitted(context, c, key);
    return key.then((k) => currentKey(context, k, (known) => admitted(context, c, known)));
  }

  const isSlow = ({ begunAt }: RequestContext) => performance.now() - begunAt > SLOW_MS;

  /** Continues with the key's present state: it is verified again when the store was slow, or this process was frozen. */
  function currentKey<T>(
    context: RequestContext,
    key: KeyRecord,
    proceed: (key: KeyRecord) => T | Promise<T>,
  ): T | Promise<T> {
    if (!isSlow(context)) return proceed(key);
    const now = authenticate(context);
    return now instanceof Promise ? now.then(proceed) : proceed(now);
  }

  const isWrite = ({ method }: Request) => method !== "GET" && method !== "HEAD" && !spec.scopes.includes("read");

  function admitted(context: RequestContext, c: AppContext, key: KeyRecord): Response | Promise<Response> {
    const taken = takeFromKey(context, key, spec.cost ?? 1);
    if (!(taken instanceof Promise)) return scoped(context, c, key);
    return taken.then(() => currentKey(context, key, (known) => scoped(context, c, known)));
  }

  function scoped(context: RequestContext, c: AppContext, key: KeyRecord): Response | Promise<Response> {
    requireScope(key, spec.scopes);
    return handled(context, c, key);
  }

  function handled(context: RequestContext, c: AppContext, key: KeyRecord | undefined): Response | Promise<Response> {
    const params = checkedParams(spec, c) as P;
    const query = checkedQuery(spec, context) as Q;
    const idempotencyKey = spec.idempotent ? checkedIdempotencyKey(context.request) : undefined;
    const signal = () => context.request.signal;
    const input = { params, query, body: undefined, idempotencyKey, key, signal } as Input<P, Q, B>;
    const body = checkedBody(spec, context);
    if (body === undefined) return respond(c, input);
    return body.then((b) => {
      const whole = { ...input, body: b as B };
      return isSlow(context) && key !== undefined ? verifiedAgain(c, whole) : respond(c, whole);
    });
  }

  /** A body may take half a minute to arrive, and meanwhile the key may have been disabled or have lost the scope. */
  async function verifiedAgain(c: AppContext, input: Input<P, Q, B>): Promise<Response> {
    const key = await authenticate(c.env);
    requireScope(key, spec.scopes);
    return await respond(c, { ...input, key });
  }

  const handleRequest = (c: AppContext): Response | Promise<Response> => {
    const context = c.env;
    context.meter = context.parts.meterOf(spec);
    const response = started(context, c);
    if (response instanceof Promise) context.begunAt = context.meter.begin();
    return response;
  };
  return Object.assign(handleRequest, { spec });
}

const NOTHING = Object.freeze({});

/**
 * The checked path parameters. Frozen, because many requests may share them.
 * @throws {GatewayError} `invalid_request`
 */
function checkedParams({ params }: AnySpec, c: AppContext): unknown {
  if (params === undefined) return NOTHING;
  const { known, parts } = c.env;
  return known === undefined
    ? Object.freeze(checkedAssets(params, c.req.param(), "path parameter", parts))
    : known.params;
}

const cachedTexts = new WeakMap<object, string>();

/** Serialises a response once for each object. */
function cachedText(response: object): string {
  let text = cachedTexts.get(response);
  if (text === undefined) cachedTexts.set(response, text = JSON.stringify(response));
  return text;
}
