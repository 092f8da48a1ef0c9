import { Hono } from "hono";
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { networkAnswer } from "../status_answer.ts";

const ALIVE = { ok: true } as const;

/**
 * Whether this process answers (no key, no token, nothing upstream), and which network and contracts it stands in front of:
 * the same answer is the same object.
 */
export const network = new Hono<AppEnv>()
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
  )
  .get(
    "/v1/network",
    endpoint({
      operationId: "getNetwork",
      scopes: ["read"],
      summary: "The network and the contracts behind this gateway",
      answer: networkAnswer,
      cached: true,
      errors: [],
    }, (_input, { network }) => network()),
  );
