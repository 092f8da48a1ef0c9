import { GatewayError } from "../errors.ts";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import type { LogFields, LogLevel } from "../log.ts";
import { jsonResponse } from "../runtime/json_response.ts";
import { StoreError } from "../store/store.ts";
import type { RequestContext } from "./request_context.ts";
import { REQUEST_ID_HEADER } from "./middleware/request_id.ts";
import { shownPath } from "./request_target.ts";

/** A good response of an endpoint. Adds the headers, counts and logs it. */
export function goodResponse(context: RequestContext, status: number, body: string): Response {
  const response = jsonResponse(body, status, context.parts.rateHeaders.policy(context.limit), ownHeaders(context));
  answered(context, status);
  return response;
}

/** The response to a thrown error. Adds the headers, counts and logs it. */
export function failureResponse(context: RequestContext, error: unknown): Response {
  const response = errorResponse(error, responseHeaders(context), context.parts.pages);
  answered(context, response.status, error);
  return response;
}

/** A response outside the endpoints: a page, a preflight. Adds the headers, counts and logs it. */
export function plainResponse(context: RequestContext, response: Response): Response {
  const { vary, ...others } = responseHeaders(context);
  for (const [name, value] of Object.entries(others)) response.headers.set(name, value);
  if (vary !== undefined) response.headers.append("vary", vary);
  answered(context, response.status);
  return response;
}

function answered(context: RequestContext, status: number, error?: unknown): void {
  logResponse(context, status, error);
  context.meter.answered(status, context.begunAt);
}

function responseHeaders(context: RequestContext): Record<string, string> {
  return { ...context.parts.rateHeaders.policy(context.limit), ...ownHeaders(context) };
}

/**
 * Headers of every response beside the policy of the limit: state of the limit, request id, CORS, and `Connection: close`
 * while the gateway drains its connections.
 */
function ownHeaders(context: RequestContext): Record<string, string> {
  const { parts, request } = context;
  const headers = parts.rateHeaders.state(context.limit);
  headers[REQUEST_ID_HEADER] = context.requestId;
  if (parts.isDraining()) headers.connection = "close";
  if (parts.cors !== undefined) Object.assign(headers, parts.cors.headers(request));
  return headers;
}

/**
 * Logs a response: failures with their cause, refusals and writes at info, all others at debug. The log contains the path,
 * and never a query, a header or a body.
 */
function logResponse(context: RequestContext, status: number, error?: unknown): void {
  const { request, parts: { log } } = context;
  const level = levelOf(request.method, status);
  if (!log.writes(level)) return;
  log[level](status >= 500 ? "request failed" : "request", {
    requestId: context.requestId,
    method: request.method,
    path: shownPath(request),
    status,
    durationMs: context.begunAt === 0 ? 0 : Math.round((performance.now() - context.begunAt) * 10) / 10,
    key: context.key?.id,
    client: context.client,
    ...context.noted,
    ...(error === undefined ? {} : errorFields(error, status)),
  });
}

function levelOf(method: string, status: number): LogLevel {
  if (status >= 500) return status === 500 ? "error" : "warn";
  return status >= 400 || method === "POST" || method === "DELETE" ? "info" : "debug";
}

function errorFields(error: unknown, status: number): LogFields {
  if (!(error instanceof GatewayError)) return { cause: error };
  const { code, message: problem, cause } = error;
  return { code, problem, ...(status >= 500 || cause !== undefined ? { cause } : {}) };
}

const INTERNAL = "the gateway failed; its log has the details under the request id";

/**
 * The response for an error. It shows no details of an error that is no `GatewayError`.
 * @param hasPages whether this gateway serves the page to which the response links
 */
export function errorResponse(error: unknown, headers: Record<string, string>, hasPages: boolean): Response {
  const known = asGatewayError(error);
  const { code, message, contractError, transactionError, reason, retry, param, status, headers: own } = known;
  // JSON omits undefined fields. A message may quote the client, so nosniff keeps browsers from showing it as a page.
  const text = JSON.stringify({ error: { code, message, contractError, transactionError, reason, retry, param } });
  return new Response(text, {
    status,
    headers: {
      ...headers,
      ...own,
      ...(hasPages ? { link: helpLink(known) } : {}),
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Link to this error in the index of errors (RFC 8288), by its most specific name. */
function helpLink({ code, contractError, transactionError }: GatewayError): string {
  const isNamed = contractError !== undefined && (NAMED_CONTRACT_ERRORS as readonly string[]).includes(contractError);
  const name = isNamed ? contractError : transactionError ?? code;
  return `</docs/errors#${name.toLowerCase()}>; rel="help"`;
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof StoreError) {
    // Only the log shows the store's path.
    return new GatewayError(
      "unavailable",
      "the gateway's store is unavailable now; the outcome of a write is unknown",
      { cause: error },
    );
  }
  return new GatewayError("internal_error", INTERNAL, { cause: error });
}
