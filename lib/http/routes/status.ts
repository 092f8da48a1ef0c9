import { Hono } from "hono";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { statusResponse } from "../status_response.ts";

/** Condition of the gateway, for operators and dashboards. */
export const status = new Hono<AppEnv>()
  .get(
    "/v1/status",
    endpoint({
      operationId: "getStatus",
      scopes: ["read"],
      summary: "Ledger and lag, stored history, contracts, RPC nodes, webhook backlog, version",
      response: statusResponse,
      errors: [],
    }, (_input, { status }) => status()),
  );
