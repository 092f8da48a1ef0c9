import { Hono } from "hono";
import { GatewayError } from "../../errors.ts";
import { hashKey, sameHash } from "../../keys/api_key.ts";
import { plainResponse } from "../response.ts";
import type { AppEnv } from "../request_context.ts";
import { bearerToken } from "../middleware/authenticate.ts";
import { takeFromAddress } from "../middleware/rate_limit.ts";

export interface MetricsSource {
  /** What a scraper has to send as `Authorization: Bearer <token>`. */
  token: string;
  /** The metrics as text. */
  render(): Promise<string>;
  contentType: string;
}

/**
 * `/metrics`, for who knows the token. A wrong one costs its address a token of the limit that wrong keys share; the
 * right one is never refused.
 */
export function metricsPage({ token, render, contentType }: MetricsSource): Hono<AppEnv> {
  const expected = hashKey(token);
  return new Hono<AppEnv>().get("/metrics", async ({ env: context }) => {
    const presented = bearerToken(context.request.headers.get("authorization") ?? "");
    // Hashes of one length, compared to their end: the time does not tell how much of the token was right.
    if (presented === undefined || !sameHash(hashKey(presented), expected)) {
      takeFromAddress(context);
      throw new GatewayError("unauthorized", "the metrics need their token: send Authorization: Bearer <token>", {
        headers: { "WWW-Authenticate": "Bearer" },
      });
    }
    const headers = {
      "content-type": contentType,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    return plainResponse(context, new Response(await render(), { headers }));
  });
}
