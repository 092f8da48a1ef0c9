import { GatewayError } from "../../errors.ts";

/**
 * Decodes XDR that a node answered.
 * @throws {GatewayError} `upstream_error` naming `what` when it can't be decoded
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
