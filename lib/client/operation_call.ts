import { Address, xdr } from "@stellar/stellar-sdk/base";
import type { Endpoints } from "./api_types.ts";

export type Operation = Endpoints["POST /v1/transactions/prepare"]["body"]["operation"];
export type PreparedOperation = NonNullable<Endpoints["POST /v1/transactions/prepare"]["answer"]["operation"]>;

/** The network and contracts to sign for, from the client's own configuration and never from the gateway. */
export interface TrustedNetwork {
  networkPassphrase: string;
  /** `C…` each. */
  contracts: { deviceRegistry: string; agentRegistry: string; paymentEscrow: string };
}

/** One call of a contract. */
export interface ExpectedCall {
  contract: string;
  function: string;
  args: xdr.ScVal[];
  /** The calls under it that the source's signature authorises. */
  under: ExpectedCall[];
}

const address = (text: string) => Address.fromString(text).toScVal();
const hash = (hex: string) => xdr.ScVal.scvBytes(xdr.decodeBytes(hex, "hex"));
const u64 = (value: string | number) => xdr.ScVal.scvU64(BigInt(value));

function i128(decimal: string): xdr.ScVal {
  const value = BigInt(decimal);
  return xdr.ScVal.scvI128(new xdr.Int128Parts({ hi: value >> 64n, lo: value & 0xffff_ffff_ffff_ffffn }));
}

/**
 * Builds the call of an operation from the request, to compare with the prepared envelope. Arguments are in the order of the
 * contracts' interfaces.
 * @throws {Error} for an invalid address or amount
 */
export function expectedCall(
  { contracts: { deviceRegistry, agentRegistry, paymentEscrow } }: TrustedNetwork,
  source: string,
  operation: PreparedOperation,
): ExpectedCall {
  const call = (contract: string, name: string, ...args: xdr.ScVal[]): ExpectedCall => ({
    contract,
    function: name,
    args,
    under: [],
  });
  const actor = address(source);
  switch (operation.kind) {
    case "registerDevice":
      return call(deviceRegistry, "register", actor, hash(operation.deviceHash), address(operation.agent));
    case "revokeDevice":
      return call(deviceRegistry, "revoke", actor, hash(operation.deviceHash));
    case "registerAgent": {
      const { deviceHash, agent, maxAmount, asset, expiresAt } = operation;
      const policy = [address(agent), i128(maxAmount), address(asset), u64(expiresAt ?? 0)];
      return call(agentRegistry, "register_agent", actor, hash(deviceHash), ...policy);
    }
    case "revokeAgent":
      return call(agentRegistry, "revoke_agent", actor, hash(operation.deviceHash));
    case "fundEscrow": {
      const { deviceHash, asset, amount } = operation;
      const transfer = call(asset, "transfer", actor, address(paymentEscrow), i128(amount));
      const fund = call(paymentEscrow, "fund_escrow", address(asset), actor, hash(deviceHash), i128(amount));
      return { ...fund, under: [transfer] };
    }
    case "authorize": {
      const { deviceHash, merchant, asset, amount, nonce } = operation;
      const to = [address(merchant), address(asset), i128(amount), u64(nonce)];
      return call(paymentEscrow, "authorize", actor, hash(deviceHash), ...to);
    }
    case "claim":
      return call(paymentEscrow, "claim", address(operation.asset), actor);
    case "defundEscrow": {
      const { deviceHash, asset, amount } = operation;
      return call(paymentEscrow, "defund_escrow", address(asset), hash(deviceHash), i128(amount));
    }
    case "sweepEscrow": {
      const { deviceHash, asset, agent } = operation;
      return call(paymentEscrow, "sweep_on_revoke", address(asset), hash(deviceHash), address(agent));
    }
  }
}

/**
 * The requested operation, with the payment's nonce of the gateway.
 * @throws {RangeError} when that nonce is invalid
 */
export function filledIn(asked: Operation, prepared: { nonce?: unknown }): PreparedOperation {
  if (asked.kind === "registerAgent") return { ...asked, expiresAt: asked.expiresAt ?? null };
  if (asked.kind !== "authorize") return asked;
  const nonce = asked.nonce ?? prepared.nonce;
  if (typeof nonce === "string" && /^[1-9]\d{0,19}$/.test(nonce) && BigInt(nonce) < 2n ** 64n) {
    return { ...asked, nonce };
  }
  throw new RangeError("the gateway filled in an invalid nonce");
}
