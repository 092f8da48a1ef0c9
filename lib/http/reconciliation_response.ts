import { z } from "zod";
import { CAUSES, SUBJECTS } from "../escrow/books/differences.ts";
import { MOST_STORED } from "../escrow/books/last_reconciliation.ts";
import { EXAMPLE } from "../escrow/example_values.ts";
import { address, contractId, deviceHash } from "../escrow/values.ts";
import { count, flag, isoTime, ledgerSequence, text } from "./response_fields.ts";

const difference = z.object({
  kind: z.enum(SUBJECTS).meta({
    description:
      "`card`: the balance of a card. `merchant`: the pending payments of a merchant. `escrow`: what the escrow contract holds of " +
      "an asset, which is less than it owes.",
    example: "card",
  }),
  deviceHash: deviceHash.nullable().meta({ description: "The card; null for other kinds." }),
  merchant: address.nullable().meta({
    description: "The merchant, an account (G…) or a contract (C…); null for other kinds.",
    example: EXAMPLE.merchant,
  }),
  asset: contractId.nullable().meta({
    description: "Contract id (C…) of the asset; null when it is not known, or when it is more than one.",
  }),
  log: text(
    "Amount by the log, in the asset's smallest unit. Negative: more of the asset was taken out than was put in.",
    "-40000000",
  ),
  chain: text("Amount in the contract, in the asset's smallest unit.", "0"),
  cause: z.enum(CAUSES).meta({
    description:
      "`bypass`: a movement past the gateway was in another asset than was put in or authorised. `clawback`: the asset's issuer can " +
      "take back what the contract holds. `gap`: the history has a gap, or begins after the contract. `unknown`: none of these.",
    example: "bypass",
  }),
}).meta({ id: "Difference", description: "A difference between the log and the contracts." });

/** Response of `GET /v1/reconciliation`. */
export const reconciliationResponse = z.object({
  ok: flag("True: the log and the contracts agree.", false),
  fromLedger: ledgerSequence("The log begins at this ledger.", 1),
  toLedger: ledgerSequence("The log and the contracts were compared up to this ledger.", 1200),
  checkedAt: isoTime("When the reconciliation ended, UTC."),
  count: count("Number of all differences.", 1),
  more: flag(`True: there are more differences than the ${MOST_STORED} that are stored.`, false),
  differences: z.array(difference).meta({ description: `The differences, at most ${MOST_STORED}.` }),
}).meta({ id: "Reconciliation", description: "The last comparison of the log with the contracts." });

export type ReconciliationResponse = z.infer<typeof reconciliationResponse>;
