import { GatewayError } from "../../errors.ts";
import type { LogFields, LogLevel } from "../../log.ts";
import type { Exchange } from "../exchange.ts";
import { shownPath } from "../request_target.ts";

/**
 * Logs what was answered: failures of the gateway or the node with what caused them; refusals and writes at info; the
 * rest at debug. The path is logged, never a query, a header or a body.
 */
export function logAnswer(exchange: Exchange, status: number, error?: unknown): void {
  const { request, parts: { log } } = exchange;
  const level = levelOf(request.method, status);
  if (!log.writes(level)) return;
  log[level](status >= 500 ? "request failed" : "request", {
    requestId: exchange.requestId,
    method: request.method,
    path: shownPath(request),
    status,
    durationMs: exchange.begunAt === 0 ? 0 : Math.round((performance.now() - exchange.begunAt) * 10) / 10,
    key: exchange.key?.id,
    client: exchange.client,
    ...exchange.noted,
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
