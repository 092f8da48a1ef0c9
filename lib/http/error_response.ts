import { GatewayError } from "../errors.ts";
import { NAMED_CONTRACT_ERRORS } from "../escrow/contracts/errors.ts";
import { StoreError } from "../store/store.ts";

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
