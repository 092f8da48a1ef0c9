import { xdr } from "@stellar/stellar-sdk";
import { availableBalance, canReceive, loadAccount, storeAccount, withFields } from "../accounts.ts";
import { clawbackEvent, movementEvent, recipientIdOf } from "../asset_events.ts";
import { isIssued, isIssuer, isValidAsset } from "../assets.ts";
import { createXdrWriter, sameBytes } from "../bytes.ts";
import { loadEntry, sponsoredBy, storeEntry } from "../classic_entries.ts";
import { currentSponsor, removeSponsored, sponsor } from "../reserves.ts";
import { operationResult } from "../results.ts";
import { changeHolding, loadTrustline } from "../trustlines.ts";
import { absolutePredicate, holds, isValidPredicate } from "./claim_predicate.ts";
import { failure, type OperationContext, operationId, type OperationOutcome, success } from "./operation.ts";
import { AUTH_CLAWBACK, BALANCE_CLAWBACK_ENABLED, CLAWBACK_ENABLED, LEDGER_ENTRY_TYPES } from "../protocol.ts";

/** Claimable balances (CAP-23, CAP-35). The creator, or its sponsor, pays a base reserve for each claimant. */

const CREATE = { malformed: -1, lowReserve: -2, noTrust: -3, notAuthorized: -4, underfunded: -5 };
const CLAIM = { doesNotExist: -1, cannotClaim: -2, lineFull: -3, noTrust: -4, notAuthorized: -5 };
const CLAWBACK = { doesNotExist: -1, notIssuer: -2, notEnabled: -3 };

export function checkCreateClaimableBalance(op: xdr.CreateClaimableBalanceOp): Uint8Array | undefined {
  const { asset, amount, claimants } = op;
  const destinations = new Set(claimants.map(({ v0 }) => v0.destination.toXdr("hex")));
  const sound = isValidAsset(asset) && amount > 0n && claimants.length > 0 &&
    destinations.size === claimants.length && claimants.every(({ v0 }) => isValidPredicate(v0.predicate));
  return sound ? undefined : operationResult("createClaimableBalance", CREATE.malformed);
}

export function createClaimableBalance(
  op: xdr.CreateClaimableBalanceOp,
  context: OperationContext,
): OperationOutcome {
  const { changes, source, ledgerSequence, closeTime, networkId } = context;
  const fail = (code: number) => failure("createClaimableBalance", code);
  const problem = takeFromSource(op, context);
  if (problem !== undefined) return fail(problem);
  const sponsorId = currentSponsor(source, context) ?? source;
  if (sponsor(sponsorId, op.claimants.length, context)) return fail(CREATE.lowReserve);
  const hash = operationId(context);
  const balanceId = xdr.ClaimableBalanceId.claimableBalanceIdTypeV0(hash);
  const claimants = op.claimants.map(({ v0: { destination, predicate } }) =>
    xdr.Claimant.claimantTypeV0(
      new xdr.ClaimantV0({ destination, predicate: absolutePredicate(predicate, closeTime) }),
    )
  );
  const { asset, amount } = op;
  const balance = new xdr.ClaimableBalanceEntry({ balanceId, claimants, asset, amount, ext: extension(op, context) });
  const data = xdr.LedgerEntryData.claimableBalance(balance);
  storeEntry(changes, balanceKeyXdr(balanceId), data, ledgerSequence, sponsoredBy(sponsorId));
  const [from, to] = [{ account: source }, { claimableBalance: hash }];
  const event = movementEvent({ networkId, asset, from, to, amount });
  return success("createClaimableBalance", [event], balanceId.toXdr());
}

/** Takes the amount from the source. Returns the result code of a failure. */
function takeFromSource(
  { asset, amount }: xdr.CreateClaimableBalanceOp,
  { changes, source, ledgerSequence }: OperationContext,
): number | undefined {
  const account = loadAccount(changes, source);
  if (!account) return CREATE.underfunded;
  if (isIssued(asset)) {
    // stellar-core writes the source account back here, changed or not.
    storeAccount(changes, account, ledgerSequence);
    const problem = changeHolding(changes, source, asset, -amount, ledgerSequence);
    if (problem === "no_trust") return CREATE.noTrust;
    if (problem === "not_authorized") return CREATE.notAuthorized;
    return problem && CREATE.underfunded;
  }
  if (availableBalance(account) < amount) return CREATE.underfunded;
  storeAccount(changes, withFields(account, { balance: account.balance - amount }), ledgerSequence);
  return undefined;
}

/** A balance allows clawback if the holding that it comes from does. */
function extension(
  { asset }: xdr.CreateClaimableBalanceOp,
  { changes, source }: OperationContext,
): xdr.ClaimableBalanceEntryExt {
  if (!isIssued(asset)) return xdr.ClaimableBalanceEntryExt.v0();
  const enabled = isIssuer(source, asset)
    ? ((loadAccount(changes, source)?.flags ?? 0) & AUTH_CLAWBACK) !== 0
    : ((loadTrustline(changes, source, asset)?.line.flags ?? 0) & CLAWBACK_ENABLED) !== 0;
  if (!enabled) return xdr.ClaimableBalanceEntryExt.v0();
  return xdr.ClaimableBalanceEntryExt.v1(
    new xdr.ClaimableBalanceEntryExtensionV1({
      ext: xdr.ClaimableBalanceEntryExtensionV1Ext.v0(),
      flags: BALANCE_CLAWBACK_ENABLED,
    }),
  );
}

function balanceKeyXdr(balanceId: xdr.ClaimableBalanceId): Uint8Array {
  return createXdrWriter().uint32(LEDGER_ENTRY_TYPES.claimableBalance).raw(balanceId.toXdr()).finish();
}

interface HeldBalance {
  balance: xdr.ClaimableBalanceEntry;
  entry: xdr.LedgerEntry;
  keyXdr: Uint8Array;
}

function loadBalance({ changes }: OperationContext, balanceId: xdr.ClaimableBalanceId): HeldBalance | undefined {
  const keyXdr = balanceKeyXdr(balanceId);
  const entry = loadEntry(changes, keyXdr);
  return entry?.data.type === "claimableBalance" ? { balance: entry.data.claimableBalance, entry, keyXdr } : undefined;
}

/** Removes the balance, which frees the reserves of its sponsor. */
function removeBalance({ balance, entry, keyXdr }: HeldBalance, context: OperationContext): void {
  const { changes, source, ledgerSequence } = context;
  // stellar-core writes the source account back here, changed or not.
  const account = loadAccount(changes, source);
  if (account) storeAccount(changes, account, ledgerSequence);
  removeSponsored(keyXdr, entry, balance.claimants.length, context);
}

export function claimClaimableBalance(op: xdr.ClaimClaimableBalanceOp, context: OperationContext): OperationOutcome {
  const { source, closeTime, networkId, sourceAddress, memo } = context;
  const fail = (code: number) => failure("claimClaimableBalance", code);
  const held = loadBalance(context, op.balanceId);
  if (!held) return fail(CLAIM.doesNotExist);
  const { claimants, asset, amount } = held.balance;
  const claimant = claimants.find(({ v0 }) => sameBytes(v0.destination.ed25519.value, source));
  if (!claimant || !holds(claimant.v0.predicate, closeTime)) return fail(CLAIM.cannotClaim);
  const problem = giveToSource(held.balance, context);
  if (problem !== undefined) return fail(problem);
  removeBalance(held, context);
  const event = movementEvent({
    networkId,
    asset,
    from: { claimableBalance: op.balanceId.v0.value },
    to: { account: source },
    amount,
    recipientId: recipientIdOf(sourceAddress, memo),
  });
  return success("claimClaimableBalance", [event]);
}

/** Adds the amount to the source. Returns the result code of a failure. */
function giveToSource(
  { asset, amount }: xdr.ClaimableBalanceEntry,
  { changes, source, ledgerSequence }: OperationContext,
): number | undefined {
  if (isIssued(asset)) {
    const problem = changeHolding(changes, source, asset, amount, ledgerSequence);
    if (problem === "no_trust") return CLAIM.noTrust;
    if (problem === "not_authorized") return CLAIM.notAuthorized;
    return problem && CLAIM.lineFull;
  }
  const account = loadAccount(changes, source);
  if (!account || !canReceive(account, amount)) return CLAIM.lineFull;
  storeAccount(changes, withFields(account, { balance: account.balance + amount }), ledgerSequence);
  return undefined;
}

export function clawbackClaimableBalance(
  op: xdr.ClawbackClaimableBalanceOp,
  context: OperationContext,
): OperationOutcome {
  const fail = (code: number) => failure("clawbackClaimableBalance", code);
  const held = loadBalance(context, op.balanceId);
  if (!held) return fail(CLAWBACK.doesNotExist);
  const { asset, amount, ext } = held.balance;
  if (!isIssuer(context.source, asset)) return fail(CLAWBACK.notIssuer);
  if (ext.type !== "v1" || (ext.v1.flags & BALANCE_CLAWBACK_ENABLED) === 0) return fail(CLAWBACK.notEnabled);
  removeBalance(held, context);
  const from = { claimableBalance: op.balanceId.v0.value };
  return success("clawbackClaimableBalance", [clawbackEvent(context.networkId, asset, from, amount)]);
}
