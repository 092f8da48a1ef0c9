/** An issuer, its asset and accounts on a test network, and what they do. */
import { Asset, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import type { NetworkOptions, SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import { apply, build, codesOf, fund, keypair, refusal, signed, startNetwork, submit } from "./sandbox_network.ts";

export const issuer = keypair("issuer");
export const alice = keypair("alice");
export const bob = keypair("bob");
export const carol = keypair("carol");
export const usd = new Asset("USD", issuer.publicKey());

/** Of an asset, in its smallest unit. */
export const UNITS = 10_000_000n;
export const AUTHORIZED = 1, MAINTAINS = 2, CLAWBACK = 4;
export const REQUIRED = 1, REVOCABLE = 2, IMMUTABLE = 4, CLAWBACK_ENABLED = 8;

/** Who may sign for the source of an operation without one of its own. */
export interface AssetNetwork {
  network: SandboxNetwork;
  clock: { seconds: number };
  run(source: Keypair, ...operations: xdr.Operation[]): AppliedTransaction;
  /** The codes of what was applied. */
  result(source: Keypair, ...operations: xdr.Operation[]): string;
  /** The codes of what was not even queued. */
  refused(source: Keypair, ...operations: xdr.Operation[]): string;
}

/** Issuer, Alice and Bob have lumens; nobody trusts anybody yet. */
export async function startAssetNetwork(options: Partial<NetworkOptions> = {}): Promise<AssetNetwork> {
  const { network, clock } = await startNetwork(options);
  await fund(network, issuer, alice, bob);
  const run = (source: Keypair, ...operations: xdr.Operation[]) =>
    apply(network, signed(build(network, source, operations), source));
  return {
    network,
    clock,
    run,
    result: (source, ...operations) => codesOf(run(source, ...operations).resultXdr),
    refused: (source, ...operations) => refusal(submit(network, signed(build(network, source, operations), source))),
  };
}

export const trust = (limit?: string, asset = usd) => Operation.changeTrust({ asset, ...(limit && { limit }) });
export const pay = (to: Keypair, amount: string, asset = usd) =>
  Operation.payment({ destination: to.publicKey(), asset, amount });
export const flags = (setFlags: number, clearFlags = 0) =>
  new xdr.Operation({
    sourceAccount: null,
    body: xdr.OperationBody.setOptions(
      new xdr.SetOptionsOp({
        inflationDest: null,
        clearFlags,
        setFlags,
        masterWeight: null,
        lowThreshold: null,
        medThreshold: null,
        highThreshold: null,
        homeDomain: null,
        signer: null,
      }),
    ),
  });
export const raw = (body: xdr.OperationBody) => new xdr.Operation({ sourceAccount: null, body });

/** SetTrustLineFlags with these very bits. */
export const lineFlags = (trustor: Keypair, setFlags: number, clearFlags = 0, asset = usd) =>
  raw(xdr.OperationBody.setTrustLineFlags(
    new xdr.SetTrustLineFlagsOp({
      trustor: trustor.xdrAccountId(),
      asset: asset.toXdrObject(),
      clearFlags,
      setFlags,
    }),
  ));

export function trustlineOf(network: SandboxNetwork, holder: Keypair, asset = usd): xdr.TrustLineEntry | undefined {
  const key = new xdr.LedgerKeyTrustLine({
    accountId: holder.xdrAccountId(),
    asset: xdr.TrustLineAsset.fromXdr(asset.toXdrObject().toXdr()),
  });
  const held = network.entry(xdr.LedgerKey.trustline(key).toXdr());
  const data = held && xdr.LedgerEntryData.fromXdr(held.dataXdr);
  return data?.type === "trustline" ? data.trustLine : undefined;
}
