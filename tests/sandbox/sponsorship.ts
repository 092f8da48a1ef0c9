import { Asset, Claimant, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import { accountKeyXdr, extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { carol, issuer, pay, startAssetNetwork, usd } from "./asset_network.ts";
import { accountOf, apply, balanceOf, build, codesOf, keypair, signed } from "./sandbox_network.ts";

export const dave = keypair("dave");
export const BASE_RESERVE = 5_000_000n;

type By = { source?: string };
export const by = (pair: Keypair): By => ({ source: pair.publicKey() });
export const begin = (sponsored: Keypair, opts: By = {}) =>
  Operation.beginSponsoringFutureReserves({ sponsoredId: sponsored.publicKey(), ...opts });
export const end = (sponsored: Keypair) => Operation.endSponsoringFutureReserves(by(sponsored));
export const create = (whom: Keypair, startingBalance: string, opts: By = {}) =>
  Operation.createAccount({ destination: whom.publicKey(), startingBalance, ...opts });
export const trustBy = (pair: Keypair) => Operation.changeTrust({ asset: usd, ...by(pair) });
export const dataBy = (pair: Keypair, value: string | null = "x") =>
  Operation.manageData({ name: "a", value, ...by(pair) });
export const signerBy = (pair: Keypair, weight = 1) =>
  Operation.setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight }, ...by(pair) });
export const balanceBy = (pair: Keypair, ...claimants: Keypair[]) =>
  Operation.createClaimableBalance({
    asset: Asset.native(),
    amount: "1",
    claimants: claimants.map((claimant) => new Claimant(claimant.publicKey())),
    ...by(pair),
  });
export const ofAccount = (whom: Keypair) => Operation.revokeAccountSponsorship({ account: whom.publicKey() });
export const ofTrustline = (whom: Keypair) =>
  Operation.revokeTrustlineSponsorship({ account: whom.publicKey(), asset: usd });
export const ofData = (whom: Keypair, opts: By = {}) =>
  Operation.revokeDataSponsorship({ account: whom.publicKey(), name: "a", ...opts });
export const ofSigner = (whom: Keypair) =>
  Operation.revokeSignerSponsorship({ account: whom.publicKey(), signer: { ed25519PublicKey: carol.publicKey() } });
export const accountKey = (pair: Keypair) => accountKeyXdr(pair.rawPublicKey());
export const lineKey = (pair: Keypair) =>
  xdr.LedgerKey.trustline(
    new xdr.LedgerKeyTrustLine({
      accountId: pair.xdrAccountId(),
      asset: xdr.TrustLineAsset.fromXdr(usd.toXdrObject().toXdr()),
    }),
  ).toXdr();

/** A network with an asset, and what tests of sponsored reserves (CAP-33) do and look at there. */
export async function startSponsorshipNetwork() {
  const n = await startAssetNetwork();
  /** By the first of them, signed by all. */
  const run = (pairs: [Keypair, ...Keypair[]], ...operations: xdr.Operation[]) =>
    apply(n.network, signed(build(n.network, pairs[0], operations), ...pairs));
  const result = (pairs: [Keypair, ...Keypair[]], ...operations: xdr.Operation[]) =>
    codesOf(run(pairs, ...operations).resultXdr);
  const counts = (pair: Keypair) => {
    const { numSponsored, numSponsoring } = extensionsOf(accountOf(n.network, pair));
    return { numSponsored, numSponsoring };
  };
  const extensionOf = (keyXdr: Uint8Array) => xdr.LedgerEntryExt.fromXdr(n.network.entry(keyXdr)!.extXdr);
  const sponsorOf = (keyXdr: Uint8Array) => {
    const ext = extensionOf(keyXdr);
    return ext.type === "v1" ? ext.v1.sponsoringId?.ed25519.value : undefined;
  };
  /** Lumens that the account can just not spend, beyond what it keeps. */
  const leaveOnly = (pair: Keypair, reserves: bigint) => {
    const { numSubEntries } = accountOf(n.network, pair);
    const { numSponsored, numSponsoring } = counts(pair);
    const kept = BigInt(2 + numSubEntries + numSponsoring - numSponsored) + reserves;
    const reserved = balanceOf(n.network, pair) - kept * BASE_RESERVE - 100n;
    const amount = `${reserved / 10_000_000n}.${(reserved % 10_000_000n).toString().padStart(7, "0")}`;
    run([pair], pay(issuer, amount, Asset.native()));
  };
  return { n, run, result, counts, extensionOf, sponsorOf, leaveOnly };
}
