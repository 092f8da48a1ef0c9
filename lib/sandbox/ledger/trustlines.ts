import { xdr } from "@stellar/stellar-sdk";
import { isIssuer, type IssuedAsset } from "./assets.ts";
import { createXdrWriter } from "./bytes.ts";
import { loadEntry, storeEntry } from "./classic_entries.ts";
import type { LedgerChanges, LedgerView } from "./state.ts";
import { AUTHORIZED, LEDGER_ENTRY_TYPES } from "./protocol.ts";

/** The LedgerKey of an account's trustline. */
export function trustlineKeyXdr(holder: Uint8Array, asset: IssuedAsset): Uint8Array {
  // The TrustLineAsset of an issued asset has the bytes of the Asset.
  return createXdrWriter().uint32(LEDGER_ENTRY_TYPES.trustline).uint32(0).raw(holder).raw(asset.toXdr()).finish();
}

export interface HeldTrustline {
  line: xdr.TrustLineEntry;
  entry: xdr.LedgerEntry;
  keyXdr: Uint8Array;
}

/** The trustline with its entry, undefined when the account has none for the asset. */
export function loadTrustline(view: LedgerView, holder: Uint8Array, asset: IssuedAsset): HeldTrustline | undefined {
  const keyXdr = trustlineKeyXdr(holder, asset);
  const entry = loadEntry(view, keyXdr);
  return entry?.data.type === "trustline" ? { line: entry.data.trustLine, entry, keyXdr } : undefined;
}

/** Writes a trustline with other fields. */
export function storeTrustline(
  changes: LedgerChanges,
  { line, entry, keyXdr }: HeldTrustline,
  fields: Partial<Pick<xdr.TrustLineEntry, "balance" | "limit" | "flags">>,
  ledgerSequence: number,
): void {
  const data = xdr.LedgerEntryData.trustline(new xdr.TrustLineEntry({ ...line, ...fields }));
  storeEntry(changes, keyXdr, data, ledgerSequence, entry.ext);
}

/** Liabilities of offers. Only trustlines of a forked network have them. */
export function liabilitiesOf({ ext }: xdr.TrustLineEntry): { selling: bigint; buying: bigint } {
  return ext.type === "v1" ? ext.v1.liabilities : { selling: 0n, buying: 0n };
}

/** Pools with the asset in which the account has shares. Only trustlines of a forked network have them. */
export function liquidityPoolsOf({ ext }: xdr.TrustLineEntry): number {
  return ext.type === "v1" && ext.v1.ext.type === "v2" ? ext.v1.ext.v2.liquidityPoolUseCount : 0;
}

export type HoldingProblem = "no_trust" | "not_authorized" | "underfunded" | "line_full";

/**
 * Adds an amount, which may be negative, to an account's holding of an asset. Returns the problem, else undefined. The issuer
 * holds any amount without a trustline.
 */
export function changeHolding(
  changes: LedgerChanges,
  holder: Uint8Array,
  asset: IssuedAsset,
  amount: bigint,
  ledgerSequence: number,
): HoldingProblem | undefined {
  if (isIssuer(holder, asset)) return undefined;
  const held = loadTrustline(changes, holder, asset);
  if (!held) return "no_trust";
  if ((held.line.flags & AUTHORIZED) === 0) return "not_authorized";
  return addBalance(changes, held, amount, ledgerSequence);
}

/** Changes the balance of a trustline, authorized or not. */
export function addBalance(
  changes: LedgerChanges,
  held: HeldTrustline,
  amount: bigint,
  ledgerSequence: number,
): "underfunded" | "line_full" | undefined {
  const { selling, buying } = liabilitiesOf(held.line);
  const balance = held.line.balance + amount;
  if (amount < 0n && balance < selling) return "underfunded";
  if (amount > 0n && balance > held.line.limit - buying) return "line_full";
  storeTrustline(changes, held, { balance }, ledgerSequence);
  return undefined;
}
