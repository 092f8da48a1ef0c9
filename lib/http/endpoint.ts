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
  handle: (input: Input<P, Q, B>, services: Dependencies, note: Note) => A | Promise<A>,
): Endpoint {
  function succeeded(c: AppContext, params: P, answer: A): Response {
    const { env: exchange } = c;
    if (exchange.parts.checkAnswers) spec.answer.parse(answer);
    if (spec.cached && exchange.known === undefined) {
      exchange.parts.responseCache.remember(exchange.request.url, { path: c.req.path, params });
    }
    const status = spec.isPlain?.(answer) ? 200 : spec.status ?? 200;
    return goodResponse(exchange, status, spec.cached ? cachedText(answer) : JSON.stringify(answer));
  }

  return guarded<P, Q, B>(spec, (c, input) => {
    const { env: exchange } = c;
    const answer = handle(input, exchange.parts.services, (fields) => exchange.note(fields));
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

  function started(exchange: RequestContext, c: AppContext): Response | Promise<Response> {
    const { parts } = exchange;
    if (parts.isStopping() || (isLeftToOthers && parts.isDraining())) {
      throw new GatewayError("unavailable", "the gateway is shutting down");
    }
    if (parts.isStoreGone() && (spec.scopes.length === 0 || isWrite(exchange.request))) {
      throw new GatewayError("unavailable", "the gateway has lost its store: it could not keep what it would do");
    }
    if (spec.scopes.length === 0) return handled(exchange, c, undefined);
    const key = authenticate(exchange);
    if (!(key instanceof Promise)) return admitted(exchange, c, key);
    return key.then((k) => standing(exchange, k, (known) => admitted(exchange, c, known)));
  }

  const isSlow = ({ begunAt }: RequestContext) => performance.now() - begunAt > SLOW_MS;

  /** Goes on with the key as it is now, when the store was slow to answer, or this process has stood still meanwhile. */
  function standing<T>(
    exchange: RequestContext,
    key: KeyRecord,
    goOn: (key: KeyRecord) => T | Promise<T>,
  ): T | Promise<T> {
    if (!isSlow(exchange)) return goOn(key);
    const now = authenticate(exchange);
    return now instanceof Promise ? now.then(goOn) : goOn(now);
  }

  const isWrite = ({ method }: Request) => method !== "GET" && method !== "HEAD" && !spec.scopes.includes("read");

  function admitted(exchange: RequestContext, c: AppContext, key: KeyRecord): Response | Promise<Response> {
    const taken = takeFromKey(exchange, key, spec.cost ?? 1);
    if (!(taken instanceof Promise)) return scoped(exchange, c, key);
    return taken.then(() => standing(exchange, key, (known) => scoped(exchange, c, known)));
  }

  function scoped(exchange: RequestContext, c: AppContext, key: KeyRecord): Response | Promise<Response> {
    requireScope(key, spec.scopes);
    return handled(exchange, c, key);
  }

  function handled(exchange: RequestContext, c: AppContext, key: KeyRecord | undefined): Response | Promise<Response> {
    const params = checkedParams(spec, c) as P;
    const query = checkedQuery(spec, exchange) as Q;
    const idempotencyKey = spec.idempotent ? checkedIdempotencyKey(exchange.request) : undefined;
    const signal = () => exchange.request.signal;
    const input = { params, query, body: undefined, idempotencyKey, key, signal } as Input<P, Q, B>;
    const body = checkedBody(spec, exchange);
    if (body === undefined) return respond(c, input);
    return body.then((b) => {
      const whole = { ...input, body: b as B };
      return isSlow(exchange) && key !== undefined ? confirmed(c, whole) : respond(c, whole);
    });
  }

  /** A body may take half a minute to come: the key may have been disabled meanwhile, or have lost the scope. */
  async function confirmed(c: AppContext, input: Input<P, Q, B>): Promise<Response> {
    const key = await authenticate(c.env);
    requireScope(key, spec.scopes);
    return await respond(c, { ...input, key });
  }

  const answerRequest = (c: AppContext): Response | Promise<Response> => {
    const exchange = c.env;
    exchange.meter = exchange.parts.meterOf(spec);
    const response = started(exchange, c);
    if (response instanceof Promise) exchange.begunAt = exchange.meter.begin();
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
