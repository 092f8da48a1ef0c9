import { z } from "zod";
import { BYPASS_REASONS } from "../escrow/assets/bypass_movements.ts";
import { CONTRACTS } from "../escrow/contracts/errors.ts";
import { UNKNOWN_REASONS } from "../escrow/assets/solvency.ts";
import { EVENT_TYPES } from "../escrow/events.ts";
import { EXAMPLE } from "../escrow/example_values.ts";
import { address, amountAnswer, contractId, deviceHash, unixSeconds } from "../escrow/values.ts";
import { GAP_REASONS } from "../store/watcher_state.ts";
import { anyEventId, count, flag, isoTime, ledgerSequence, text } from "./response_fields.ts";

const ourContract = (name: string, example: string) =>
  contractId.meta({ description: `Contract id (C…) of the ${name}.`, example: example });

/** Response of `GET /v1/network`. */
export const networkResponse = z.object({
  rpcUrl: text(
    "URL of a healthy RPC node of this network, without the secret parts of the URL.",
    "https://rpc.example.com",
  ),
  networkPassphrase: text(
    "Passphrase of the network, which every signature covers.",
    "Standalone Sandbox Network ; 2026",
  ),
  contracts: z.object({
    deviceRegistry: ourContract("device registry", EXAMPLE.deviceRegistry),
    agentRegistry: ourContract("agent registry", EXAMPLE.agentRegistry),
    paymentEscrow: ourContract("payment escrow", EXAMPLE.paymentEscrow),
  }).meta({ description: "The contracts that this gateway serves." }),
  assets: z.array(contractId).nullable().meta({
    description: "Contract ids of the assets that this gateway accepts. Null means every asset.",
    example: [EXAMPLE.asset],
  }),
}).meta({ id: "Network", description: "The network and the contracts behind this gateway." });

export type NetworkResponse = z.infer<typeof networkResponse>;

const ledgerRange = z.object({
  epoch: count("Number of network resets before these ledgers.", 0),
  fromLedger: ledgerSequence("First ledger of the range."),
  toLedger: ledgerSequence("Last ledger of the range, inclusive.", 1200),
});

/** Response of `GET /v1/status`. */
export const statusResponse = z.object({
  version: text("Version of the gateway.", "0.1.0"),
  startedAt: isoTime("Start of this process, UTC."),
  troubles: z.array(z.string()).meta({
    description:
      "Present problems of the store's file, its disk and the event history, one sentence each; empty without problems.",
    example: [],
  }),
  ledger: z.object({
    sequence: count("Sequence of the latest ledger; 0 before the node's first answer.", 1200),
    closedAt: isoTime("Close time of the latest ledger, UTC; null before the node's first answer.").nullable(),
    lagSeconds: z.number().nullable().meta({
      description: "Seconds since the latest ledger closed; null before the node's first answer.",
      example: 3.2,
    }),
    clockDisagreesBySeconds: z.number().nullable().meta({
      description:
        "Seconds by which the network's time is ahead of this machine's clock. Null means that both agree within a minute.",
      example: null,
    }),
  }).meta({ description: "The latest ledger that this gateway knows." }),
  history: z.object({
    epoch: count("Number of network resets that the gateway has seen.", 0),
    ranges: z.array(ledgerRange).meta({ description: "Ledgers whose events the gateway stores." }),
    gaps: z.array(ledgerRange.extend({
      contractIds: z.array(z.string()).meta({
        description: "Contracts (C…) whose events may be missing.",
        example: [EXAMPLE.paymentEscrow],
      }),
      detectedAt: isoTime("Time at which the gateway found the gap, UTC."),
      reason: z.enum(GAP_REASONS).meta({
        description:
          "`pruned` means that no node held the ledgers, and `contract` that the gateway did not watch the contract. " +
          "`reset` means that the network was reset. With `start` the gateway is reading them, behind the newest ledgers.",
        example: "pruned",
      }),
    })).meta({
      description: "Ledgers that the gateway has not read, with their contracts; it reads them when a node holds them.",
    }),
    undecodedEvents: count(
      "Events that the gateway stores raw because it cannot decode them; 100 means 100 or more.",
      0,
    ),
    unknownSince: isoTime(
      "Time since which the gateway does not know the network's events, UTC, because it cannot read or store them; null " +
        "while it follows the network, at most two minutes behind.",
    ).nullable(),
  }).meta({ description: "The stored event history." }),
  contracts: z.array(z.object({
    contract: z.enum(CONTRACTS).meta({ description: "Name of the contract.", example: "payment_escrow" }),
    id: ourContract("contract, from the settings", EXAMPLE.paymentEscrow),
    problem: z.string().nullable().meta({
      description:
        "The contract or the error that the gateway found instead of the expected contract; null without a problem.",
      example: null,
    }),
    checkedAt: isoTime("Time of the last check, UTC; null before the first check.").nullable(),
  })).meta({ description: "Whether the contract ids of the settings lead to the expected contracts." }),
  expiring: z.object({
    payments: count("Pending payments in the last quarter of their life.", 2),
    merchants: count("Merchants that have to claim these payments.", 1),
    firstAt: unixSeconds.nullable().meta({
      description: "Time at which the first of these payments expires, in Unix seconds; null without such payments.",
    }),
    complete: flag("False: there may be more, because there are a thousand, or the gateway still reads the log.", true),
  }).meta({ description: "Payments that expire soon, and are lost to the merchant unless it claims them." }),
  expired: z.object({
    payments: count(
      "Payments of this gateway's API keys that ended unclaimed in the last seven days and are not acknowledged.",
      0,
    ),
    others: count("Payments of other submitters that ended unclaimed in the last seven days. Anyone can make them.", 0),
    last: z.object({
      id: anyEventId("Id of the payment: that of its `payment.authorized` event."),
      merchant: address.meta({
        description: "Merchant: an account (G…) or a contract (C…).",
        example: EXAMPLE.merchant,
      }),
      deviceHash,
      amount: text("Amount in the asset's smallest unit: a decimal string.", "40000000"),
      asset: contractId.nullable().meta({
        description: "Contract id (C…) of the asset; null when the gateway could not read it.",
      }),
      txHash: text("Hash of the transaction that authorised the payment.", EXAMPLE.txHash),
      expiredAt: isoTime("Close time of the first ledger without the payment, UTC."),
    }).nullable().meta({ description: "The newest of the payments of this gateway's keys; null without any." }),
  }).meta({ description: "Payments whose merchants did not claim them in time, and lost them." }),
  bypassMovements: z.object({
    count: count(
      "Movements among the newest 5000 events at the start, and since; the gateway logs one warning for each asset.",
      0,
    ),
    last: z.object({
      eventId: anyEventId("Id of the event."),
      type: z.enum(EVENT_TYPES).meta({ description: "Type of the event.", example: "escrow.funded" }),
      ledger: ledgerSequence("Ledger of the event."),
      asset: contractId,
      because: z.enum(BYPASS_REASONS).meta({
        description:
          "`not_listed`: SERVICE_API_ASSETS does not list the asset. `not_the_policys`: the owner funded a card in " +
          "another asset than its policy names. `not_what_was_funded`: the owner funded a card in another asset than its " +
          "escrow held, or a movement took more of an asset than the escrow held of it. `not_what_was_authorized`: a merchant " +
          "claimed another asset than the agent authorised.",
        example: "not_listed",
      }),
    }).nullable().meta({ description: "The newest of these movements; null without any." }),
  }).meta({
    description:
      "Movements in an asset that the gateway would have refused: the escrow keeps one balance for all assets.",
  }),
  solvency: z.object({
    ledger: ledgerSequence("Ledger of the comparison."),
    unknownBecause: z.enum(UNKNOWN_REASONS).nullable().meta({
      description:
        "Why `owed` is null; null while it is known. `gap`: the history has a gap. `begins_later`: the history begins after " +
        "the contract, or retention deleted its beginning. `asset_unknown`: the log does not know in which asset the escrow " +
        "paid out.",
      example: null,
    }),
    assets: z.array(z.object({
      asset: contractId,
      held: amountAnswer.nullable().meta({
        description: "The contract's balance, in the smallest unit; null when the token does not answer.",
      }),
      owed: amountAnswer.nullable().meta({
        description: "Cards' escrow and pending payments by the log, expired ones included; null while unknown.",
      }),
      missing: amountAnswer.nullable().meta({
        description: "By how much `held` is below `owed`; null while one of them is unknown.",
        example: "0",
      }),
      frozen: flag("Whether the issuer has frozen the contract's balance, so that claims and defunds fail.", false),
    })).meta({ description: "The accepted assets; without SERVICE_API_ASSETS the first 50 assets of the log." }),
  }).nullable().meta({
    description:
      "The amounts that the escrow holds and owes, compared after movements and every ten minutes; null before that.",
  }),
  reads: z.record(z.string(), z.enum(["entries", "calls", "not_compared"])).meta({
    description:
      "How the gateway answers each kind of read. `entries`: from ledger entries, which agree with the contracts' " +
      "functions. `calls`: by the contracts' functions, because the entries disagreed. `gateway doctor` reports details. " +
      "`not_compared`: from ledger entries, and no read was comparable yet.",
    example: { device: "entries" },
  }),
  nodes: z.array(z.object({
    node: text("Scheme and host of the node.", "https://rpc.example.com"),
    inUse: flag("Whether the gateway calls this node now.", true),
    condition: z.enum(["well", "doubted", "failing", "lagging"]).meta({
      description:
        "`doubted`: the node failed just now. `failing` and `lagging`: the gateway avoids the node until it has been well for a " +
        "while.",
      example: "well",
    }),
    problem: z.string().nullable().meta({
      description: "The node's last problem, for people; null without a problem.",
      example: null,
    }),
    lagSeconds: z.number().nullable().meta({
      description:
        "Seconds by which this node's latest ledger is older than the latest ledger of all nodes; null while unknown.",
      example: 0,
    }),
  })).meta({ description: "The RPC nodes, in the order of the settings." }),
  deliveries: z.object({
    pending: count("Webhook deliveries that wait in the log or for a retry.", 3),
    atLeast: flag("True: there are more, because the gateway counts at most 10000 for each webhook.", false),
    retrying: count("Pending deliveries that failed and wait for a retry.", 1),
    rejected: count("Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again.", 0),
    dead: count(
      "Deliveries without further retries, and undelivered events past retention; a replay sends them again.",
      0,
    ),
    failingWebhooks: count("Webhooks whose endpoint fails, without those of disabled keys.", 0),
    oldestSeconds: z.int().nullable().meta({
      description: "Age of the oldest pending delivery in seconds, without those of disabled keys; null without any.",
      example: 2,
    }),
  }).meta({ description: "Webhook deliveries of all keys." }),
}).meta({ id: "Status", description: "Condition of the gateway, for operators and dashboards." });

export type GatewayStatus = z.infer<typeof statusResponse>;
