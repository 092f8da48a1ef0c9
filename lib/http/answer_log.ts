import { GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { EndpointRequest } from "./endpoint.ts";

/**
 * Logs what was answered: failures of the gateway or the node with what caused them, writes, and (at debug) everything.
 * The path is logged, never a query, a header or a body.
 */
export function createAnswerLog(
  log: Log,
): (request: EndpointRequest, status: number, requestId: string, error?: unknown) => void {
  return function logAnswer({ method, path }, status, requestId, error) {
    const isWrite = method === "POST" || method === "DELETE";
    if (status < 500 && !isWrite && !log.writes("debug")) return;
    const fields = { requestId, method, path: path.slice(0, 200), status };
    if (status >= 500) {
      const own = error instanceof GatewayError
        ? { code: error.code, problem: error.message, cause: error.cause }
        : { cause: error };
      log[status === 500 ? "error" : "warn"]("request failed", { ...fields, ...own });
    } else if (isWrite) {
      log.info("request", {
        ...fields,
        ...(error instanceof GatewayError ? { code: error.code, problem: error.message } : {}),
      });
    } else {
      log.debug("request", fields);
    }
  };
}
