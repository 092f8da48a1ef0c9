import { z } from "zod";
import { BYPASS_REASONS } from "../escrow/assets/bypass_movements.ts";
import { CONTRACTS } from "../escrow/contracts/errors.ts";
import { EVENT_TYPES } from "../escrow/events.ts";
import { contractId, unixSeconds } from "../escrow/values.ts";

/** Answer of `GET /v1/network`. */
export const networkAnswer = z.object({
  rpcUrl: z.string().describe("An RPC node of this network that is well, without what is secret in its URL"),
  networkPassphrase: z.string(),
  contracts: z.object({ deviceRegistry: contractId, agentRegistry: contractId, paymentEscrow: contractId }),
  assets: z.array(contractId).nullable().describe(
    "The contracts of the assets that are dealt in; null: none is refused",
  ),
}).meta({ id: "Network" });

export type NetworkAnswer = z.infer<typeof networkAnswer>;

const ledgerRange = z.object({ epoch: z.int(), fromLedger: z.int(), toLedger: z.int() });

/** Answer of `GET /v1/status`. */
export const statusAnswer = z.object({
  version: z.string(),
  startedAt: z.iso.datetime(),
  troubles: z.array(z.string()).describe("What is wrong with the store's file or its disk at this moment"),
  ledger: z.object({
    sequence: z.int().describe("The newest ledger seen; 0 before the node has answered"),
    closedAt: z.iso.datetime().nullable(),
    lagSeconds: z.number().nullable().describe("How long ago it closed"),
    clockDisagreesBySeconds: z.number().nullable().describe(
      "By how much the network's time is ahead of this machine's clock; null when they agree within a minute",
    ),
  }),
  history: z.object({
    epoch: z.int().describe("Counts network resets"),
    ranges: z.array(ledgerRange).describe("Ledgers whose events are held"),
    gaps: z.array(ledgerRange.extend({ contractIds: z.array(z.string()), detectedAt: z.string() }))
      .describe("Ledgers that could not be read, of which contracts; they are asked for again now and then"),
    undecodedEvents: z.int().describe("Events kept raw because they could not be decoded; 100 stands for 100 or more"),
  }),
  contracts: z.array(z.object({
    contract: z.enum(CONTRACTS),
    id: contractId,
    problem: z.string().nullable().describe(
      "What is there instead of the contract expected; null when nothing is wrong",
    ),
    checkedAt: z.iso.datetime().nullable().describe("When it was last looked at; null: not yet"),
  })).describe("Whether the contract ids of the settings lead to the contracts expected"),
  expiring: z.object({
    payments: z.int().describe("Pending payments in the last quarter of their life, as of a minute ago at most"),
    merchants: z.int().describe("How many merchants have to claim them"),
    firstAt: unixSeconds.nullable().describe("When the first of them expires, Unix seconds"),
    complete: z.boolean().describe(
      "False: there may be more. The log is still being gone through after a start, there are more merchants than are " +
        "asked at once (100 a minute), or the node does not tell their payments",
    ),
  }).nullable().describe("What merchants have to claim before it is lost to them; null when it can't be told now"),
  bypassMovements: z.object({
    count: z.int().describe(
      "Of the newest 5000 events at the start, and since; each asset is warned of once in the log",
    ),
    last: z.object({
      eventId: z.string(),
      type: z.enum(EVENT_TYPES),
      ledger: z.int(),
      asset: contractId,
      because: z.enum(BYPASS_REASONS).describe(
        "not_listed: the asset is none of SERVICE_API_ASSETS. not_the_policys: a card was funded in another asset than its " +
          "policy names. not_what_was_funded: a card was funded in another asset than its escrow held, or more of an asset " +
          "was paid, or paid out, than was there of it. " +
          "not_what_was_authorized: a merchant claimed another asset than the payments were authorised in",
      ),
    }).nullable(),
  }).describe("Movements in an asset that they should not be in: the escrow keeps one balance for all assets"),
  reads: z.record(z.string(), z.enum(["entries", "calls", "not_compared"])).describe(
    "How each kind of read is answered. entries: from ledger entries, the fast way, which was found to agree with the " +
      "contracts' functions. calls: by the contracts' functions, because the entries said something else. not_compared: " +
      "from ledger entries too, but nothing has been read yet that could be compared. Nothing needs to be done but for " +
      "calls: gateway doctor says more",
  ),
  nodes: z.array(z.object({
    node: z.string().describe("Scheme and host"),
    inUse: z.boolean().describe("Whether it is the one that is asked now"),
    condition: z.enum(["well", "doubted", "failing", "lagging"])
      .describe("doubted: failed just now; failing, lagging: left alone until it has been well for a while"),
    problem: z.string().nullable(),
    lagSeconds: z.number().nullable().describe("How much older its newest ledger was than the newest of any node"),
  })).describe("The RPC nodes, in the order of the settings"),
  deliveries: z.object({
    pending: z.int().describe("Webhook deliveries that wait in the log or are to be tried again"),
    atLeast: z.boolean().describe("There are more: of one webhook no more than 10000 are counted"),
    retrying: z.int().describe("Of them, those that failed and are to be tried again"),
    rejected: z.int().describe("Those that an answer (4xx and the like) ended: replay them"),
    dead: z.int().describe("Those given up, and events forgotten undelivered: replay them"),
    failingWebhooks: z.int().describe("Webhooks whose endpoint fails, without those of disabled keys"),
    oldestSeconds: z.int().nullable().describe(
      "How long the oldest one has been owed, tried already or not, without those of disabled keys",
    ),
  }),
}).meta({ id: "Status" });

export type GatewayStatus = z.infer<typeof statusAnswer>;
