import { xdr } from "@stellar/stellar-sdk";
import { keyOf } from "./bytes.ts";
import type { LedgerChanges, LedgerView } from "./state.ts";
import { LEDGER_ENTRY_TYPES } from "./protocol.ts";

/** The LedgerEntry under a LedgerKey (XDR), undefined when there is none. */
export function loadEntry(view: LedgerView, keyXdr: Uint8Array): xdr.LedgerEntry | undefined {
  const held = view.get(keyOf(keyXdr));
  return held && xdr.LedgerEntry.fromXdr(held.entryXdr);
}

/** Writes an entry. `ext` names its sponsor, if it has one. */
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

/** The LedgerEntryData and LedgerEntryExt of a LedgerEntry. */
export function entryParts(entryXdr: Uint8Array): { dataXdr: Uint8Array; extXdr: Uint8Array } {
  const extensionAt = entryXdr.length - extensionLength(entryXdr);
  return { dataXdr: entryXdr.subarray(4, extensionAt), extXdr: entryXdr.subarray(extensionAt) };
}

/** The LedgerEntryExt of a LedgerEntry. */
export function extensionIn(entryXdr: Uint8Array): xdr.LedgerEntryExt {
  const { extXdr } = entryParts(entryXdr);
  return extXdr.length === VOID_LENGTH ? xdr.LedgerEntryExt.v0() : xdr.LedgerEntryExt.fromXdr(extXdr);
}

const VOID_LENGTH = 4;
/** Lengths of an extension after a sponsorship, and with a sponsor. */
const SPONSOR_LENGTHS = [12, 48];

/** Contract entries have a void extension. Others are decoded only if they end like one with another extension. */
function extensionLength(entryXdr: Uint8Array): number {
  const view = new DataView(entryXdr.buffer, entryXdr.byteOffset, entryXdr.byteLength);
  const mayEndWith = (length: number) => length < entryXdr.length - 4 && view.getUint32(entryXdr.length - length) === 1;
  if (view.getUint32(4) >= LEDGER_ENTRY_TYPES.contractData || !SPONSOR_LENGTHS.some(mayEndWith)) return VOID_LENGTH;
  return xdr.LedgerEntry.fromXdr(entryXdr).ext.toXdr().length;
}

/** The extension of an entry with this sponsor. Undefined: after the end of a sponsorship (CAP-33). */
export function sponsoredBy(sponsor: Uint8Array | undefined): xdr.LedgerEntryExt {
  return xdr.LedgerEntryExt.v1(
    new xdr.LedgerEntryExtensionV1({
      sponsoringId: sponsor ? xdr.PublicKey.publicKeyTypeEd25519(sponsor) : null,
      ext: xdr.LedgerEntryExtensionV1Ext.v0(),
    }),
  );
}

/** The sponsor of an entry with this extension, undefined when the owner pays. */
export function sponsorOf(ext: xdr.LedgerEntryExt): Uint8Array | undefined {
  return ext.type === "v1" ? ext.v1.sponsoringId?.ed25519.value : undefined;
}
