/** An issuer and its asset on a test network. */
import { Asset, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import type { IssuedAsset } from "../../lib/sandbox/ledger/assets.ts";
import { trustlineKeyXdr } from "../../lib/sandbox/ledger/trustlines.ts";
import type { NetworkOptions, SandboxNetwork } from "../../lib/sandbox/network.ts";
import { raw, setOptions } from "./envelope_parts.ts";
import { alice, bob, fund, issuer, startNetwork, type TestNetwork } from "./sandbox_network.ts";

export const usd = new Asset("USD", issuer.publicKey());
/** The asset's name in topics of events. */
export const USD = `USD:${issuer.publicKey()}`;

/** One unit of an asset in its smallest parts. */
export const UNITS = 10_000_000n;
export const AUTHORIZED = 1, MAINTAINS = 2, CLAWBACK = 4;
export const REQUIRED = 1, REVOCABLE = 2, IMMUTABLE = 4, CLAWBACK_ENABLED = 8;

/** Starts a network where the issuer, Alice and Bob have lumens and no trustline. */
export async function startAssetNetwork(options: Partial<NetworkOptions> = {}): Promise<TestNetwork> {
  const started = await startNetwork(options);
  await fund(started.network, issuer, alice, bob);
  return started;
}

export const trust = (limit?: string, asset = usd) => Operation.changeTrust({ asset, ...(limit && { limit }) });
export const payUsd = (to: Keypair, amount: string) =>
  Operation.payment({ destination: to.publicKey(), asset: usd, amount });
export const clawback = (from: Keypair, amount: string) =>
  Operation.clawback({ asset: usd, from: from.publicKey(), amount });

/** Sets flags of an issuer. */
export const flags = (setFlags: number) => setOptions({ setFlags });

/** SetTrustLineFlags with exactly these bits. */
export const lineFlags = (trustor: Keypair, setFlags: number, clearFlags = 0, asset = usd) =>
  raw(xdr.OperationBody.setTrustLineFlags(
    new xdr.SetTrustLineFlagsOp({ trustor: trustor.xdrAccountId(), asset: asset.toXdrObject(), clearFlags, setFlags }),
  ));

export const lineKey = (holder: Keypair) => trustlineKeyXdr(holder.rawPublicKey(), usd.toXdrObject() as IssuedAsset);

export function trustlineOf(network: SandboxNetwork, holder: Keypair): xdr.TrustLineEntry | undefined {
  const held = network.entry(lineKey(holder));
  const data = held && xdr.LedgerEntryData.fromXdr(held.dataXdr);
  return data?.type === "trustline" ? data.trustLine : undefined;
}
