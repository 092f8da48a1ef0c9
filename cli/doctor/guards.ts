import type { Config } from "../../lib/config.ts";
import { isOpenToStrangers } from "../../lib/escrow/contracts/owner_probe.ts";
import { GatewayError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { createLedgerView } from "../../lib/stellar/ledger/ledger_view.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { createContractCalls } from "../../lib/stellar/transactions/contract_call.ts";
import { type Finding, ok, skip, warn } from "./findings.ts";

/** What the contracts leave open, which the gateway guards as far as it can (docs/guards.md). */
export async function ownersFinding(
  { config, rpc, clock }: { config: Config; rpc: RpcClient; clock: Clock },
): Promise<Finding> {
  const { networkPassphrase, deviceRegistry, agentRegistry, paymentEscrow } = config;
  const calls = createContractCalls({ rpc, view: createLedgerView({ clock }), clock, networkPassphrase });
  const contracts = { deviceRegistry, agentRegistry, paymentEscrow };
  const random = crypto.getRandomValues(new Uint8Array(32));
  const unknownCard = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    if (!await isOpenToStrangers({ calls, contracts, unknownCard })) {
      return ok("card owners", "the agent registry asks who owns a card");
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return skip("card owners", error.message);
  }
  return warn(
    "card owners",
    "the agent registry asks nobody who owns a card: whoever calls it past the gateway may revoke a card's agent, " +
      "register himself and spend the card's escrow; this gateway refuses that, the contracts do not",
    "whoever deploys the contracts can mend it: register_agent and revoke_agent have to ask the device registry for " +
      "the owner; docs/guards.md says what is guarded meanwhile",
  );
}
