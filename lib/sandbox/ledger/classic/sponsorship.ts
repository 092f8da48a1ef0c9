import { xdr } from "@stellar/stellar-sdk";
import { extensionsOf, loadAccount, storeAccount, withExtensions } from "../accounts.ts";
import { isIssuer, isValidAsset } from "../assets.ts";
import { keyOf, sameBytes } from "../bytes.ts";
import { loadEntry, sponsoredBy, sponsorOf, storeEntry } from "../classic_entries.ts";
import { changePayer, currentSponsor, isSponsoring } from "../reserves.ts";
import { operationResult } from "../results.ts";
import { isValidDataName } from "./account_operations.ts";
import { failure, type OperationContext, type OperationOutcome, success } from "./operation.ts";
import { ACCOUNT_RESERVES } from "../protocol.ts";

/** Sponsored reserves (CAP-33): an account pays the reserves of another one's entries. */

const BEGIN = { malformed: -1, alreadySponsored: -2, recursive: -3 };
const END = { notSponsored: -1 };
const REVOKE = { doesNotExist: -1, notSponsor: -2, lowReserve: -3, onlyTransferable: -4, malformed: -5 };

export function checkBeginSponsoring(
  { sponsoredId }: xdr.BeginSponsoringFutureReservesOp,
  source: Uint8Array,
): Uint8Array | undefined {
  const malformed = sameBytes(sponsoredId.ed25519.value, source);
  return malformed ? operationResult("beginSponsoringFutureReserves", BEGIN.malformed) : undefined;
}

/** From here on the source sponsors the entries that the other account creates. That account need not exist yet. */
export function beginSponsoring(
  { sponsoredId }: xdr.BeginSponsoringFutureReservesOp,
  context: OperationContext,
): OperationOutcome {
  const { source, sponsorships } = context;
  const fail = (code: number) => failure("beginSponsoringFutureReserves", code);
  const sponsored = sponsoredId.ed25519.value;
  if (currentSponsor(sponsored, context)) return fail(BEGIN.alreadySponsored);
  const isChain = currentSponsor(source, context) !== undefined || isSponsoring(sponsored, context);
  if (isChain) return fail(BEGIN.recursive);
  sponsorships.set(keyOf(sponsored), source);
  return success("beginSponsoringFutureReserves");
}

/** The sponsored account ends the sponsorship, which shows its consent. */
export function endSponsoring({ source, sponsorships }: OperationContext): OperationOutcome {
  const wasSponsored = sponsorships.delete(keyOf(source));
  return wasSponsored
    ? success("endSponsoringFutureReserves")
    : failure("endSponsoringFutureReserves", END.notSponsored);
}

export function checkRevokeSponsorship(op: xdr.RevokeSponsorshipOp): Uint8Array | undefined {
  const sound = op.type === "revokeSponsorshipSigner" || canBeSponsored(op.ledgerKey);
  return sound ? undefined : operationResult("revokeSponsorship", REVOKE.malformed);
}

function canBeSponsored(key: xdr.LedgerKey): boolean {
  switch (key.type) {
    case "account":
    case "claimableBalance":
      return true;
    case "trustline": {
      const { accountId, asset } = key.trustLine;
      if (asset.type === "assetTypePoolShare") return true;
      return asset.type !== "assetTypeNative" && isValidAsset(asset) && !isIssuer(accountId.ed25519.value, asset);
    }
    case "offer":
      return key.offer.offerId > 0n;
    case "data":
      return isValidDataName(key.data.dataName);
    default:
      return false;
  }
}

/**
 * Ends the sponsorship of an entry or a signer. The present sponsor of the source becomes the new sponsor, else the owner
 * pays.
 */
export function revokeSponsorship(op: xdr.RevokeSponsorshipOp, context: OperationContext): OperationOutcome {
  const problem = op.type === "revokeSponsorshipLedgerEntry"
    ? revokeOfEntry(op.ledgerKey, context)
    : revokeOfSigner(op.signer, context);
  return problem === undefined ? success("revokeSponsorship") : failure("revokeSponsorship", problem);
}

/** Returns the result code of a failure, as does `revokeOfSigner`. */
function revokeOfEntry(key: xdr.LedgerKey, context: OperationContext): number | undefined {
  const { changes, source, ledgerSequence } = context;
  const keyXdr = key.toXdr();
  const entry = loadEntry(changes, keyXdr);
  if (!entry) return REVOKE.doesNotExist;
  const from = sponsorOf(entry.ext);
  const owner = ownerOf(entry);
  if (!owner || !sameBytes(from ?? owner, source)) return REVOKE.notSponsor;
  const to = nextSponsor(owner, context);
  if (!to && key.type === "claimableBalance") return REVOKE.onlyTransferable;
  const isChange = from !== undefined || to !== undefined;
  if (isChange && changePayer({ owner, from, to, reserves: reservesOf(entry) }, context)) return REVOKE.lowReserve;
  // stellar-core writes the entry, and the signer's account, back even without a sponsor before or after.
  const ext = isChange ? sponsoredBy(to) : entry.ext;
  const account = loadAccount(changes, owner);
  if (key.type === "account" && account) storeAccount(changes, account, ledgerSequence, ext);
  else storeEntry(changes, keyXdr, entry.data, ledgerSequence, ext);
  return undefined;
}

function revokeOfSigner(
  { accountId, signerKey }: xdr.RevokeSponsorshipOpSigner,
  context: OperationContext,
): number | undefined {
  const { changes, source, ledgerSequence } = context;
  const owner = accountId.ed25519.value;
  const held = loadAccount(changes, owner);
  const index = held?.signers.findIndex(({ key }) => key.equals(signerKey)) ?? -1;
  if (!held || index < 0) return REVOKE.doesNotExist;
  const from = extensionsOf(held).signerSponsors[index]?.ed25519.value;
  if (!sameBytes(from ?? owner, source)) return REVOKE.notSponsor;
  const to = nextSponsor(owner, context);
  if (!from && !to) {
    storeAccount(changes, held, ledgerSequence);
    return undefined;
  }
  if (changePayer({ owner, from, to, reserves: 1 }, context)) return REVOKE.lowReserve;
  const account = loadAccount(changes, owner) ?? held;
  const payer = to ? xdr.PublicKey.publicKeyTypeEd25519(to) : null;
  const signerSponsors = extensionsOf(account).signerSponsors.with(index, payer);
  storeAccount(changes, withExtensions(account, { signerSponsors }), ledgerSequence);
  return undefined;
}

/** The present sponsor of the source, unless that is the owner. */
function nextSponsor(owner: Uint8Array, context: OperationContext): Uint8Array | undefined {
  const sponsorId = currentSponsor(context.source, context);
  return sponsorId && !sameBytes(sponsorId, owner) ? sponsorId : undefined;
}

/** The owner of an entry. A claimable balance belongs to its sponsor. */
function ownerOf({ data, ext }: xdr.LedgerEntry): Uint8Array | undefined {
  switch (data.type) {
    case "account":
      return data.account.accountId.ed25519.value;
    case "trustline":
      return data.trustLine.accountId.ed25519.value;
    case "offer":
      return data.offer.sellerId.ed25519.value;
    case "data":
      return data.data.accountId.ed25519.value;
    default:
      return sponsorOf(ext);
  }
}

/** Base reserves of an entry. */
function reservesOf({ data }: xdr.LedgerEntry): number {
  if (data.type === "account") return ACCOUNT_RESERVES;
  if (data.type === "claimableBalance") return data.claimableBalance.claimants.length;
  return data.type === "trustline" && data.trustLine.asset.type === "assetTypePoolShare" ? 2 : 1;
}
