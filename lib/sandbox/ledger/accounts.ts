import { xdr } from "@stellar/stellar-sdk";
import { createXdrWriter, keyOf } from "./bytes.ts";
import { extensionIn } from "./classic_entries.ts";
import type { LedgerChanges, LedgerView } from "./state.ts";
import { ACCOUNT_RESERVES, BASE_RESERVE, INT64_MAX } from "./protocol.ts";

/** The LedgerKey of an account. */
export function accountKeyXdr(publicKey: Uint8Array): Uint8Array {
  return createXdrWriter().uint32(0).uint32(0).raw(publicKey).finish();
}

/** The public key of an account id, which may be muxed. */
export function accountOf(account: xdr.MuxedAccount): Uint8Array {
  return account.type === "keyTypeEd25519" ? account.ed25519.value : account.med25519.ed25519.value;
}

/** Loads an account, undefined when there is none. */
export function loadAccount(view: LedgerView, publicKey: Uint8Array): xdr.AccountEntry | undefined {
  const held = view.get(keyOf(accountKeyXdr(publicKey)));
  if (!held) return undefined;
  if (!held.account) {
    const { data } = xdr.LedgerEntry.fromXdr(held.entryXdr);
    if (data.type === "account") held.account = data.account;
  }
  return held.account;
}

/** Writes an account. `ext` names the sponsor of its own reserves. Without `ext` the sponsor stays. */
export function storeAccount(
  changes: LedgerChanges,
  account: xdr.AccountEntry,
  ledgerSequence: number,
  ext?: xdr.LedgerEntryExt,
): void {
  const key = keyOf(accountKeyXdr(account.accountId.ed25519.value));
  const entry = new xdr.LedgerEntry({
    lastModifiedLedgerSeq: ledgerSequence,
    data: xdr.LedgerEntryData.account(account),
    ext: ext ?? extensionOfHeld(changes, key),
  });
  changes.put(key, { entryXdr: entry.toXdr(), account });
}

function extensionOfHeld(changes: LedgerChanges, key: string): xdr.LedgerEntryExt {
  const held = changes.get(key);
  return held ? extensionIn(held.entryXdr) : xdr.LedgerEntryExt.v0();
}

type AccountFields = ConstructorParameters<typeof xdr.AccountEntry>[0];

/** A copy with other fields. */
export function withFields(account: xdr.AccountEntry, fields: Partial<AccountFields>): xdr.AccountEntry {
  return new xdr.AccountEntry({ ...account, ...fields });
}

/** A new account. Its sequence number starts at the ledger shifted by 32 bits, so that no number repeats after a merge. */
export function newAccount(publicKey: Uint8Array, balance: bigint, ledgerSequence: number): xdr.AccountEntry {
  return new xdr.AccountEntry({
    accountId: xdr.PublicKey.publicKeyTypeEd25519(publicKey),
    balance,
    seqNum: startingSequence(ledgerSequence),
    numSubEntries: 0,
    inflationDest: null,
    flags: 0,
    homeDomain: "",
    thresholds: new Uint8Array([1, 0, 0, 0]),
    signers: [],
    ext: xdr.AccountEntryExt.v0(),
  });
}

export function startingSequence(ledgerSequence: number): bigint {
  return BigInt(ledgerSequence) << 32n;
}

interface Extensions {
  selling: bigint;
  buying: bigint;
  numSponsored: number;
  numSponsoring: number;
  /** The sponsor of each signer, in order, or null when the account pays itself. */
  signerSponsors: (xdr.PublicKey | null)[];
  seqLedger: number;
  seqTime: bigint;
}

/** The fields of the nested extensions of an account, zero where they are absent. */
export function extensionsOf(account: xdr.AccountEntry): Extensions {
  const v1 = account.ext.type === "v1" ? account.ext.v1 : undefined;
  const v2 = v1?.ext.type === "v2" ? v1.ext.v2 : undefined;
  const v3 = v2?.ext.type === "v3" ? v2.ext.v3 : undefined;
  return {
    selling: v1?.liabilities.selling ?? 0n,
    buying: v1?.liabilities.buying ?? 0n,
    numSponsored: v2?.numSponsored ?? 0,
    numSponsoring: v2?.numSponsoring ?? 0,
    signerSponsors: v2?.signerSponsoringIDs ?? account.signers.map(() => null),
    seqLedger: v3?.seqLedger ?? 0,
    seqTime: v3?.seqTime ?? 0n,
  };
}

/** A copy with other fields in its extensions. Only the extensions that hold them are added. */
export function withExtensions(account: xdr.AccountEntry, fields: Partial<Extensions>): xdr.AccountEntry {
  const { selling, buying, numSponsored, numSponsoring, signerSponsors, seqLedger, seqTime } = {
    ...extensionsOf(account),
    ...fields,
  };
  const hadSequence = account.ext.type === "v1" && account.ext.v1.ext.type === "v2" &&
    account.ext.v1.ext.v2.ext.type === "v3";
  const v3 = new xdr.AccountEntryExtensionV3({ ext: xdr.ExtensionPoint.v0(), seqLedger, seqTime });
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored,
    numSponsoring,
    signerSponsoringIDs: signerSponsors,
    ext: hadSequence || fields.seqLedger !== undefined
      ? xdr.AccountEntryExtensionV2Ext.v3(v3)
      : xdr.AccountEntryExtensionV2Ext.v0(),
  });
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying, selling }),
    ext: xdr.AccountEntryExtensionV1Ext.v2(v2),
  });
  return withFields(account, { ext: xdr.AccountEntryExt.v1(v1) });
}

/** Stroops that the account must hold. */
function minimumBalance(account: xdr.AccountEntry): bigint {
  const { numSponsored, numSponsoring } = extensionsOf(account);
  return BigInt(ACCOUNT_RESERVES + account.numSubEntries + numSponsoring - numSponsored) * BigInt(BASE_RESERVE);
}

/** Stroops that the account may spend: its balance above reserve and liabilities. */
export function availableBalance(account: xdr.AccountEntry): bigint {
  const available = account.balance - minimumBalance(account) - extensionsOf(account).selling;
  return available > 0n ? available : 0n;
}

/** Whether so many more stroops fit into the account's balance. */
export function canReceive(account: xdr.AccountEntry, amount: bigint): boolean {
  return account.balance + amount <= INT64_MAX - extensionsOf(account).buying;
}

/** The account with another sequence number, and the ledger and time of this change (CAP-21). */
export function withSequence(
  account: xdr.AccountEntry,
  seqNum: bigint,
  ledgerSequence: number,
  closeTime: number,
): xdr.AccountEntry {
  const used = withFields(account, { seqNum });
  return withExtensions(used, { seqLedger: ledgerSequence, seqTime: BigInt(closeTime) });
}
