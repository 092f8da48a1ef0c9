import { Hono } from "hono";
import { GatewayError } from "../../errors.ts";
import { hashKey, sameHash } from "../../keys/api_key.ts";
import { plainResponse } from "../response.ts";
import type { AppEnv } from "../request_context.ts";
import { bearerToken } from "../middleware/authenticate.ts";
import { takeFromAddress } from "../middleware/rate_limit.ts";

export interface MetricsSource {
  /** Token that the scraper sends as `Authorization: Bearer <token>`. */
  token: string;
  /** The metrics as text. */
  render(): Promise<string>;
  contentType: string;
}

/**
 * `/metrics`, with a token. A wrong token counts against the address, as a wrong key does. The right token has no rate limit.
 */
export function metricsPage({ token, render, contentType }: MetricsSource): Hono<AppEnv> {
  const expected = hashKey(token);
  return new Hono<AppEnv>().get("/metrics", async ({ env: context }) => {
    const presented = bearerToken(context.request.headers.get("authorization") ?? "");
    // The comparison of hashes takes constant time, so it reveals nothing of the token.
    if (presented === undefined || !sameHash(hashKey(presented), expected)) {
      takeFromAddress(context);
      throw new GatewayError(
        "unauthorized",
        "the metrics token is missing or wrong: send it in the Authorization header, as a bearer token",
        {
          headers: { "WWW-Authenticate": "Bearer" },
        },
      );
    }
    const headers = {
      "content-type": contentType,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    return plainResponse(context, new Response(await render(), { headers }));
  });
}
