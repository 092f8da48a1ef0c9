import { GatewayError } from "../errors.ts";
import type { RateLimitHeaders } from "../limits/rate_limit_headers.ts";
import { jsonResponse } from "../runtime/json_response.ts";
import type { Peer } from "../runtime/serve.ts";
import type { KeyVerdict } from "../keys/verifier.ts";
import type { Verdict } from "../limits/token_bucket.ts";
import type { KeyRecord } from "../store/store.ts";
import { presentedKey, verifiedRecord } from "./authenticate.ts";
import { errorResponse } from "./error_response.ts";
import type { AnyRoute, RouteInput } from "./route.ts";
import { checkedBody, checkedQuery, paramsCheck } from "./validation.ts";

/** One request as it reaches an endpoint. */
export interface EndpointRequest {
  raw: Request;
  peer: Peer;
  method: string;
  /** Decoded, without the query. */
  path: string;
  /** What stands in the path for the `:names` of the route, not checked yet. */
  params: Record<string, string>;
}

/** Answers the requests of one route; never throws. */
export type Endpoint = (request: EndpointRequest) => Response | Promise<Response>;

/** What every endpoint needs besides its route. */
export interface EndpointParts {
  requestId(request: Request): string;
  verifyKey(presented: string): KeyVerdict | Promise<KeyVerdict>;
  /** Takes a token of a verified key. */
  takeForKey(record: KeyRecord): Verdict;
  /** Takes a token of the caller's address: only for callers whose key fails. */
  takeForAddress(request: Request, peer: Peer): Verdict;
  /** Looks at the caller's address without taking. */
  peekAddress(request: Request, peer: Peer): Verdict;
  rateHeaders: RateLimitHeaders;
  /** Called once for every answer of an endpoint. */
  onAnswer(request: EndpointRequest, status: number, requestId: string, error?: unknown): void;
  /** What counts the answers of one route, bound to it once. */
  meter(method: string, path: string): RequestMeter;
  /** Told when a request is refused for the rate of its key or of its address. */
  onLimited(by: "key" | "address"): void;
  /** Whether the gateway is shutting down and answers nothing any more. */
  isStopping(): boolean;
  /** Whether connections are to be given up: each gets its answer, and is closed. */
  isDraining(): boolean;
  /** Development and tests: also check what is answered against the route's schema. */
  checkAnswers: boolean;
}

/**
 * Counts the answers of one route. What is answered at once, from memory, is not timed: looking at a clock twice would
 * cost more than all the counting.
 */
export interface RequestMeter {
  /** To be called as soon as a request turns out to take its time; answers when that was, for `answered`. */
  begin(): number;
  /** `begunAt`: 0 for what is answered at once. */
  answered(status: number, begunAt: number): void;
}

/**
 * The one way a request takes through an endpoint: key → rate limit → scope → validation → handler → answer.
 * It stays synchronous as long as every step is, so that a read held in memory costs no promise.
 */
export function endpoint(route: AnyRoute, parts: EndpointParts): Endpoint {
  const checkedParams = paramsCheck(route);
  const meter = parts.meter(route.method.toUpperCase(), route.path);
  const textOf = route.held ? heldTexts() : JSON.stringify;
  return function answerRequest(request) {
    const requestId = parts.requestId(request.raw);
    const call: Call = { request, route, parts, meter, checkedParams, textOf, requestId, begunAt: 0, rate: undefined };
    try {
      const answer = started(call);
      if (!(answer instanceof Promise)) return answer;
      call.begunAt = meter.begin();
      return answer.catch((error) => failed(call, error));
    } catch (error) {
      return failed(call, error);
    }
  };
}

/** One request on its way. */
interface Call {
  request: EndpointRequest;
  route: AnyRoute;
  parts: EndpointParts;
  meter: RequestMeter;
  checkedParams(request: EndpointRequest): unknown;
  /** The body of an answer. */
  textOf(answer: object): string;
  requestId: string;
  /** See `RequestMeter`. */
  begunAt: number;
  /** Of the key, or of the address where there is no valid key. */
  rate: Verdict | undefined;
}

function started(call: Call): Response | Promise<Response> {
  const { request, route, parts } = call;
  if (parts.isStopping()) {
    throw new GatewayError("unavailable", "the gateway is shutting down");
  }
  if (route.scope === null) {
    // Who asks whether the gateway is well wants to know where to send the next request: not here.
    if (parts.isDraining()) throw new GatewayError("unavailable", "the gateway is shutting down");
    call.rate = parts.peekAddress(request.raw, request.peer);
    return handled(call, undefined);
  }
  const verdict = parts.verifyKey(presentedKey(request.raw));
  return verdict instanceof Promise ? verdict.then((v) => authenticated(call, v)) : authenticated(call, verdict);
}

function authenticated(call: Call, verdict: KeyVerdict): Response | Promise<Response> {
  const record = verifiedRecord(verdict);
  call.rate = call.parts.takeForKey(record);
  if (!call.rate.allowed) {
    call.parts.onLimited("key");
    throw rateLimited(call.rate);
  }
  const scope = call.route.scope;
  if (scope !== null && !record.scopes.includes(scope)) {
    throw new GatewayError(
      "insufficient_scope",
      `this endpoint needs the scope ${scope}; the key has ${record.scopes.join(", ")}`,
    );
  }
  return handled(call, record);
}

function handled(call: Call, key: KeyRecord | undefined): Response | Promise<Response> {
  const { request, route } = call;
  const input = { params: call.checkedParams(request), query: checkedQuery(route, request), key } as RouteInput<
    unknown,
    unknown,
    unknown
  >;
  if (route.body !== undefined) {
    return checkedBody(route, request.raw)
      .then((body) => route.handle({ ...input, body }))
      .then((answer) => succeeded(call, answer));
  }
  const answer = route.handle(input);
  return answer instanceof Promise ? answer.then((a) => succeeded(call, a)) : succeeded(call, answer);
}

function succeeded(call: Call, answer: object): Response {
  const { request, route, parts, requestId } = call;
  if (parts.checkAnswers) route.answer.parse(answer);
  const status = route.isPlain?.(answer) ? 200 : route.status ?? 200;
  parts.onAnswer(request, status, requestId);
  call.meter.answered(status, call.begunAt);
  const headers = parts.rateHeaders.state(call.rate!);
  if (parts.isDraining()) headers.connection = "close";
  headers["x-request-id"] = requestId;
  return jsonResponse(call.textOf(answer), status, parts.rateHeaders.policy(call.rate!), headers);
}

/** Serialises an answer once for as long as the same object is answered. */
function heldTexts(): (answer: object) => string {
  const texts = new WeakMap<object, string>();
  return function heldText(answer) {
    let text = texts.get(answer);
    if (text === undefined) texts.set(answer, text = JSON.stringify(answer));
    return text;
  };
}

function failed(call: Call, thrown: unknown): Response {
  const { request, parts, requestId } = call;
  let error = thrown;
  if (call.rate === undefined) {
    // A caller without a valid key pays from its address, and may be told to wait instead of being answered.
    const keyFailed = error instanceof GatewayError && error.code === "unauthorized";
    call.rate = keyFailed
      ? parts.takeForAddress(request.raw, request.peer)
      : parts.peekAddress(request.raw, request.peer);
    if (keyFailed && !call.rate.allowed) {
      parts.onLimited("address");
      error = rateLimited(call.rate);
    }
  }
  const response = errorResponse(error, {
    ...answerHeaders(parts, call.rate),
    "x-request-id": requestId,
  });
  parts.onAnswer(request, response.status, requestId, error);
  call.meter.answered(response.status, call.begunAt);
  return response;
}

/**
 * How the rate limit stands, and while the gateway gives up its connections that the other side shall close this one after
 * the answer.
 */
export function answerHeaders(
  { rateHeaders, isDraining }: Pick<EndpointParts, "rateHeaders" | "isDraining">,
  rate: Verdict,
): Record<string, string> {
  return { ...rateHeaders.policy(rate), ...rateHeaders.state(rate), ...(isDraining() ? { connection: "close" } : {}) };
}

function rateLimited(rate: Verdict): GatewayError {
  return new GatewayError("rate_limited", `the rate limit of ${rate.limit} requests per minute is used up`, {
    headers: { "Retry-After": String(rate.retryAfterSeconds) },
  });
}
