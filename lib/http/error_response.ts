import { GatewayError } from "../errors.ts";
import { StoreError } from "../store/store.ts";

const INTERNAL = "something went wrong inside the gateway; its log holds the details under the request id";

/** Renders an error as every endpoint answers it. What is not a `GatewayError` says nothing of itself. */
export function errorResponse(error: unknown, headers: Record<string, string>): Response {
  const { code, message, contractError, transactionError, reason, retry, param, status, headers: own } = asGatewayError(
    error,
  );
  // What is undefined does not stand in the text; what a stranger sent may, so a browser must not take it for a page.
  const text = JSON.stringify({ error: { code, message, contractError, transactionError, reason, retry, param } });
  return new Response(text, {
    status,
    headers: { ...headers, ...own, "content-type": "application/json", "x-content-type-options": "nosniff" },
  });
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof StoreError) {
    // The operator finds the store's path in the log; a stranger does not.
    return new GatewayError("unavailable", "the gateway's store cannot be used right now; nothing was written", {
      headers: { "Retry-After": "1" },
      cause: error,
    });
  }
  return new GatewayError("internal_error", INTERNAL, { cause: error });
}
