/** Calls on a sandbox network that bypass the gateway. */
import { Address, Asset, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { ReadyNetwork } from "./ready_network.ts";
import { CLAWBACK_ENABLED, flags, REVOCABLE } from "./asset_network.ts";
import { apply, build, i128, invoke, prepare, signed, u64 } from "./sandbox_network.ts";

/** A simulated and signed contract transaction. It is valid for five minutes after the network's latest ledger. */
export function signedEnvelope(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): string {
  const timebounds = { minTime: 0, maxTime: network.latestLedger().closeTime + 300 };
  return signed(prepare(network, source, operation, { fee: "1000", timebounds }), source).toXdr();
}

/** Applies a contract operation in a ledger of its own. Returns the transaction's hash. */
export function applyNow(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): string {
  const { hash, successful } = invoke(network, source, operation);
  if (!successful) throw new Error(`${hash} failed`);
  return hash;
}

/** Applies a call of a contract's function in a ledger of its own. Returns the transaction's hash. */
export function callNow(
  network: SandboxNetwork,
  source: Keypair,
  contract: string,
  name: string,
  ...args: xdr.ScVal[]
): string {
  return applyNow(network, source, Operation.invokeContractFunction({ contract, function: name, args }));
}

export const addressOf = (who: Keypair | string) =>
  Address.fromString(typeof who === "string" ? who : who.publicKey()).toScVal();

/** Applies operations that call no contract in a ledger of their own. */
export function classicNow(network: SandboxNetwork, source: Keypair, ...operations: xdr.Operation[]): void {
  const { successful } = apply(network, signed(build(network, source, operations), source));
  if (!successful) throw new Error("a classic operation failed");
}

/** An asset with its contract. */
export interface Issued {
  asset: Asset;
  /** `C…`. */
  contract: string;
  mint(to: string, amount: bigint): void;
  clawback(from: string, amount: bigint): void;
  /** Freezes a balance, or ends that. */
  authorize(holder: string, isAuthorized: boolean): void;
}

/** Issues an asset whose issuer can freeze balances and claw them back. The issuer needs an account. */
export function issueNow(network: SandboxNetwork, issuer: Keypair, code: string): Issued {
  const asset = new Asset(code, issuer.publicKey());
  const contract = asset.contractId(network.passphrase);
  classicNow(network, issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
  applyNow(network, issuer, Operation.createStellarAssetContract({ asset }));
  const call = (name: string, ...args: xdr.ScVal[]) => void callNow(network, issuer, contract, name, ...args);
  return {
    asset,
    contract,
    mint: (to, amount) => call("mint", addressOf(to), i128(amount)),
    clawback: (from, amount) => call("clawback", addressOf(from), i128(amount)),
    authorize: (holder, is) => call("set_authorized", addressOf(holder), xdr.ScVal.scvBool(is)),
  };
}

/** Registers a card whose owner is its agent, without a cap, and funds its escrow with the amount. */
export function issueCard(
  { network, sandbox }: ReadyNetwork,
  owner: Keypair,
  deviceHash: string,
  amount: number,
): void {
  const { contracts: { deviceRegistry, agentRegistry, paymentEscrow }, asset } = sandbox;
  const [self, card, token] = [addressOf(owner), hashVal(deviceHash), addressOf(asset)];
  callNow(network, owner, deviceRegistry, "register", self, card, self);
  callNow(network, owner, agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  callNow(network, owner, paymentEscrow, "fund_escrow", token, self, card, i128(amount));
}
