import { GatewayError } from "../../errors.ts";

/** The header by which a caller names what it means to happen once (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

/** What it may be, as OpenAPI says it too: 1 to 255 visible ASCII characters, taken as they are. */
export const IDEMPOTENCY_KEY_PATTERN = "^[!-~]{1,255}$";

/** Names of other services. A client that sends one of them would pay twice after a retry. */
const WRONG_NAMES = ["X-Idempotency-Key", "Idempotency-Token", "X-Idempotency-Token", "Idempotent-Key"];

const PATTERN = new RegExp(IDEMPOTENCY_KEY_PATTERN);

/**
 * The `Idempotency-Key` of a request, undefined when it has none.
 * @throws {GatewayError} `invalid_request` for one that is none
 */
export function checkedIdempotencyKey(request: Request): string | undefined {
  const key = request.headers.get(IDEMPOTENCY_KEY);
  const wrong = WRONG_NAMES.find((name) => request.headers.has(name));
  if (wrong !== undefined) {
    throw new GatewayError("invalid_request", `${wrong} is not read: send ${IDEMPOTENCY_KEY}`, { param: wrong });
  }
  if (key === null || PATTERN.test(key)) return key ?? undefined;
  const got = key.length > 255 ? `${key.length} characters` : JSON.stringify(key);
  throw new GatewayError("invalid_request", `${IDEMPOTENCY_KEY} must be 1 to 255 visible characters, got ${got}`, {
    param: IDEMPOTENCY_KEY,
  });
}
