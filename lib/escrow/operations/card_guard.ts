import { GatewayError } from "../../errors.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { CallGuard, CallInEnvelope } from "../../stellar/transactions/call_guard.ts";
import { CONTRACT_INTERFACES } from "../contracts/interfaces.ts";
import { type ContractIds, contractName } from "../contracts/errors.ts";
import { type AgentPolicy, asAddress, asAgentPolicy, asDeviceInfo, asHash, entryValue } from "../decode.ts";
import type { EscrowReads } from "../reads/reads.ts";
import { deviceKey, instanceKey, policyKey } from "../reads/storage_keys.ts";
import { type Operation, operationKind } from "./operations.ts";

/** Where the arguments of an operation on a card stand; where the contract takes no wallet, the source acts. */
const ARGUMENTS: Partial<Record<Operation["kind"], { card: number; wallet?: number; asset?: number }>> = {
  registerAgent: { wallet: 0, card: 1, asset: 4 },
  revokeAgent: { wallet: 0, card: 1 },
  revokeDevice: { wallet: 0, card: 1 },
  fundEscrow: { asset: 0, wallet: 1, card: 2 },
  defundEscrow: { asset: 0, card: 1 },
  sweepEscrow: { asset: 0, card: 1 },
};

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
 * names, for the escrow keeps one balance for all assets, and a policy for an asset that does not exist.
 */
export function createCardGuard({ contracts, reads }: {
  contracts: ContractIds;
  reads: Pick<EscrowReads, "card" | "ways">;
}): (call: CallInEnvelope) => CallGuard | undefined {
  const { deviceRegistry, agentRegistry } = contracts;

  /** The card's owner and policy, by these entries of theirs where the contracts' storage may be believed. */
  async function ownerAndPolicy(
    deviceHash: string,
    [device, policy]: (RawLedgerEntry | undefined)[],
  ): Promise<{ owner?: string; policy?: AgentPolicy }> {
    // The first read of a card compares storage with functions: nobody is let through on a storage that is misread.
    const read = reads.ways().device === "entries" ? undefined : await reads.card(deviceHash);
    if (read !== undefined && reads.ways().device === "calls") {
      return { owner: read.value.device?.owner, policy: read.value.policy };
    }
    return {
      owner: device && entryValue(device.xdr, asDeviceInfo).owner,
      policy: policy && entryValue(policy.xdr, asAgentPolicy),
    };
  }

  function guardOf({ kind, deviceHash, actors, asset }: CardCall, param: CallInEnvelope["param"]): CallGuard {
    const looksForAsset = kind === "registerAgent" && asset !== undefined;
    return {
      keys: [
        deviceKey(deviceRegistry, deviceHash),
        policyKey(agentRegistry, deviceHash),
        ...(looksForAsset ? [instanceKey(asset)] : []),
      ],
      async check(entries) {
        const { owner, policy } = await ownerAndPolicy(deviceHash, entries);
        if (owner !== undefined && !actors.includes(owner)) throw notTheOwner(deviceHash, owner, actors, param);
        if (kind === "fundEscrow" && policy !== undefined && asset !== policy.asset) {
          throw wrongAsset(param, `${policy.asset}, the asset that the policy of card ${deviceHash} names`, asset!);
        }
        if (looksForAsset && entries[2] === undefined) {
          throw wrongAsset(param, "a contract that is there on this network", asset);
        }
      },
    };
  }

  return function cardGuard(call) {
    const kind = operationKind(contracts, call.call);
    const at = kind && ARGUMENTS[kind];
    return at && guardOf(cardCall(kind, at, call, contracts), call.param);
  };
}

/** @throws {GatewayError} `invalid_request` for arguments that are not the function's */
function cardCall(
  kind: Operation["kind"],
  at: { card: number; wallet?: number; asset?: number },
  { call, authorisers, param }: CallInEnvelope,
  contracts: ContractIds,
): CardCall {
  const { args, contract, function: name } = call;
  try {
    return {
      kind,
      deviceHash: asHash(args[at.card]!),
      actors: at.wallet === undefined ? authorisers : [asAddress(args[at.wallet]!)],
      asset: at.asset === undefined ? undefined : asAddress(args[at.asset]!),
    };
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
