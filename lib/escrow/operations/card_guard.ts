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
import type { EscrowReads } from "../reads/reads.ts";
import { balanceKey, deviceKey, instanceKey, policyKey } from "../reads/storage_keys.ts";
import { type Operation, operationKind } from "./operations.ts";

/** Where arguments of the owner's operations stand; where the contract takes no wallet, the source acts. */
const OWNERS: Partial<Record<Operation["kind"], { card: number; wallet?: number; asset?: number }>> = {
  registerAgent: { wallet: 0, card: 1, asset: 4 },
  revokeAgent: { wallet: 0, card: 1 },
  revokeDevice: { wallet: 0, card: 1 },
  fundEscrow: { asset: 0, wallet: 1, card: 2 },
  defundEscrow: { asset: 0, card: 1 },
  sweepEscrow: { asset: 0, card: 1 },
};

/** Where the asset stands in the operations that are not the owner's. */
const ASSETS: Partial<Record<Operation["kind"], number>> = { authorize: 3, claim: 0 };

/** What a call does with whose card. */
interface CardCall {
  kind: Operation["kind"];
  deviceHash: string;
  /** Who acts: any of these has to be the owner. */
  actors: string[];
  asset: string | undefined;
}

/**
 * Guards the operations that are the card owner's: the contracts do not ask who owns a card (agent_registry lets any wallet
 * register and revoke its agent), so the gateway does. It also refuses to fund a card in another asset than its policy
 * names, for the escrow keeps one balance for all assets, a policy for an asset that does not exist or is no token, and
 * whatever is in an asset that is not dealt in: that throws at once.
 */
export function createCardGuard({ contracts, assets, fundedIn, isToken, reads }: {
  contracts: ContractIds;
  assets: AssetList;
  /** The asset that a card was last funded in, undefined when that is not known. */
  fundedIn(deviceHash: string): Promise<string | undefined>;
  isToken: TokenCheck;
  reads: Pick<EscrowReads, "card" | "ways">;
}): (call: CallInEnvelope) => CallGuard | undefined {
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;

  /** The card, by these entries of it where the contracts' storage may be believed. */
  async function cardNow(
    deviceHash: string,
    [device, policy, balance]: (RawLedgerEntry | undefined)[],
  ): Promise<{ owner?: string; policy?: AgentPolicy; balance: bigint }> {
    // The first read of a card compares storage with functions: nobody is let through on a storage that is misread.
    const read = reads.ways().device === "entries" ? undefined : await reads.card(deviceHash);
    if (read !== undefined && reads.ways().device === "calls") {
      return { owner: read.value.device?.owner, policy: read.value.policy, balance: read.value.balance };
    }
    return {
      owner: device && entryValue(device.xdr, asDeviceInfo).owner,
      policy: policy && entryValue(policy.xdr, asAgentPolicy),
      balance: balance === undefined ? 0n : entryValue(balance.xdr, asI128),
    };
  }

  function guardOf({ kind, deviceHash, actors, asset }: CardCall, param: CallInEnvelope["param"]): CallGuard {
    const looksForAsset = kind === "registerAgent" && asset !== undefined;
    return {
      keys: [
        deviceKey(deviceRegistry, deviceHash),
        policyKey(agentRegistry, deviceHash),
        balanceKey(paymentEscrow, deviceHash),
        ...(looksForAsset ? [instanceKey(asset)] : []),
      ],
      async check(entries) {
        const { owner, policy, balance } = await cardNow(deviceHash, entries);
        if (owner !== undefined && !actors.includes(owner)) throw notTheOwner(deviceHash, owner, actors, param);
        if (kind === "fundEscrow" && policy !== undefined && asset !== policy.asset) {
          throw wrongAsset(param, `${policy.asset}, the asset that the policy of card ${deviceHash} names`, asset!);
        }
        if (!looksForAsset) return;
        if (entries[3] === undefined) throw wrongAsset(param, "a contract that is there on this network", asset);
        if (!await isToken(asset, entries[3])) {
          throw wrongAsset(param, "a token, which says how many decimals() it has", asset);
        }
        const funded = balance === 0n ? undefined : await fundedIn(deviceHash);
        if (funded !== undefined && funded !== asset) {
          throw wrongAsset(param, `${funded}, of which the card's escrow holds ${balance}: sweep it first`, asset);
        }
      },
    };
  }

  return function cardGuard(call) {
    const kind = operationKind(contracts, call.call);
    if (kind === undefined) return undefined;
    const owners = OWNERS[kind];
    const asset = owners?.asset ?? ASSETS[kind];
    if (asset !== undefined) {
      const given = argument(call, contracts, asset, asAddress);
      assets.require(given, call.param === "source" ? "operation.asset" : call.param);
    }
    return owners && guardOf(cardCall(kind, owners, call, contracts), call.param);
  };
}

function cardCall(
  kind: Operation["kind"],
  at: { card: number; wallet?: number; asset?: number },
  call: CallInEnvelope,
  contracts: ContractIds,
): CardCall {
  const read = <T>(place: number, decode: Decode<T>) => argument(call, contracts, place, decode);
  return {
    kind,
    deviceHash: read(at.card, asHash),
    actors: at.wallet === undefined ? call.authorisers : [read(at.wallet, asAddress)],
    asset: at.asset === undefined ? undefined : read(at.asset, asAddress),
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
      ? `cannot be the owner of card ${deviceHash}, which is the contract ${owner}; ${got}`
      : `must ${param === "source" ? "be" : "act for"} ${owner}, the registered owner of card ${deviceHash}; ${got}`,
    param,
  );
}

function wrongAsset(param: CallInEnvelope["param"], be: string, got: string): GatewayError {
  return param === "source"
    ? refused(`must be ${be}; got ${got}`, "operation.asset")
    : refused(`must name as asset ${be}; got ${got}`, param);
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request", `${param} ${message}`, { param });
}
