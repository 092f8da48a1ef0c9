import { Hono } from "hono";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../request_context.ts";
import { statusAnswer } from "../status_answer.ts";

/** How the gateway stands, for operators and dashboards. */
export const status = new Hono<AppEnv>()
  .get(
    "/v1/status",
    endpoint({
      operationId: "getStatus",
      scopes: ["read"],
      summary: "Ledger height and lag, held history, contracts, RPC nodes, webhook backlog, version",
      answer: statusAnswer,
      errors: [],
    }, (_input, { status }) => status()),
  );
