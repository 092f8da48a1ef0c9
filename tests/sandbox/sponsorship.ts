/** Operations and checks of sponsored reserves (CAP-33). */
import { Asset, Claimant, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import { accountKeyXdr, extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { startAssetNetwork, usd } from "./asset_network.ts";
import { pay } from "./envelope_parts.ts";
import { alice, carol, issuer, keypair } from "./sandbox_network.ts";

export const dave = keypair("dave");
export const BASE_RESERVE = 5_000_000n;

const by = (pair: Keypair) => ({ source: pair.publicKey() });
export const begin = (sponsored: Keypair, sponsor = alice) =>
  Operation.beginSponsoringFutureReserves({ sponsoredId: sponsored.publicKey(), ...by(sponsor) });
export const end = (sponsored: Keypair) => Operation.endSponsoringFutureReserves(by(sponsored));
/** The operations between a begin and an end. */
export const sponsored = (account: Keypair, sponsor: Keypair, ...operations: xdr.Operation[]) => [
  begin(account, sponsor),
  ...operations,
  end(account),
];

export const trustBy = (pair: Keypair) => Operation.changeTrust({ asset: usd, ...by(pair) });
export const dataBy = (pair: Keypair, value: string | null = "x") =>
  Operation.manageData({ name: "a", value, ...by(pair) });
export const signerBy = (pair: Keypair, weight = 1) =>
  Operation.setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight }, ...by(pair) });
const claimantOf = (pair: Keypair) => new Claimant(pair.publicKey());
export const balanceBy = (pair: Keypair, claimants: Keypair[], asset = Asset.native()) =>
  Operation.createClaimableBalance({ asset, amount: "1", claimants: claimants.map(claimantOf), ...by(pair) });

/** RevokeSponsorship of the entries that the operations above make. */
export const revoke = {
  account: (owner: Keypair) => Operation.revokeAccountSponsorship({ account: owner.publicKey() }),
  trustline: (owner: Keypair) => Operation.revokeTrustlineSponsorship({ account: owner.publicKey(), asset: usd }),
  data: (owner: Keypair) => Operation.revokeDataSponsorship({ account: owner.publicKey(), name: "a" }),
  signer: (owner: Keypair) => {
    const signer = { ed25519PublicKey: carol.publicKey() };
    return Operation.revokeSignerSponsorship({ account: owner.publicKey(), signer });
  },
};
export const revokeAll = (owner: Keypair) => Object.values(revoke).map((operation) => operation(owner));

export const accountKey = (pair: Keypair) => accountKeyXdr(pair.rawPublicKey());

/** A network with an asset. */
export async function startSponsorshipNetwork() {
  const n = await startAssetNetwork();
  const counts = (pair: Keypair) => {
    const { numSponsored, numSponsoring } = extensionsOf(n.account(pair));
    return { numSponsored, numSponsoring };
  };
  const extensionOf = (keyXdr: Uint8Array) => xdr.LedgerEntryExt.fromXdr(n.network.entry(keyXdr)!.extXdr);
  const sponsorOf = (keyXdr: Uint8Array) => {
    const ext = extensionOf(keyXdr);
    return ext.type === "v1" ? ext.v1.sponsoringId?.ed25519.value : undefined;
  };
  /** Pays all lumens away but those that the account must keep, and this many reserves. */
  const leaveOnly = (pair: Keypair, reserves: bigint) => {
    const { numSubEntries } = n.account(pair);
    const { numSponsored, numSponsoring } = counts(pair);
    const kept = BigInt(2 + numSubEntries + numSponsoring - numSponsored) + reserves;
    n.run(pair, pay(issuer, n.balance(pair) - kept * BASE_RESERVE - 100n));
  };
  return { ...n, counts, extensionOf, sponsorOf, leaveOnly };
}
