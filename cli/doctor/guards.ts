import { type Config, settingTitle } from "../../lib/config.ts";
import { assetId, createAssetList } from "../../lib/escrow/assets/asset_list.ts";
import { createBypassMovements, FIRST_LOOK_EVENTS } from "../../lib/escrow/assets/bypass_movements.ts";
import { isOpenToStrangers } from "../../lib/escrow/contracts/owner_probe.ts";
import { instanceKey } from "../../lib/escrow/reads/storage_keys.ts";
import type { Store } from "../../lib/store/store.ts";
import { GatewayError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Head } from "../../lib/stellar/head.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { createContractCalls } from "../../lib/stellar/transactions/contract_call.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

/** Checks that the settings name assets, and that these exist. */
export async function assetsFinding(
  { config, rpc }: { config: Config; rpc: Pick<RpcClient, "getLedgerEntries"> },
): Promise<Finding> {
  const { assets: names, networkPassphrase } = config;
  if (names === undefined) {
    return warn(
      "assets",
      `${
        settingTitle("assets")
      } is not set, so the gateway accepts every asset. The escrow has one balance for all of them: a card can pay in a ` +
        "worthless asset and pay out another",
      "set it to your assets, such as native or USDC:G…, and see docs/security.md",
    );
  }
  const keys = names.map((name) => instanceKey(assetId(name, networkPassphrase)!));
  const { entries } = await rpc.getLedgerEntries(keys);
  const missing = names.filter((_, at) => !entries.some(({ key }) => key === keys[at]));
  if (missing.length === 0) return ok("assets", `the gateway accepts only ${names.join(", ")}`);
  return fail(
    "assets",
    `${missing.join(", ")} has no contract on this network`,
    "correct the setting, or deploy the asset's contract (stellar contract asset deploy)",
  );
}

/** Looks for movements in the wrong asset among the newest events of the log. */
export async function movementsFinding(
  { config, store }: { config: Config; store: Store | undefined },
): Promise<Finding> {
  if (store === undefined) return skip("movements", "there is no log yet");
  const assets = createAssetList(config.assets, config.networkPassphrase);
  const contractIds = [config.deviceRegistry, config.agentRegistry, config.paymentEscrow];
  const movements = createBypassMovements({ log: store.events, contractIds, assets, onBypass: () => {} });
  await movements.look();
  const { count, last } = movements.found();
  const scope = `among the newest ${FIRST_LOOK_EVENTS} events`;
  if (last === undefined) return ok("movements", `none in a wrong asset ${scope}`);
  const { id, type, asset } = last.event;
  return warn(
    "movements",
    `${count} in a wrong asset ${scope}; the last is ${type} ${id} in ${asset} (${last.because})`,
    "an agent may have paid in one asset and taken out another: see docs/security.md",
  );
}

/** Checks whether the agent registry lets strangers act for a card's owner (docs/security.md). */
export async function ownersFinding(
  { config, rpc, head, clock }: { config: Config; rpc: RpcClient; head: Head; clock: Clock },
): Promise<Finding> {
  const { networkPassphrase, deviceRegistry, agentRegistry, paymentEscrow } = config;
  const calls = createContractCalls({ rpc, head, clock, networkPassphrase });
  const contracts = { deviceRegistry, agentRegistry, paymentEscrow };
  const random = crypto.getRandomValues(new Uint8Array(32));
  const unknownCard = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    if (!await isOpenToStrangers({ calls, contracts, unknownCard })) {
      return ok("card owners", "the agent registry checks who owns a card");
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return skip("card owners", error.message);
  }
  return warn(
    "card owners",
    "the agent registry does not check who owns a card. A caller that bypasses the gateway can replace a card's agent " +
      "and spend its escrow; this gateway refuses that",
    "deploy an agent registry whose register_agent and revoke_agent ask the device registry for the owner; see " +
      "docs/security.md",
  );
}
