import { GatewayError } from "../errors.ts";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { StoreError } from "../store/store.ts";

const INTERNAL = "something went wrong inside the gateway; its log holds the details under the request id";

/**
 * Renders an error as every endpoint answers it. What is not a `GatewayError` says nothing of itself.
 * @param hasPages whether this gateway serves the page to which the answer may link
 */
export function errorResponse(error: unknown, headers: Record<string, string>, hasPages: boolean): Response {
  const known = asGatewayError(error);
  const { code, message, contractError, transactionError, reason, retry, param, status, headers: own } = known;
  // What is undefined does not stand in the text; what a stranger sent may, so a browser must not take it for a page.
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

/** Where the index of errors tells of this one (RFC 8288), by the name that says most. */
function helpLink({ code, contractError, transactionError }: GatewayError): string {
  const isNamed = contractError !== undefined && (NAMED_CONTRACT_ERRORS as readonly string[]).includes(contractError);
  const name = isNamed ? contractError : transactionError ?? code;
  return `</docs/errors#${name.toLowerCase()}>; rel="help"`;
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof StoreError) {
    // The operator finds the store's path in the log; a stranger does not.
    return new GatewayError(
      "unavailable",
      "the gateway's store cannot be used right now; whether something was written is not known",
      { cause: error },
    );
  }
  return new GatewayError("internal_error", INTERNAL, { cause: error });
}
