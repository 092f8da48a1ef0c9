import { z } from "zod";
import { type AnyRoute, route } from "../route.ts";

const ALIVE = { ok: true } as const;

/** Whether this process answers: no key, no token, nothing upstream. */
export function healthRoutes(): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/health",
      scope: null,
      summary: "Whether the gateway is alive",
      answer: z.object({ ok: z.literal(true) }),
      held: true,
      errors: [],
      handle: () => ALIVE,
    }),
  ];
}
