import { Hono } from "hono";
import { z } from "zod";
import { checkRequest, REFUSAL_REASONS } from "../../escrow/reads/payment_check.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

/** Whether a payment would be authorised, without preparing one. */
export const payments = new Hono<AppEnv>()
  .post(
    "/v1/payments/check",
    endpoint({
      operationId: "checkPayment",
      scopes: ["read"],
      summary: "Whether the contracts would authorise a payment now",
      description: "What is called ok can be prepared. The reason is the first that applies, in the order of the " +
        "enumeration; agent_not_found also stands for an agent whose account does not exist on the network, agent_mismatch " +
        "for one that is a contract, asset_mismatch for an asset that this gateway does not deal in, insufficient_escrow for an escrow that holds " +
        "enough, but in another asset.",
      body: checkRequest,
      answer: z.union([
        z.object({ ok: z.literal(true) }).meta({ id: "PaymentWouldPass" }),
        z.object({ ok: z.literal(false), reason: z.enum(REFUSAL_REASONS) }).meta({ id: "PaymentWouldFail" }),
      ]).meta({ id: "PaymentVerdict" }),
      errors: ["upstream_error"],
    }, ({ body }, { payments }) => payments.check(body)),
  );
