import { GatewayError } from "../errors.ts";
import type { KeyRefusal, KeyVerdict } from "../keys/verifier.ts";
import type { KeyRecord } from "../store/store.ts";

const REASONS: Record<KeyRefusal, string> = {
  malformed: "the API key is malformed",
  checksum: "the API key is mistyped: its checksum is wrong",
  unknown: "the API key is unknown",
  disabled: "the API key is disabled",
  expired: "the API key has expired",
};

/**
 * The key a request presents, from `Authorization: Bearer …` (the scheme in any case) or `X-API-Key`.
 * @throws {GatewayError} `unauthorized` when there is none, or two that differ.
 */
export function presentedKey(request: Request): string {
  const authorization = request.headers.get("authorization");
  const apiKey = request.headers.get("x-api-key");
  if (authorization === null) {
    if (apiKey === null) {
      throw unauthorized("an API key is required: send Authorization: Bearer <key> or X-API-Key: <key>");
    }
    return apiKey;
  }
  const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (bearer === undefined) throw unauthorized("Authorization must be: Bearer <key>");
  if (apiKey !== null && apiKey !== bearer) throw unauthorized("Authorization and X-API-Key carry two different keys");
  return bearer;
}

/** The record of a verified key. @throws {GatewayError} `unauthorized`, saying why. */
export function verifiedRecord(verdict: KeyVerdict): KeyRecord {
  if ("record" in verdict) return verdict.record;
  throw unauthorized(REASONS[verdict.reason]);
}

function unauthorized(message: string): GatewayError {
  return new GatewayError("unauthorized", message, { headers: { "WWW-Authenticate": "Bearer" } });
}
