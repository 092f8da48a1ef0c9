import { Hono } from "hono";
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

const ALIVE = { ok: true } as const;

/** Whether this process answers: no key, no token, nothing upstream. */
export const health = new Hono<AppEnv>()
  .get(
    "/v1/health",
    endpoint({
      operationId: "getHealth",
      scopes: [],
      summary: "Whether the gateway is alive",
      answer: z.object({ ok: z.literal(true) }).meta({ id: "Health" }),
      cached: true,
      ignoresQuery: true,
      errors: [],
    }, () => ALIVE),
  );
