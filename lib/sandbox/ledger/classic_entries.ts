import { xdr } from "@stellar/stellar-sdk";
import {
  availableBalance,
  BASE_RESERVE,
  extensionsOf,
  loadAccount,
  storeAccount,
  withExtensions,
  withFields,
} from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import type { LedgerChanges, LedgerView } from "./state.ts";

/** Subentries one account may have: signers, trustlines, data. */
const MAX_SUBENTRIES = 1_000;

/** What keeps an account from having one more subentry; undefined: nothing does. */
export function subentryProblem(account: xdr.AccountEntry): "too_many_subentries" | "low_reserve" | undefined {
  if (account.numSubEntries >= MAX_SUBENTRIES) return "too_many_subentries";
  return availableBalance(account) < BigInt(BASE_RESERVE) ? "low_reserve" : undefined;
}

/** The LedgerEntry under a LedgerKey (XDR), undefined when there is none. */
export function loadEntry(view: LedgerView, keyXdr: Uint8Array): xdr.LedgerEntry | undefined {
  const held = view.get(keyOf(keyXdr));
  return held && xdr.LedgerEntry.fromXdr(held.entryXdr);
}

const CONTRACT_DATA = 6;
const VOID_EXTENSION_BYTES = 4;
/** Of an extension that names a sponsor. */
const SPONSORED_EXTENSION_BYTES = 48;

/** The LedgerEntryData and LedgerEntryExt of a LedgerEntry. */
export function entryParts(entryXdr: Uint8Array): { dataXdr: Uint8Array; extXdr: Uint8Array } {
  const extensionAt = entryXdr.length - (hasSponsor(entryXdr) ? SPONSORED_EXTENSION_BYTES : VOID_EXTENSION_BYTES);
  return { dataXdr: entryXdr.subarray(4, extensionAt), extXdr: entryXdr.subarray(extensionAt) };
}

/** Contract entries have none; of the others only those are decoded that end as if they had one. */
function hasSponsor(entryXdr: Uint8Array): boolean {
  const view = new DataView(entryXdr.buffer, entryXdr.byteOffset, entryXdr.byteLength);
  const at = entryXdr.length - SPONSORED_EXTENSION_BYTES;
  return view.getUint32(4) < CONTRACT_DATA && at > 4 && view.getUint32(at) === 1 && view.getUint32(at + 4) === 1 &&
    sponsorOf(xdr.LedgerEntry.fromXdr(entryXdr).ext) !== undefined;
}

/** Writes an entry. `ext` names who pays its reserve, where that is not the account it belongs to. */
export function storeEntry(
  changes: LedgerChanges,
  keyXdr: Uint8Array,
  data: xdr.LedgerEntryData,
  ledgerSequence: number,
  ext: xdr.LedgerEntryExt = xdr.LedgerEntryExt.v0(),
): void {
  const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: ledgerSequence, data, ext });
  changes.put(keyOf(keyXdr), { entryXdr: entry.toXdr() });
}

/** Counts one subentry more for an account that `subentryProblem` had nothing against. */
export function countSubentry(changes: LedgerChanges, account: xdr.AccountEntry, ledgerSequence: number): void {
  storeAccount(changes, withFields(account, { numSubEntries: account.numSubEntries + 1 }), ledgerSequence);
}

/** Takes out a subentry of an account and gives its reserve back to whoever pays it (CAP-33). */
export function removeSubentry(
  changes: LedgerChanges,
  keyXdr: Uint8Array,
  entry: xdr.LedgerEntry,
  owner: xdr.AccountEntry,
  ledgerSequence: number,
): void {
  const sponsored = sponsorOf(entry.ext) !== undefined;
  const fewer = withFields(owner, { numSubEntries: owner.numSubEntries - 1 });
  const { numSponsored } = extensionsOf(owner);
  const freed = sponsored ? withExtensions(fewer, { numSponsored: Math.max(0, numSponsored - 1) }) : fewer;
  storeAccount(changes, freed, ledgerSequence);
  removeSponsored(changes, keyXdr, entry, 1, ledgerSequence);
}

/** Takes out an entry and gives its reserves back to its sponsor, if it has one. */
export function removeSponsored(
  changes: LedgerChanges,
  keyXdr: Uint8Array,
  entry: xdr.LedgerEntry,
  reserves: number,
  ledgerSequence: number,
): void {
  const sponsorId = sponsorOf(entry.ext);
  if (sponsorId) giveBack(changes, sponsorId, reserves, ledgerSequence);
  changes.remove(keyOf(keyXdr));
}

/** The account with these signers, each a subentry; the reserves of those it no longer has go back to their sponsors. */
export function replaceSigners(
  changes: LedgerChanges,
  account: xdr.AccountEntry,
  signers: xdr.Signer[],
  ledgerSequence: number,
): xdr.AccountEntry {
  const numSubEntries = account.numSubEntries + signers.length - account.signers.length;
  const changed = withFields(account, { signers, numSubEntries });
  if (account.ext.type === "v0" || account.ext.v1.ext.type === "v0") return changed;
  const { signerSponsors, numSponsored } = extensionsOf(account);
  const sponsorOfSigner = ({ key }: xdr.Signer) =>
    signerSponsors[account.signers.findIndex((held) => held.key.equals(key))] ?? null;
  const isGone = ({ key }: xdr.Signer) => !signers.some((left) => left.key.equals(key));
  const freed = account.signers.filter(isGone).map(sponsorOfSigner).filter((sponsor) => sponsor !== null);
  for (const { ed25519 } of freed) giveBack(changes, ed25519.value, 1, ledgerSequence);
  return withExtensions(changed, {
    signerSponsors: signers.map(sponsorOfSigner),
    numSponsored: Math.max(0, numSponsored - freed.length),
  });
}

function giveBack(changes: LedgerChanges, sponsorId: Uint8Array, reserves: number, ledgerSequence: number): void {
  const sponsor = loadAccount(changes, sponsorId);
  if (sponsor) addSponsoring(changes, sponsor, -reserves, ledgerSequence);
}

/** Makes an account pay so many base reserves more for entries that are not its own. */
export function addSponsoring(
  changes: LedgerChanges,
  sponsor: xdr.AccountEntry,
  reserves: number,
  ledgerSequence: number,
): void {
  // A fork may have read the sponsor when it had ended the sponsorship over there.
  const numSponsoring = Math.max(0, extensionsOf(sponsor).numSponsoring + reserves);
  storeAccount(changes, withExtensions(sponsor, { numSponsoring }), ledgerSequence);
}

/** The extension of an entry whose reserve this account pays. */
export function sponsoredBy(sponsor: Uint8Array): xdr.LedgerEntryExt {
  return xdr.LedgerEntryExt.v1(
    new xdr.LedgerEntryExtensionV1({
      sponsoringId: xdr.PublicKey.publicKeyTypeEd25519(sponsor),
      ext: xdr.LedgerEntryExtensionV1Ext.v0(),
    }),
  );
}

function sponsorOf(ext: xdr.LedgerEntryExt): Uint8Array | undefined {
  return ext.type === "v1" ? ext.v1.sponsoringId?.ed25519.value : undefined;
}
