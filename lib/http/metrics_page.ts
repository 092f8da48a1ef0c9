import { GatewayError } from "../errors.ts";
import { hashKey, sameHash } from "../keys/api_key.ts";
import type { EndpointParts, EndpointRequest } from "./endpoint.ts";

export interface MetricsPage {
  /** What a scraper has to send as `Authorization: Bearer <token>`. */
  token: string;
  /** The metrics as text. */
  render(): Promise<string>;
  contentType: string;
}

/**
 * Answers the metrics to who knows the token. A wrong one costs its address a token of the limit that wrong keys share;
 * the right one is never refused.
 */
export function answerMetrics(
  { token, render, contentType }: MetricsPage,
  parts: Pick<EndpointParts, "takeForAddress" | "onLimited">,
): (request: EndpointRequest) => Promise<Response> {
  const expected = hashKey(token);
  return async function answerScrape({ raw, peer }) {
    const presented = /^bearer +(\S+) *$/i.exec(raw.headers.get("authorization") ?? "")?.[1];
    // Hashes of one length, compared to their end: the time does not tell how much of the token was right.
    if (presented === undefined || !sameHash(hashKey(presented), expected)) {
      const rate = parts.takeForAddress(raw, peer);
      if (rate.allowed) {
        throw new GatewayError("unauthorized", "the metrics need their token: send Authorization: Bearer <token>", {
          headers: { "WWW-Authenticate": "Bearer" },
        });
      }
      parts.onLimited("address");
      throw new GatewayError("rate_limited", "too many requests with a wrong token", {
        headers: { "Retry-After": String(rate.retryAfterSeconds) },
      });
    }
    return new Response(await render(), { headers: { "content-type": contentType, "cache-control": "no-store" } });
  };
}
