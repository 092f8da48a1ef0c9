import { GatewayError } from "../../errors.ts";

/** Header with which a client names an operation that must happen once (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

/** Form of a key, in OpenAPI too: 1 to 255 visible ASCII characters. The gateway does not change them. */
export const IDEMPOTENCY_KEY_PATTERN = "^[!-~]{1,255}$";

/** Names that other services use. If the gateway ignored them, a client would pay twice after a retry. */
const WRONG_NAMES = ["X-Idempotency-Key", "Idempotency-Token", "X-Idempotency-Token", "Idempotent-Key"];

const PATTERN = new RegExp(IDEMPOTENCY_KEY_PATTERN);

/**
 * The `Idempotency-Key` of a request, undefined without one.
 * @throws {GatewayError} `invalid_request` for a malformed key, or a key in another header
 */
export function checkedIdempotencyKey(request: Request): string | undefined {
  const key = request.headers.get(IDEMPOTENCY_KEY);
  const wrong = WRONG_NAMES.find((name) => request.headers.has(name));
  if (wrong !== undefined) {
    throw new GatewayError("invalid_request", `${wrong} is not supported: send ${IDEMPOTENCY_KEY} instead`, {
      param: wrong,
    });
  }
  if (key === null || PATTERN.test(key)) return key ?? undefined;
  const got = key.length > 255 ? `${key.length} characters` : JSON.stringify(key);
  throw new GatewayError("invalid_request", `${IDEMPOTENCY_KEY} must be 1 to 255 visible characters, got ${got}`, {
    param: IDEMPOTENCY_KEY,
  });
}
