import { xdr } from "@stellar/stellar-sdk";
import { availableBalance, extensionsOf, loadAccount, storeAccount, withExtensions, withFields } from "./accounts.ts";
import { keyOf, sameBytes } from "./bytes.ts";
import { sponsoredBy, sponsorOf } from "./classic_entries.ts";
import type { LedgerChanges } from "./state.ts";
import { ACCOUNT_RESERVES, BASE_RESERVE, MAX_SUBENTRIES } from "./protocol.ts";

/*
 * Reserves of accounts and their entries (CAP-33). The account pays them, or a sponsor, which agrees in the transaction that
 * creates the entry or in a later one. An account's `numSponsored` counts the reserves that others pay for it,
 * `numSponsoring` those that it pays for others.
 */

/** The reason why an entry cannot be created. */
export type ReserveProblem = "too_many_subentries" | "low_reserve";

/** Sponsors by sponsored account, from BeginSponsoringFutureReserves to EndSponsoringFutureReserves in a transaction. */
export type Sponsorships = Map<string, Uint8Array>;

/** The ledger and transaction around a reserve. */
export interface ReserveContext {
  changes: LedgerChanges;
  sponsorships: Sponsorships;
  ledgerSequence: number;
}

/** The account that sponsors this one in the same transaction, undefined without a sponsor. */
export function currentSponsor(account: Uint8Array, { sponsorships }: ReserveContext): Uint8Array | undefined {
  return sponsorships.get(keyOf(account));
}

/** Whether an account sponsors another one in the same transaction. */
export function isSponsoring(account: Uint8Array, { sponsorships }: ReserveContext): boolean {
  return sponsorships.values().some((sponsorId) => sameBytes(sponsorId, account));
}

/** Whether an account can pay so many more base reserves. */
function canReserve(account: xdr.AccountEntry | undefined, reserves: number): boolean {
  return account !== undefined && availableBalance(account) >= BigInt(reserves * BASE_RESERVE);
}

/** Makes an account pay so many more base reserves for entries of others, if it can. */
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
  // A fork may have read the sponsor after the end of the sponsorship over there.
  const numSponsoring = Math.max(0, extensionsOf(account).numSponsoring + reserves);
  storeAccount(changes, withExtensions(account, { numSponsoring }), ledgerSequence);
}

/** A new account and its extension. The account pays its reserves, or its sponsor does. */
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

/** The account with so many more sponsored base reserves, or fewer. */
function withSponsored(account: xdr.AccountEntry, reserves: number): xdr.AccountEntry {
  const numSponsored = Math.max(0, extensionsOf(account).numSponsored + reserves);
  return withExtensions(account, { numSponsored });
}

/** Counts a new trustline or data entry of an account. Returns its extension, or the problem. */
export function addSubentry(owner: xdr.AccountEntry, context: ReserveContext): xdr.LedgerEntryExt | ReserveProblem {
  const { changes, ledgerSequence } = context;
  const sponsorId = currentSponsor(owner.accountId.ed25519.value, context);
  const problem = reserveSubentry(owner, sponsorId, context);
  if (problem) return problem;
  const counted = withFields(owner, { numSubEntries: owner.numSubEntries + 1 });
  storeAccount(changes, sponsorId ? withSponsored(counted, 1) : counted, ledgerSequence);
  return sponsorId ? sponsoredBy(sponsorId) : xdr.LedgerEntryExt.v0();
}

/** Reserves one more subentry of an account, at its sponsor if there is one. Returns the problem. */
function reserveSubentry(
  owner: xdr.AccountEntry,
  sponsorId: Uint8Array | undefined,
  context: ReserveContext,
): ReserveProblem | undefined {
  if (owner.numSubEntries >= MAX_SUBENTRIES) return "too_many_subentries";
  if (sponsorId) return sponsor(sponsorId, 1, context);
  return canReserve(owner, 1) ? undefined : "low_reserve";
}

/** Removes a trustline or data entry of an account and frees its reserve. */
export function removeSubentry(
  keyXdr: Uint8Array,
  entry: xdr.LedgerEntry,
  owner: xdr.AccountEntry,
  context: ReserveContext,
): void {
  // A fork may have read the owner before this subentry existed, but with its signers.
  const numSubEntries = Math.max(owner.signers.length, owner.numSubEntries - 1);
  const fewer = withFields(owner, { numSubEntries });
  const freed = sponsorOf(entry.ext) ? withSponsored(fewer, -1) : fewer;
  storeAccount(context.changes, freed, context.ledgerSequence);
  removeSponsored(keyXdr, entry, 1, context);
}

/** Removes an entry and frees the reserves of its sponsor, if it has one. */
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

/** The account with these signers, one of them new, or the problem. A signer is a subentry. */
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

/** The account with only these of its signers. Frees the reserves of the sponsors of the others. */
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

/** @param newSponsor pays for signers that the account does not have yet */
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
 * Moves so many base reserves of `owner` from one payer to another, if that one can pay. `from` and `to` are sponsors, or
 * undefined for the owner.
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
