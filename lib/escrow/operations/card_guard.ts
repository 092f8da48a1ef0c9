import { GatewayError } from "../../errors.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { CallGuard, CallInEnvelope } from "../../stellar/transactions/call_guard.ts";
import { CONTRACT_INTERFACES } from "../contracts/interfaces.ts";
import { type ContractIds, contractName } from "../contracts/errors.ts";
import type { AssetList } from "../assets/asset_list.ts";
import type { TokenCheck } from "../assets/token_check.ts";
import {
  type AgentPolicy,
  asAddress,
  asAgentPolicy,
  asDeviceInfo,
  asHash,
  asI128,
  type Decode,
  entryValue,
} from "../decode.ts";
import type { EscrowLog } from "../assets/escrow_log.ts";
import type { EscrowReads } from "../reads/reads.ts";
import { balanceKey, deviceKey, instanceKey, policyKey } from "../reads/storage_keys.ts";
import { guardAssets, guardPayment, refusal } from "./asset_guard.ts";
import { claimGuard } from "./claim_guard.ts";
import { type Operation, operationKind } from "./operations.ts";

/** Positions of the arguments. */
interface Places {
  card: number;
  /** The acting wallet; absent when the source acts. */
  wallet?: number;
  asset?: number;
  amount?: number;
}

/** The operations that only the card's owner may do. */
const OWNERS: Partial<Record<Operation["kind"], Places>> = {
  registerAgent: { wallet: 0, card: 1, asset: 4 },
  revokeAgent: { wallet: 0, card: 1 },
  revokeDevice: { wallet: 0, card: 1 },
  fundEscrow: { asset: 0, wallet: 1, card: 2 },
  defundEscrow: { asset: 0, card: 1, amount: 2 },
  sweepEscrow: { asset: 0, card: 1 },
};

const PAYMENT = { card: 1, asset: 3, amount: 4 };
const CLAIM = { asset: 0, merchant: 1 };

/** A call on a card, decoded. */
interface CardCall {
  kind: Operation["kind"];
  deviceHash: string;
  /** The acting wallets, one of which must be the owner. */
  actors: string[];
  asset: string | undefined;
  amount: bigint | undefined;
}

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
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;

  /** The card, from these entries, or by calls where the storage and the functions of the contracts differ. */
  async function cardNow(
    deviceHash: string,
    [device, policy, balance]: (RawLedgerEntry | undefined)[],
  ): Promise<{ owner?: string; policy?: AgentPolicy; balance: bigint; changedIn?: number }> {
    // After an upgrade this first compares storage and functions, so no call passes by a misread storage.
    if (await reads.wayOfCards(deviceHash) === "calls") {
      const { value } = await reads.card(deviceHash);
      return { owner: value.device?.owner, policy: value.policy, balance: value.balance };
    }
    return {
      owner: device && entryValue(device.xdr, asDeviceInfo).owner,
      policy: policy && entryValue(policy.xdr, asAgentPolicy),
      balance: balance === undefined ? 0n : entryValue(balance.xdr, asI128),
      changedIn: balance?.lastModifiedLedgerSeq,
    };
  }

  function guardOf({ kind, deviceHash, actors, asset, amount }: CardCall, param: CallInEnvelope["param"]): CallGuard {
    const namesPolicy = kind === "registerAgent" && asset !== undefined;
    return {
      keys: [
        deviceKey(deviceRegistry, deviceHash),
        policyKey(agentRegistry, deviceHash),
        balanceKey(paymentEscrow, deviceHash),
        ...(namesPolicy ? [instanceKey(asset)] : []),
        // The instances that `wayOfCards` needs: read with the other entries, they cost no call of their own.
        ...Object.values(contracts).map(instanceKey),
      ],
      async check(entries) {
        const { owner, policy, balance, changedIn } = await cardNow(deviceHash, entries);
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
        await guardAssets(log, { kind, deviceHash, asset, amount, param }, { balance, changedIn });
      },
    };
  }

  function guardOfPayment(call: CallInEnvelope): CallGuard {
    const read = <T>(place: number, decode: Decode<T>) => argument(call, contracts, place, decode);
    const [deviceHash, asset] = [read(PAYMENT.card, asHash), read(PAYMENT.asset, asAddress)];
    const payment = { kind: "authorize", deviceHash, asset, amount: read(PAYMENT.amount, asI128) } as const;
    const card = async () => (await reads.card(deviceHash)).value;
    return { keys: [], check: () => guardPayment(log, { ...payment, param: call.param }, card) };
  }

  return function cardGuard(call) {
    const kind = operationKind(contracts, call.call);
    if (kind === undefined) return undefined;
    const owners = OWNERS[kind];
    const place = kind === "authorize" ? PAYMENT.asset : kind === "claim" ? CLAIM.asset : owners?.asset;
    const asset = place === undefined ? undefined : argument(call, contracts, place, asAddress);
    if (asset !== undefined) assets.require(asset, call.param === "source" ? "operation.asset" : call.param);
    if (kind === "authorize") return guardOfPayment(call);
    if (kind === "claim") {
      const merchant = argument(call, contracts, CLAIM.merchant, asAddress);
      return claimGuard({ merchant, asset: asset!, param: call.param }, { log, reads, paymentEscrow });
    }
    return owners && guardOf(cardCall(kind, owners, call, contracts), call.param);
  };
}

function cardCall(kind: Operation["kind"], at: Places, call: CallInEnvelope, contracts: ContractIds): CardCall {
  const read = <T>(place: number, decode: Decode<T>) => argument(call, contracts, place, decode);
  return {
    kind,
    deviceHash: read(at.card, asHash),
    actors: at.wallet === undefined ? call.authorisers : [read(at.wallet, asAddress)],
    asset: at.asset === undefined ? undefined : read(at.asset, asAddress),
    amount: at.amount === undefined ? undefined : read(at.amount, asI128),
  };
}

/** @throws {GatewayError} `invalid_request` for arguments that are not the function's */
function argument<T>({ call, param }: CallInEnvelope, contracts: ContractIds, place: number, decode: Decode<T>): T {
  const { args, contract, function: name } = call;
  try {
    return decode(args[place]!);
  } catch {
    const { functions } = CONTRACT_INTERFACES[contractName(contracts, contract)!];
    throw refused(`must call ${name} with ${functions[name]!.split(" ->")[0]}, got other arguments`, param);
  }
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
