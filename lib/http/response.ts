import { GatewayError } from "../errors.ts";
import type { LogFields, LogLevel } from "../log.ts";
import { jsonResponse } from "../runtime/json_response.ts";
import { errorResponse } from "./error_response.ts";
import type { RequestContext } from "./request_context.ts";
import { REQUEST_ID_HEADER } from "./middleware/request_id.ts";
import { shownPath } from "./request_target.ts";

/** The good answer of an endpoint: with its headers, counted and logged. */
export function goodResponse(context: RequestContext, status: number, body: string): Response {
  const response = jsonResponse(body, status, context.parts.rateHeaders.policy(context.limit), ownHeaders(context));
  answered(context, status);
  return response;
}

/** The answer to whatever was thrown on the way: with its headers, counted and logged. */
export function failureResponse(context: RequestContext, error: unknown): Response {
  const response = errorResponse(error, answerHeaders(context), context.parts.pages);
  answered(context, response.status, error);
  return response;
}

/** An answer that is no endpoint's: a page, a preflight. With its headers, counted and logged. */
export function plainResponse(context: RequestContext, response: Response): Response {
  const { vary, ...others } = answerHeaders(context);
  for (const [name, value] of Object.entries(others)) response.headers.set(name, value);
  if (vary !== undefined) response.headers.append("vary", vary);
  answered(context, response.status);
  return response;
}

function answered(context: RequestContext, status: number, error?: unknown): void {
  logAnswer(context, status, error);
  context.meter.answered(status, context.begunAt);
}

function answerHeaders(context: RequestContext): Record<string, string> {
  return { ...context.parts.rateHeaders.policy(context.limit), ...ownHeaders(context) };
}

/**
 * What stands on every answer beside the limit: what is left of it, the request's id, what CORS wants, and while the
 * gateway gives up its connections that the other side shall close this one.
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
 * Logs what was answered: failures of the gateway or the node with what caused them; refusals and writes at info; the
 * rest at debug. The path is logged, never a query, a header or a body.
 */
function logAnswer(context: RequestContext, status: number, error?: unknown): void {
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
    ...(error === undefined ? {} : whyOf(error, status)),
  });
}

function levelOf(method: string, status: number): LogLevel {
  if (status >= 500) return status === 500 ? "error" : "warn";
  return status >= 400 || method === "POST" || method === "DELETE" ? "info" : "debug";
}

function whyOf(error: unknown, status: number): LogFields {
  if (!(error instanceof GatewayError)) return { cause: error };
  const { code, message: problem, cause } = error;
  return { code, problem, ...(status >= 500 || cause !== undefined ? { cause } : {}) };
}
