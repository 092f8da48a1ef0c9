import { z } from "zod";
import { type AnyRoute, route } from "../route.ts";

const ledgerRange = z.object({ epoch: z.int(), fromLedger: z.int(), toLedger: z.int() });

const statusAnswer = z.object({
  version: z.string(),
  ledger: z.object({
    sequence: z.int().describe("The newest ledger seen; 0 before the node has answered"),
    closedAt: z.iso.datetime().nullable(),
    lagSeconds: z.number().nullable().describe("How long ago it closed"),
  }),
  history: z.object({
    epoch: z.int().describe("Counts network resets"),
    ranges: z.array(ledgerRange).describe("Ledgers whose events are held"),
    gaps: z.array(ledgerRange.extend({ noticedAt: z.string() })).describe("Ledgers that could not be read"),
    undecodedEvents: z.int().describe("Events kept raw because they could not be decoded; 100 stands for 100 or more"),
  }),
  reads: z.record(z.string(), z.enum(["entries", "calls", "undecided"]))
    .describe("Where each kind of read comes from: ledger entries, or calls where the two differed"),
});

export type GatewayStatus = z.infer<typeof statusAnswer>;

/** How the gateway stands, for operators and dashboards. */
export function statusRoutes(status: () => Promise<GatewayStatus>): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/status",
      scope: "read",
      summary: "Ledger height and lag, held history, version",
      answer: statusAnswer,
      errors: [],
      handle: () => status(),
    }),
  ];
}
