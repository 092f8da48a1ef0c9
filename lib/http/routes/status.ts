import { z } from "zod";
import { type AnyRoute, route } from "../route.ts";

const ledgerRange = z.object({ epoch: z.int(), fromLedger: z.int(), toLedger: z.int() });

const statusAnswer = z.object({
  version: z.string(),
  startedAt: z.iso.datetime(),
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
  nodes: z.array(z.object({
    node: z.string().describe("Scheme and host"),
    inUse: z.boolean().describe("Whether it is the one that is asked now"),
    condition: z.enum(["well", "doubted", "failing", "lagging"])
      .describe("doubted: failed just now; failing, lagging: left alone until it has been well for a while"),
    problem: z.string().nullable(),
    lagSeconds: z.number().nullable().describe("How much older its newest ledger was than the newest of any node"),
  })).describe("The RPC nodes, in the order of the settings"),
  deliveries: z.object({
    pending: z.int().describe("Webhook deliveries that are due now or later"),
    dead: z.int().describe("Those whose attempts are used up: replay them"),
    oldestSeconds: z.int().nullable().describe("How long the oldest pending one has been owed"),
  }),
});

export type GatewayStatus = z.infer<typeof statusAnswer>;

/** How the gateway stands, for operators and dashboards. */
export function statusRoutes(status: () => Promise<GatewayStatus>): AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/v1/status",
      scope: "read",
      summary: "Ledger height and lag, held history, RPC nodes, webhook backlog, version",
      answer: statusAnswer,
      errors: [],
      handle: () => status(),
    }),
  ];
}
