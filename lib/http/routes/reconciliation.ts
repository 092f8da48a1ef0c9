import { Hono } from "hono";
import { endpoint } from "../endpoint.ts";
import { reconciliationResponse } from "../reconciliation_response.ts";
import type { AppEnv } from "../request_context.ts";

/** The books: whether the log and the contracts agree. */
export const reconciliation = new Hono<AppEnv>()
  .get(
    "/v1/reconciliation",
    endpoint({
      operationId: "getReconciliation",
      scopes: ["read"],
      summary: "The last comparison of the log with the contracts, card by card and merchant by merchant",
      description:
        "A gateway of this store compares them every SERVICE_API_RECONCILE_HOURS, and `gateway reconcile` does so at once. More held " +
        "than owed is no difference.",
      response: reconciliationResponse,
      errors: ["not_found"],
    }, (_input, { reconciliation }) => reconciliation()),
  );
