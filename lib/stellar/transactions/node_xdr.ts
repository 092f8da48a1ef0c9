import { GatewayError } from "../../errors.ts";

/**
 * Decodes XDR of a node's answer.
 * @throws {GatewayError} `upstream_error` naming `what` when it is not valid
 */
export function nodeXdr<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("upstream_error", `the RPC node answered nonsense: ${what} is not what it should be`, {
      cause,
    });
  }
}
