import { AuthClawbackEnabledFlag, AuthRevocableFlag, xdr } from "@stellar/stellar-sdk/base";
import { type Config, settingTitle } from "../../lib/config.ts";
import { assetBalance, builtInAsset } from "../../lib/escrow/assets/asset_contract.ts";
import { assetId } from "../../lib/escrow/assets/asset_list.ts";
import { isTrouble, lastSolvency } from "../../lib/escrow/assets/solvency.ts";
import { assetBalanceKey, instanceKey } from "../../lib/escrow/reads/storage_keys.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { accountKey } from "../../lib/stellar/transactions/prepare.ts";
import type { Store } from "../../lib/store/store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

/** Reports the gateway's last comparison of what the escrow holds and owes. */
export async function solvencyFinding(
  { config: { paymentEscrow }, store }: { config: Config; store: Store | undefined },
): Promise<Finding> {
  const last = await (store && lastSolvency(store.sharedState, paymentEscrow));
  if (last === undefined) return skip("escrow's money", "no gateway on this store has compared it yet");
  const { ledger, unknownBecause, assets } = last;
  const troubles = assets.filter(isTrouble).map(({ asset, held, owed, frozen }) => {
    const state = frozen ? "frozen by its issuer, " : "";
    return `${asset}: ${state}holds ${held ?? "an unknown amount"}, owes ${owed ?? "an unknown amount"}`;
  });
  if (troubles.length > 0) {
    return fail(
      "escrow's money",
      `${troubles.join("; ")} (ledger ${ledger})`,
      "claims and defunds may fail: ask the asset's issuer, and see docs/assets.md",
    );
  }
  if (unknownBecause === null) return ok("escrow's money", `as of ledger ${ledger} it covers what the escrow owes`);
  return skip("escrow's money", `what the escrow owes is not known (${unknownBecause}): see docs/assets.md`);
}

/** Names the accepted assets whose issuers can freeze what the escrow holds, or claw it back. */
export async function issuersFinding(
  { config, rpc }: { config: Config; rpc: Pick<RpcClient, "getLedgerEntries"> },
): Promise<Finding> {
  const { assets: names, networkPassphrase, paymentEscrow } = config;
  if (names === undefined) return skip("asset issuers", `${settingTitle("assets")} is not set`);
  async function entryOf(key: string) {
    const { entries } = await rpc.getLedgerEntries([key]);
    return entries[0];
  }
  const powers = await Promise.all(names.map(async (name) => {
    const asset = assetId(name, networkPassphrase)!;
    const instance = await entryOf(instanceKey(asset));
    const issuer = instance && builtInAsset(instance)?.getIssuer();
    if (issuer === undefined) return [];
    const flags = flagsOf((await entryOf(accountKey(issuer)))?.xdr);
    const balance = assetBalance(await entryOf(assetBalanceKey(asset, paymentEscrow)));
    // The issuer can take back only what it issued under the flag.
    const canClawBack = balance?.clawback ?? (flags & AuthClawbackEnabledFlag) !== 0;
    const can = [...(canClawBack ? ["claw back"] : []), ...(flags & AuthRevocableFlag ? ["freeze"] : [])];
    return can.length === 0 ? [] : [`${name}: its issuer can ${can.join(" and ")} what the escrow holds`];
  }));
  if (powers.flat().length === 0) return ok("asset issuers", "no issuer can freeze or claw back what the escrow holds");
  return warn("asset issuers", powers.flat().join("; "), "keep the asset only if you trust its issuer");
}

/** The flags in an account's entry; 0 without one. */
function flagsOf(entryXdr: string | undefined): number {
  const data = entryXdr === undefined ? undefined : xdr.LedgerEntryData.fromXdr(entryXdr, "base64");
  return data?.type === "account" ? data.account.flags : 0;
}
