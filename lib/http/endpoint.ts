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

/** After a store's answer, or a body, that took longer the key is looked at again. */
const SLOW_MS = 100;

/** A Hono handler that says what it takes and answers. */
export type Endpoint = Handler<AppEnv> & { spec: AnySpec };

/**
 * Makes the handler of an endpoint that answers JSON.
 *
 * @param handle may answer at once: the hot reads do, and cost no promise. What it tells `note` stands in the log
 */
export function endpoint<P = Record<never, never>, Q = Record<never, never>, B = undefined, A extends object = object>(
  spec: EndpointSpec<P, Q, B, A>,
  handle: (input: Input<P, Q, B>, dependencies: Dependencies, note: Note) => A | Promise<A>,
): Endpoint {
  function succeeded(c: AppContext, params: P, answer: A): Response {
    const { env: context } = c;
    if (context.parts.checkAnswers) spec.response.parse(answer);
    if (spec.cached && context.known === undefined) {
      context.parts.responseCache.remember(context.request.url, { path: c.req.path, params });
    }
    const status = spec.isPlain?.(answer) ? 200 : spec.status ?? 200;
    return goodResponse(context, status, spec.cached ? cachedText(answer) : JSON.stringify(answer));
  }

  return guarded<P, Q, B>(spec, (c, input) => {
    const { env: context } = c;
    const answer = handle(input, context.parts.dependencies, (fields) => context.note(fields));
    return answer instanceof Promise
      ? answer.then((a) => succeeded(c, input.params, a))
      : succeeded(c, input.params, answer);
  });
}

/**
 * Makes a handler that lets through what may be answered: key → rate limit → scope → validation → `respond`. These are one
 * middleware and not five in Hono's chain, which makes promises of all of them; so the way of a cached read stays synchronous
 * (five that do nothing cost 1.3 µs on either runtime, where such a read takes 9 in all on Bun). What goes wrong is thrown, and rendered in `app.ts`.
 */
export function guarded<P, Q, B>(
  spec: AnySpec,
  respond: (c: AppContext, input: Input<P, Q, B>) => Response | Promise<Response>,
): Endpoint {
  // What asks whether the gateway is well is told early that it goes, so that the next request goes elsewhere. A stream would
  // not end by itself.
  const isLeftToOthers = spec.scopes.length === 0 || spec.mediaType === "text/event-stream";

  function started(context: RequestContext, c: AppContext): Response | Promise<Response> {
    const { parts } = context;
    if (parts.isStopping() || (isLeftToOthers && parts.isDraining())) {
      throw new GatewayError("unavailable", "the gateway is shutting down");
    }
    if (parts.isStoreGone() && (spec.scopes.length === 0 || isWrite(context.request))) {
      throw new GatewayError("unavailable", "the gateway has lost its store: it could not keep what it would do");
    }
    if (spec.scopes.length === 0) return handled(context, c, undefined);
    const key = authenticate(context);
    if (!(key instanceof Promise)) return admitted(context, c, key);
    return key.then((k) => standing(context, k, (known) => admitted(context, c, known)));
  }

  const isSlow = ({ begunAt }: RequestContext) => performance.now() - begunAt > SLOW_MS;

  /** Goes on with the key as it is now, when the store was slow to answer, or this process has stood still meanwhile. */
  function standing<T>(
    context: RequestContext,
    key: KeyRecord,
    goOn: (key: KeyRecord) => T | Promise<T>,
  ): T | Promise<T> {
    if (!isSlow(context)) return goOn(key);
    const now = authenticate(context);
    return now instanceof Promise ? now.then(goOn) : goOn(now);
  }

  const isWrite = ({ method }: Request) => method !== "GET" && method !== "HEAD" && !spec.scopes.includes("read");

  function admitted(context: RequestContext, c: AppContext, key: KeyRecord): Response | Promise<Response> {
    const taken = takeFromKey(context, key, spec.cost ?? 1);
    if (!(taken instanceof Promise)) return scoped(context, c, key);
    return taken.then(() => standing(context, key, (known) => scoped(context, c, known)));
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
      return isSlow(context) && key !== undefined ? confirmed(c, whole) : respond(c, whole);
    });
  }

  /** A body may take half a minute to come: the key may have been disabled meanwhile, or have lost the scope. */
  async function confirmed(c: AppContext, input: Input<P, Q, B>): Promise<Response> {
    const key = await authenticate(c.env);
    requireScope(key, spec.scopes);
    return await respond(c, { ...input, key });
  }

  const answerRequest = (c: AppContext): Response | Promise<Response> => {
    const context = c.env;
    context.meter = context.parts.meterOf(spec);
    const response = started(context, c);
    if (response instanceof Promise) context.begunAt = context.meter.begin();
    return response;
  };
  return Object.assign(answerRequest, { spec });
}

const NOTHING = Object.freeze({});

/**
 * What stands in the path for the `:names` of an endpoint, checked. Frozen: many requests may share it.
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

/** Serialises an answer once for as long as the same object is answered. */
function cachedText(answer: object): string {
  let text = cachedTexts.get(answer);
  if (text === undefined) cachedTexts.set(answer, text = JSON.stringify(answer));
  return text;
}
