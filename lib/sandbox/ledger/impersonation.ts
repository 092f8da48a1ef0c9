import { Address, buildAuthorizationEntryPreimage, Keypair, StrKey, xdr } from "@stellar/stellar-sdk";
import { accountKeyXdr, withFields } from "./accounts.ts";
import { keyOf, sha256 } from "./bytes.ts";
import { MAX_SIGNER_WEIGHT } from "./protocol.ts";
import type { StateEntry } from "./state.ts";

export type Impersonation = ReturnType<typeof createImpersonation>;

/**
 * The accounts that act without signatures. The host knows no such account. It is shown the account with one signer of ours,
 * which signs the account's authorisations. The ledger keeps the account's own signers.
 */
export function createImpersonation(passphrase: string) {
  const addresses = new Map<string, string>();
  const signer = Keypair.fromRawEd25519Seed(sha256(new TextEncoder().encode(`impersonator of ${passphrase}`)));
  const signers = [
    new xdr.Signer({ key: xdr.SignerKey.signerKeyTypeEd25519(signer.rawPublicKey()), weight: MAX_SIGNER_WEIGHT }),
  ];
  const nameOf = (address: string) => keyOf(accountKeyXdr(StrKey.decodeEd25519PublicKey(address)));

  return {
    addresses: () => [...addresses.values()],
    start: (address: string) => void addresses.set(nameOf(address), address),
    stop: (address: string) => addresses.delete(nameOf(address)),
    has: (publicKey: Uint8Array) => addresses.size > 0 && addresses.has(keyOf(accountKeyXdr(publicKey))),

    /** The entry for the host. */
    shown: (key: string, entry: StateEntry): StateEntry =>
      addresses.has(key) ? { ...entry, entryXdr: withSigners(entry.entryXdr, signers) } : entry,

    /** An entry of the host for the ledger: with the signers that the account has there. */
    kept: (key: string, entryXdr: Uint8Array, held: StateEntry | undefined): Uint8Array =>
      held && addresses.has(key) ? withSigners(entryXdr, signersIn(held.entryXdr)) : entryXdr,

    /** The authorisation, signed for the host if its account is impersonated. Without an expiry it is for this ledger. */
    signed(entry: xdr.SorobanAuthorizationEntry, ledger: number): xdr.SorobanAuthorizationEntry {
      const { credentials, rootInvocation } = entry;
      const given = addressCredentials(credentials);
      if (given === undefined || given.address.type !== "scAddressTypeAccount") return entry;
      if (!addresses.has(nameOf(Address.fromScAddress(given.address).toString()))) return entry;
      const expiry = given.signatureExpirationLedger || ledger;
      const payload = sha256(buildAuthorizationEntryPreimage(entry, expiry, passphrase).toXdr());
      const own = new xdr.SorobanAddressCredentials({
        ...given,
        signatureExpirationLedger: expiry,
        signature: signatureOf(signer, payload),
      });
      return new xdr.SorobanAuthorizationEntry({
        rootInvocation,
        credentials: credentials.type === "sorobanCredentialsAddress"
          ? xdr.SorobanCredentials.sorobanCredentialsAddress(own)
          : xdr.SorobanCredentials.sorobanCredentialsAddressV2(own),
      });
    },
  };
}

function addressCredentials(credentials: xdr.SorobanCredentials): xdr.SorobanAddressCredentials | undefined {
  if (credentials.type === "sorobanCredentialsAddress") return credentials.address;
  return credentials.type === "sorobanCredentialsAddressV2" ? credentials.addressV2 : undefined;
}

/** A signature as the host expects it of an account. */
function signatureOf(signer: Keypair, payload: Uint8Array): xdr.ScVal {
  const field = (name: string, value: Uint8Array) =>
    new xdr.ScMapEntry({ key: xdr.ScVal.scvSymbol(name), val: xdr.ScVal.scvBytes(value) });
  const map = [field("public_key", signer.rawPublicKey()), field("signature", signer.sign(payload))];
  return xdr.ScVal.scvVec([xdr.ScVal.scvMap(map)]);
}

function signersIn(entryXdr: Uint8Array): readonly xdr.Signer[] {
  const { data } = xdr.LedgerEntry.fromXdr(entryXdr);
  return data.type === "account" ? data.account.signers : [];
}

function withSigners(entryXdr: Uint8Array, signers: readonly xdr.Signer[]): Uint8Array {
  const entry = xdr.LedgerEntry.fromXdr(entryXdr);
  if (entry.data.type !== "account") return entryXdr;
  const data = xdr.LedgerEntryData.account(withFields(entry.data.account, { signers: [...signers] }));
  return new xdr.LedgerEntry({ ...entry, data }).toXdr();
}
