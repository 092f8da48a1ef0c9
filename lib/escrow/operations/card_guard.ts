import { GatewayError } from "../../errors.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { CallGuard, CallInEnvelope } from "../../stellar/transactions/contract_call.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { argumentTypes, functionOf } from "../contracts/interfaces.ts";
import type { AssetList } from "../assets/asset_list.ts";
import type { TokenCheck } from "../reads/asset_info.ts";
import type { EscrowLog } from "../assets/escrow_log.ts";
import type { EscrowReads } from "../reads/reads.ts";
import type { Card } from "../reads/read_source.ts";
import { cardKeys, cardOf } from "../reads/reads_by_entries.ts";
import { instanceKey } from "../reads/storage_keys.ts";
import { type CardCall, guardAssets, guardPayment, refusal } from "./asset_guard.ts";
import { claimGuard } from "./claim_guard.ts";
import { callArguments, operationKind } from "./operations.ts";

/**
 * Guards the owner's operations, because the contracts do not check the owner: agent_registry lets any wallet register and
 * revoke a card's agent. The guard also refuses:
 * - to fund an unregistered card, or a card in another asset than its policy names (the escrow has one balance for all);
 * - a policy for an asset that does not exist or is no token;
 * - every call in an asset that the gateway does not accept: this throws at once, before any read.
 *
 * `asset_guard.ts` and `claim_guard.ts` guard the assets in the escrow.
 */
export function createCardGuard({ contracts, assets, log, isToken, reads }: {
  contracts: ContractIds;
  assets: AssetList;
  log: EscrowLog;
  isToken: TokenCheck;
  reads: Pick<EscrowReads, "card" | "pending" | "wayOfCards">;
}): (call: CallInEnvelope) => CallGuard | undefined {
  /** The card, from these entries, or by calls where the storage and the functions of the contracts differ. */
  async function cardNow(
    deviceHash: string,
    entries: (RawLedgerEntry | undefined)[],
  ): Promise<Card & { changedIn?: number }> {
    // After an upgrade this first compares storage and functions, so no call passes by a misread storage.
    if (await reads.wayOfCards(deviceHash) === "calls") return (await reads.card(deviceHash)).value;
    return { ...cardOf(entries), changedIn: entries[2]?.lastModifiedLedgerSeq };
  }

  function guardOfOwner({ authorisers, param }: CallInEnvelope, card: CardCall): CallGuard {
    const { kind, deviceHash, source, asset } = card;
    const actors = source === undefined ? authorisers : [source];
    const namesPolicy = kind === "registerAgent" && asset !== undefined;
    return {
      keys: [
        ...cardKeys(contracts, deviceHash),
        ...(namesPolicy ? [instanceKey(asset)] : []),
        // The instances that `wayOfCards` needs: read with the other entries, they cost no call of their own.
        ...Object.values(contracts).map(instanceKey),
      ],
      async check(entries) {
        const { device, policy, balance, changedIn } = await cardNow(deviceHash, entries);
        const owner = device?.owner;
        if (owner !== undefined && !actors.includes(owner)) throw notTheOwner(deviceHash, owner, actors, param);
        if (owner === undefined && kind === "fundEscrow") throw notRegistered(deviceHash, param);
        if (asset === undefined) return;
        if (kind === "fundEscrow" && policy !== undefined && asset !== policy.asset) {
          throw refusal(
            param,
            "asset",
            `${policy.asset}, the asset that the policy of card ${deviceHash} names`,
            asset,
          );
        }
        if (namesPolicy && entries[3] === undefined) {
          throw refusal(param, "asset", "a contract that exists on this network", asset);
        }
        if (namesPolicy && !await isToken(asset, entries[3]!)) {
          throw refusal(param, "asset", "a token, a contract with decimals()", asset);
        }
        await guardAssets(log, { ...card, asset }, { balance, changedIn });
      },
    };
  }

  return function cardGuard(inEnvelope) {
    const { call, param } = inEnvelope;
    const kind = operationKind(contracts, call);
    if (kind === undefined) return undefined;
    const values = callArguments(contracts, call);
    if (values === undefined) {
      const types = argumentTypes(functionOf(kind));
      throw refused(`must call ${call.function} with ${types}, got other arguments`, param);
    }
    const { asset, source, deviceHash } = values;
    if (asset !== undefined) assets.require(asset, param === "source" ? "operation.asset" : param);
    if (kind === "registerDevice") return undefined;
    if (kind === "claim") {
      return claimGuard({ merchant: source!, asset: asset!, param }, { ...contracts, log, reads });
    }
    const card = { ...values, kind, deviceHash: deviceHash!, param };
    if (kind !== "authorize") return guardOfOwner(inEnvelope, card);
    const check = () =>
      guardPayment(log, { ...card, asset: asset! }, async () => (await reads.card(card.deviceHash)).value);
    return { keys: [], check };
  };
}

function notTheOwner(deviceHash: string, owner: string, actors: string[], param: CallInEnvelope["param"]) {
  const got = `got ${actors[0]}`;
  return refused(
    !owner.startsWith("G") && param === "source"
      ? `cannot act for the owner of card ${deviceHash}, the contract ${owner}; ${got}`
      : `must ${param === "source" ? "be" : "act for"} ${owner}, the registered owner of card ${deviceHash}; ${got}`,
    param,
  );
}

/** Older contracts accept this call, so the gateway refuses it as the newest contract does. */
function notRegistered(deviceHash: string, param: CallInEnvelope["param"]): GatewayError {
  return new GatewayError(
    "contract_refused",
    `payment_escrow.fund_escrow refused: card ${deviceHash} is not registered (DeviceNotRegistered). Register it first, else ` +
      "any wallet can register it and take the money out",
    { contractError: "DeviceNotRegistered", param: param === "source" ? "operation.deviceHash" : param },
  );
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request", `${param} ${message}`, { param });
}
