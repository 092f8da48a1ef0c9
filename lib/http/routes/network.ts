import { Hono } from "hono";
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { networkResponse } from "../status_response.ts";

const ALIVE = { ok: true } as const;

/** Health of this process, without a key or a call to the node, and the network with its contracts. */
export const network = new Hono<AppEnv>()
  .get(
    "/v1/health",
    endpoint({
      operationId: "getHealth",
      scopes: [],
      summary: "Whether the gateway is alive",
      response: z.object({ ok: z.literal(true).meta({ description: "Always true." }) })
        .meta({ id: "Health", description: "The gateway is alive." }),
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
      response: networkResponse,
      cached: true,
      errors: [],
    }, (_input, { network }) => network()),
  );
