import { type Config, settingTitle } from "../../lib/config.ts";
import { assetId } from "../../lib/escrow/assets/asset_id.ts";
import { createAssetList } from "../../lib/escrow/assets/asset_list.ts";
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

/** Whether it is said which assets are dealt in, and whether they exist. */
export async function assetsFinding(
  { config, rpc }: { config: Config; rpc: Pick<RpcClient, "getLedgerEntries"> },
): Promise<Finding> {
  const { assets: names, networkPassphrase } = config;
  if (names === undefined) {
    return warn(
      "assets",
      `${
        settingTitle("assets")
      } is not set: every asset is taken, and the escrow keeps one balance for all of them, so that ` +
        "a worthless one can be paid in and another paid out",
      "set it to what you deal in, such as native or USDC:G…; docs/security.md says more",
    );
  }
  const keys = names.map((name) => instanceKey(assetId(name, networkPassphrase)!));
  const { entries } = await rpc.getLedgerEntries(keys);
  const missing = names.filter((_, at) => !entries.some(({ key }) => key === keys[at]));
  if (missing.length === 0) return ok("assets", `${names.join(", ")}: others are refused`);
  return fail(
    "assets",
    `${missing.join(", ")} has no contract on this network`,
    "correct it, or deploy the asset's contract (stellar contract asset deploy)",
  );
}

/** Movements in assets that they should not be in, as the newest events of the store's log have them. */
export async function movementsFinding(
  { config, store }: { config: Config; store: Store | undefined },
): Promise<Finding> {
  if (store === undefined) return skip("movements", "there is no log to look at yet");
  const assets = createAssetList(config.assets, config.networkPassphrase);
  const contractIds = [config.deviceRegistry, config.agentRegistry, config.paymentEscrow];
  const movements = createBypassMovements({ log: store.events, contractIds, assets, onForeign: () => {} });
  await movements.look();
  const { count, last } = movements.found();
  const looked = `of those in the newest ${FIRST_LOOK_EVENTS} events`;
  if (last === undefined) return ok("movements", `none ${looked} is in an asset that it should not be in`);
  const { id, type, asset } = last.event;
  return warn(
    "movements",
    `${count} in an asset that they should not be in, ${looked}; the last is ${type} ${id} in ${asset} (${last.because})`,
    "somebody may have paid in one asset and taken out another: docs/security.md says what to look at",
  );
}

/** What the contracts leave open, which the gateway guards as far as it can (docs/security.md). */
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
      "the owner; docs/security.md says what is guarded meanwhile",
  );
}
