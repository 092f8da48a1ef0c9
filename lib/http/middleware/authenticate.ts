import { GatewayError } from "../../errors.ts";
import type { KeyRefusal } from "../../keys/verifier.ts";
import type { KeyRecord, Scope } from "../../store/store.ts";
import { after, type RequestContext } from "../request_context.ts";
import { takeFromAddress } from "./rate_limit.ts";

const REASONS: Record<KeyRefusal, string> = {
  malformed: "the API key is malformed",
  checksum: "the API key is mistyped: its checksum is wrong",
  unknown: "the API key is unknown",
  disabled: "the API key is disabled",
  expired: "the API key has expired",
};

/**
 * The key of a request; synchronous when the key is cached.
 * @throws {GatewayError} `unauthorized` with the reason, or `rate_limited` when the caller's address has failed too often
 */
export function authenticate(context: RequestContext): KeyRecord | Promise<KeyRecord> {
  const presented = presentedKey(context.request);
  if (typeof presented !== "string") return refuse(context, presented.problem);
  return after(context.parts.verifier.verify(presented), (verdict) => {
    if ("reason" in verdict) return refuse(context, REASONS[verdict.reason]);
    context.key = verdict.record;
    return verdict.record;
  });
}

function refuse(context: RequestContext, message: string): never {
  takeFromAddress(context);
  throw new GatewayError("unauthorized", message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** @throws {GatewayError} `insufficient_scope` when the key has none of these scopes */
export function requireScope(key: KeyRecord, scopes: readonly Scope[]): void {
  if (scopes.some((scope) => key.scopes.includes(scope))) return;
  throw new GatewayError(
    "insufficient_scope",
    `the key must have the scope ${scopes.join(" or ")}; it has ${key.scopes.join(", ")}`,
  );
}

/**
 * Verifies the key of a request that needs none, so that the response shows the limit of a valid key. A valid key loses no
 * token. A wrong key costs its address one token, and is not verified when the address has no token left.
 */
export async function recognize(context: RequestContext): Promise<void> {
  const { parts, request } = context;
  const presented = presentedKey(request);
  if (typeof presented !== "string" || !context.limit.allowed) return;
  const verdict = await parts.verifier.verify(presented);
  if ("reason" in verdict) {
    context.rate = parts.addresses.take(context.client);
  } else {
    context.key = verdict.record;
    context.rate = parts.limiter.peek(verdict.record.id, verdict.record.rate);
  }
}

/**
 * The key in a request, from `Authorization: Bearer …` (the scheme in any case) or `X-API-Key`. With `X-API-Key` another
 * scheme in `Authorization` is ignored: a proxy may use it.
 */
export function presentedKey({ headers }: Request): string | { problem: string } {
  const authorization = headers.get("authorization");
  const apiKey = headers.get("x-api-key");
  if (authorization === null) {
    return apiKey ??
      { problem: "an API key is required: send it in the header Authorization (Bearer <key>) or X-API-Key" };
  }
  const bearer = bearerToken(authorization);
  if (bearer === undefined) {
    if (apiKey !== null && !/^bearer\b/i.test(authorization)) return apiKey;
    return { problem: "Authorization must be Bearer <key>" };
  }
  if (apiKey !== null && apiKey !== bearer) return { problem: "Authorization and X-API-Key must have the same key" };
  return bearer;
}

/** The token of `Authorization: Bearer <token>` (RFC 6750 §2.1, the scheme in any case). */
export function bearerToken(authorization: string): string | undefined {
  // The usual form, at a tenth of the cost.
  if (authorization.startsWith("Bearer ") && !authorization.includes(" ", 7)) {
    return authorization.slice(7) || undefined;
  }
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}
