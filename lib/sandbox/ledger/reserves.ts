import { xdr } from "@stellar/stellar-sdk";
import {
  ACCOUNT_RESERVES,
  availableBalance,
  BASE_RESERVE,
  extensionsOf,
  loadAccount,
  storeAccount,
  withExtensions,
  withFields,
} from "./accounts.ts";
import { keyOf, sameBytes } from "./bytes.ts";
import { sponsoredBy, sponsorOf } from "./classic_entries.ts";
import type { LedgerChanges } from "./state.ts";

/*
 * Who pays the reserves of accounts and of what belongs to them: the account itself, or its sponsor, who agreed to it in
 * the transaction that made the entry, or in one since (CAP-33). An account's `numSponsored` counts what others pay for
 * it, `numSponsoring` what it pays for others.
 */

/** Subentries one account may have: signers, trustlines, data. */
const MAX_SUBENTRIES = 1_000;

/** What keeps an entry from being made. */
export type ReserveProblem = "too_many_subentries" | "low_reserve";

/** Of a transaction, from BeginSponsoringFutureReserves to EndSponsoringFutureReserves: sponsors by whom they sponsor. */
export type Sponsorships = Map<string, Uint8Array>;

/** Whose reserves are paid in which ledger. */
export interface ReserveContext {
  changes: LedgerChanges;
  sponsorships: Sponsorships;
  ledgerSequence: number;
}

/** Who pays for what this account makes in the same transaction; undefined: it does. */
export function currentSponsor(account: Uint8Array, { sponsorships }: ReserveContext): Uint8Array | undefined {
  return sponsorships.get(keyOf(account));
}

/** Whether an account pays for what another makes in the same transaction. */
export function isSponsoring(account: Uint8Array, { sponsorships }: ReserveContext): boolean {
  return sponsorships.values().some((sponsorId) => sameBytes(sponsorId, account));
}

/** Whether an account has so many base reserves left. */
function canReserve(account: xdr.AccountEntry | undefined, reserves: number): boolean {
  return account !== undefined && availableBalance(account) >= BigInt(reserves * BASE_RESERVE);
}

/** Makes an account pay so many base reserves more for entries that are not its own, if it has them. */
export function sponsor(
  sponsorId: Uint8Array,
  reserves: number,
  context: ReserveContext,
): "low_reserve" | undefined {
  if (!canReserve(loadAccount(context.changes, sponsorId), reserves)) return "low_reserve";
  addSponsoring(sponsorId, reserves, context);
  return undefined;
}

function addSponsoring(
  sponsorId: Uint8Array,
  reserves: number,
  { changes, ledgerSequence }: Pick<ReserveContext, "changes" | "ledgerSequence">,
): void {
  const account = loadAccount(changes, sponsorId);
  if (!account) return;
  // A fork may have read the sponsor when it had ended the sponsorship over there.
  const numSponsoring = Math.max(0, extensionsOf(account).numSponsoring + reserves);
  storeAccount(changes, withExtensions(account, { numSponsoring }), ledgerSequence);
}

/** A new account and its extension: it has the reserves itself, or its sponsor pays them, if it has them. */
export function reserveAccount(
  created: xdr.AccountEntry,
  context: ReserveContext,
): { account: xdr.AccountEntry; ext: xdr.LedgerEntryExt } | "low_reserve" {
  const sponsorId = currentSponsor(created.accountId.ed25519.value, context);
  if (!sponsorId) {
    const isEnough = created.balance >= BigInt(ACCOUNT_RESERVES * BASE_RESERVE);
    return isEnough ? { account: created, ext: xdr.LedgerEntryExt.v0() } : "low_reserve";
  }
  return sponsor(sponsorId, ACCOUNT_RESERVES, context) ??
    { account: withSponsored(created, ACCOUNT_RESERVES), ext: sponsoredBy(sponsorId) };
}

/** The account, for which others pay so many base reserves more, or fewer. */
function withSponsored(account: xdr.AccountEntry, reserves: number): xdr.AccountEntry {
  const numSponsored = Math.max(0, extensionsOf(account).numSponsored + reserves);
  return withExtensions(account, { numSponsored });
}

/** Counts a new trustline or data entry of an account: answers the extension for it, or what keeps it from being made. */
export function addSubentry(owner: xdr.AccountEntry, context: ReserveContext): xdr.LedgerEntryExt | ReserveProblem {
  const { changes, ledgerSequence } = context;
  const sponsorId = currentSponsor(owner.accountId.ed25519.value, context);
  const problem = reserveSubentry(owner, sponsorId, context);
  if (problem) return problem;
  const counted = withFields(owner, { numSubEntries: owner.numSubEntries + 1 });
  storeAccount(changes, sponsorId ? withSponsored(counted, 1) : counted, ledgerSequence);
  return sponsorId ? sponsoredBy(sponsorId) : xdr.LedgerEntryExt.v0();
}

/** Makes the sponsor, if there is one, pay for one more subentry of an account. Answers what keeps it from having that. */
function reserveSubentry(
  owner: xdr.AccountEntry,
  sponsorId: Uint8Array | undefined,
  context: ReserveContext,
): ReserveProblem | undefined {
  if (owner.numSubEntries >= MAX_SUBENTRIES) return "too_many_subentries";
  if (sponsorId) return sponsor(sponsorId, 1, context);
  return canReserve(owner, 1) ? undefined : "low_reserve";
}

/** Takes out a trustline or data entry of an account, and gives its reserve back to whoever pays it. */
export function removeSubentry(
  keyXdr: Uint8Array,
  entry: xdr.LedgerEntry,
  owner: xdr.AccountEntry,
  context: ReserveContext,
): void {
  // A fork may have read the owner when this was not there yet; its signers were.
  const numSubEntries = Math.max(owner.signers.length, owner.numSubEntries - 1);
  const fewer = withFields(owner, { numSubEntries });
  const freed = sponsorOf(entry.ext) ? withSponsored(fewer, -1) : fewer;
  storeAccount(context.changes, freed, context.ledgerSequence);
  removeSponsored(keyXdr, entry, 1, context);
}

/** Takes out an entry and gives its reserves back to its sponsor, if it has one. */
export function removeSponsored(
  keyXdr: Uint8Array,
  entry: xdr.LedgerEntry,
  reserves: number,
  context: ReserveContext,
): void {
  const sponsorId = sponsorOf(entry.ext);
  if (sponsorId) addSponsoring(sponsorId, -reserves, context);
  context.changes.remove(keyOf(keyXdr));
}

/** The account with one more signer among these, each a subentry; or what keeps it from having that. */
export function withNewSigner(
  account: xdr.AccountEntry,
  signers: xdr.Signer[],
  context: ReserveContext,
): xdr.AccountEntry | ReserveProblem {
  const sponsorId = currentSponsor(account.accountId.ed25519.value, context);
  const problem = reserveSubentry(account, sponsorId, context);
  if (problem) return problem;
  const added = withSigners(account, signers, sponsorId);
  return sponsorId ? withSponsored(added, 1) : added;
}

/** The account with these of its signers; the reserves of those it no longer has go back to their sponsors. */
export function withoutSigners(
  account: xdr.AccountEntry,
  left: xdr.Signer[],
  context: Pick<ReserveContext, "changes" | "ledgerSequence">,
): xdr.AccountEntry {
  const { signerSponsors } = extensionsOf(account);
  const isGone = ({ key }: xdr.Signer) => !left.some((one) => one.key.equals(key));
  const freed = account.signers.flatMap((signer, index) => isGone(signer) ? signerSponsors[index] ?? [] : []);
  for (const { ed25519 } of freed) addSponsoring(ed25519.value, -1, context);
  const fewer = withSigners(account, left);
  return freed.length > 0 ? withSponsored(fewer, -freed.length) : fewer;
}

/** `newSponsor` pays for those that the account does not have yet. */
function withSigners(account: xdr.AccountEntry, signers: xdr.Signer[], newSponsor?: Uint8Array): xdr.AccountEntry {
  const numSubEntries = account.numSubEntries + signers.length - account.signers.length;
  const changed = withFields(account, { signers, numSubEntries });
  const hasSponsors = account.ext.type === "v1" && account.ext.v1.ext.type === "v2";
  if (!hasSponsors && !newSponsor) return changed;
  const held = extensionsOf(account).signerSponsors;
  const payerOfNew = newSponsor ? xdr.PublicKey.publicKeyTypeEd25519(newSponsor) : null;
  const signerSponsors = signers.map(({ key }) => {
    const index = account.signers.findIndex((one) => one.key.equals(key));
    return index < 0 ? payerOfNew : held[index] ?? null;
  });
  return withExtensions(changed, { signerSponsors });
}

/**
 * Makes another account pay so many base reserves that `owner` needs, if it has them: `from` and `to` are sponsors,
 * undefined stands for the owner.
 */
export function changePayer(
  { owner, from, to, reserves }: {
    owner: Uint8Array;
    from: Uint8Array | undefined;
    to: Uint8Array | undefined;
    reserves: number;
  },
  context: ReserveContext,
): "low_reserve" | undefined {
  const { changes, ledgerSequence } = context;
  if (!canReserve(loadAccount(changes, to ?? owner), reserves)) return "low_reserve";
  if (from) addSponsoring(from, -reserves, context);
  if (to) addSponsoring(to, reserves, context);
  const account = loadAccount(changes, owner);
  if (!account || (from && to)) return undefined;
  storeAccount(changes, withSponsored(account, to ? reserves : -reserves), ledgerSequence);
  return undefined;
}
