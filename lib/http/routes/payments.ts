import { z } from "zod";
import { checkRequest, type PaymentChecker, REFUSAL_REASONS } from "../../escrow/reads/payment_check.ts";
import { type AnyRoute, route } from "../route.ts";

/** Whether a payment would be authorised, without preparing one. */
export function paymentRoutes(payments: PaymentChecker): AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/v1/payments/check",
      scope: "read",
      summary: "Whether the contracts would authorise a payment now",
      description: "The reason is the first that applies, in the order of the enumeration.",
      body: checkRequest,
      answer: z.union([
        z.object({ ok: z.literal(true) }),
        z.object({ ok: z.literal(false), reason: z.enum(REFUSAL_REASONS) }),
      ]),
      errors: ["upstream_error"],
      handle: ({ body }) => payments.check(body),
    }),
  ];
}
