import { Hono } from "hono";
import { plainAnswer } from "../answer.ts";
import type { AppEnv } from "../exchange.ts";
import { recognize } from "../middleware/authenticate.ts";
import { openApiDocument } from "../openapi.ts";

/** For what browsers are served: it is what it says it is, loads nothing, and is in nobody's frame. */
export const PAGE_HEADERS = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

/** `/openapi.json`: no key, no token, nothing of the deployment. */
export function openApiPage(nouns: readonly Hono<AppEnv>[], version: string): Hono<AppEnv> {
  const document = JSON.stringify(openApiDocument(nouns, version));
  return new Hono<AppEnv>().get("/openapi.json", async ({ env: exchange }) => {
    await recognize(exchange);
    const headers = { ...PAGE_HEADERS, "content-type": "application/json" };
    return plainAnswer(exchange, new Response(document, { headers }));
  });
}
