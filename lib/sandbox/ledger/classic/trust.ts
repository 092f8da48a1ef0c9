import { xdr } from "@stellar/stellar-sdk";
import { loadAccount } from "../accounts.ts";
import { authorizationEvent } from "../asset_events.ts";
import { isIssuer, type IssuedAsset, issuerOf, isValidAsset } from "../assets.ts";
import { sameBytes } from "../bytes.ts";
import { storeEntry } from "../classic_entries.ts";
import { addSubentry, removeSubentry } from "../reserves.ts";
import { operationResult, refusedOperation } from "../results.ts";
import {
  type HeldTrustline,
  liabilitiesOf,
  liquidityPoolsOf,
  loadTrustline,
  storeTrustline,
  trustlineKeyXdr,
} from "../trustlines.ts";
import { failure, type OperationContext, type OperationOutcome, refusal, success } from "./operation.ts";
import {
  AUTH_CLAWBACK,
  AUTH_REQUIRED,
  AUTH_REVOCABLE,
  AUTHORIZATION_FLAGS,
  AUTHORIZED,
  CLAWBACK_ENABLED,
  MAINTAINS_LIABILITIES,
  TRUSTLINE_FLAGS,
} from "../protocol.ts";

const CHANGE_TRUST = { malformed: -1, noIssuer: -2, invalidLimit: -3, lowReserve: -4, cannotDelete: -7 };
const SET_FLAGS = { malformed: -1, noTrustLine: -2, cantRevoke: -3, invalidState: -4 };
const ALLOW_TRUST = { malformed: -1, noTrustLine: -2, cantRevoke: -4 };

/** The asset of a trustline, undefined for lumens and for the shares of a liquidity pool. */
function trustedAsset({ line }: xdr.ChangeTrustOp): IssuedAsset | undefined {
  if (line.type === "assetTypeCreditAlphanum4") return xdr.Asset.assetTypeCreditAlphanum4(line.alphaNum4);
  if (line.type === "assetTypeCreditAlphanum12") return xdr.Asset.assetTypeCreditAlphanum12(line.alphaNum12);
  return undefined;
}

export function checkChangeTrust(op: xdr.ChangeTrustOp, source: Uint8Array): Uint8Array | undefined {
  if (op.line.type === "assetTypePoolShare") return refusedOperation("opNOT_SUPPORTED");
  const asset = trustedAsset(op);
  const sound = op.limit >= 0n && asset && isValidAsset(asset) && !isIssuer(source, asset);
  return sound ? undefined : operationResult("changeTrust", CHANGE_TRUST.malformed);
}

/** Opens, changes or (limit 0) closes a trustline. */
export function changeTrust(op: xdr.ChangeTrustOp, context: OperationContext): OperationOutcome {
  const { changes, source, ledgerSequence } = context;
  const fail = (code: number) => failure("changeTrust", code);
  const asset = trustedAsset(op) as IssuedAsset;
  const held = loadTrustline(changes, source, asset);
  if (!held) return openTrustline(asset, op.limit, context);
  if (op.limit < held.line.balance + liabilitiesOf(held.line).buying) return fail(CHANGE_TRUST.invalidLimit);
  if (op.limit > 0n) {
    if (!loadAccount(changes, issuerOf(asset))) return fail(CHANGE_TRUST.noIssuer);
    storeTrustline(changes, held, { limit: op.limit }, ledgerSequence);
    return success("changeTrust");
  }
  if (liquidityPoolsOf(held.line) > 0) return fail(CHANGE_TRUST.cannotDelete);
  const owner = loadAccount(changes, source);
  if (!owner) return refusal("opNO_ACCOUNT");
  removeSubentry(held.keyXdr, held.entry, owner, context);
  return success("changeTrust");
}

function openTrustline(asset: IssuedAsset, limit: bigint, context: OperationContext): OperationOutcome {
  const { changes, source, ledgerSequence } = context;
  const fail = (code: number) => failure("changeTrust", code);
  if (limit === 0n) return fail(CHANGE_TRUST.invalidLimit);
  const issuer = loadAccount(changes, issuerOf(asset));
  if (!issuer) return fail(CHANGE_TRUST.noIssuer);
  const owner = loadAccount(changes, source);
  if (!owner) return refusal("opNO_ACCOUNT");
  const ext = addSubentry(owner, context);
  if (ext === "too_many_subentries") return refusal("opTOO_MANY_SUBENTRIES");
  if (ext === "low_reserve") return fail(CHANGE_TRUST.lowReserve);
  const line = new xdr.TrustLineEntry({
    accountId: xdr.PublicKey.publicKeyTypeEd25519(source),
    asset: xdr.TrustLineAsset.fromXdr(asset.toXdr()),
    balance: 0n,
    limit,
    flags: ((issuer.flags & AUTH_REQUIRED) === 0 ? AUTHORIZED : 0) |
      ((issuer.flags & AUTH_CLAWBACK) === 0 ? 0 : CLAWBACK_ENABLED),
    ext: xdr.TrustLineEntryExt.v0(),
  });
  storeEntry(changes, trustlineKeyXdr(source, asset), xdr.LedgerEntryData.trustline(line), ledgerSequence, ext);
  return success("changeTrust");
}

/** At most one of both flags may be set. */
const isValidAuthorization = (flags: number) => (flags & AUTHORIZATION_FLAGS) !== AUTHORIZATION_FLAGS;

export function checkSetTrustLineFlags(op: xdr.SetTrustLineFlagsOp, source: Uint8Array): Uint8Array | undefined {
  const { asset, trustor, setFlags, clearFlags } = op;
  const sound = isValidAsset(asset) && isIssuer(source, asset) && !sameBytes(trustor.ed25519.value, source) &&
    (setFlags & clearFlags) === 0 && (setFlags & ~AUTHORIZATION_FLAGS) === 0 && isValidAuthorization(setFlags) &&
    (clearFlags & ~TRUSTLINE_FLAGS) === 0;
  return sound ? undefined : operationResult("setTrustLineFlags", SET_FLAGS.malformed);
}

export function setTrustLineFlags(op: xdr.SetTrustLineFlagsOp, context: OperationContext): OperationOutcome {
  const fail = (code: number) => failure("setTrustLineFlags", code);
  const asset = op.asset as IssuedAsset;
  const revokes = (op.clearFlags & AUTHORIZATION_FLAGS) !== 0 && (op.setFlags & AUTHORIZED) === 0;
  if (revokes && !isRevocable(context)) return fail(SET_FLAGS.cantRevoke);
  const held = loadTrustline(context.changes, op.trustor.ed25519.value, asset);
  if (!held) return fail(SET_FLAGS.noTrustLine);
  const flags = (held.line.flags & ~op.clearFlags) | op.setFlags;
  if (!isValidAuthorization(flags)) return fail(SET_FLAGS.invalidState);
  return success("setTrustLineFlags", changeFlags(held, asset, flags, context));
}

/** The asset of an AllowTrust, whose issuer is the source. */
function allowedAsset({ asset }: xdr.AllowTrustOp, source: Uint8Array): IssuedAsset {
  const issuer = xdr.PublicKey.publicKeyTypeEd25519(source);
  return asset.type === "assetTypeCreditAlphanum4"
    ? xdr.Asset.assetTypeCreditAlphanum4(new xdr.AlphaNum4({ assetCode: asset.assetCode4, issuer }))
    : xdr.Asset.assetTypeCreditAlphanum12(new xdr.AlphaNum12({ assetCode: asset.assetCode12, issuer }));
}

export function checkAllowTrust(op: xdr.AllowTrustOp, source: Uint8Array): Uint8Array | undefined {
  const sound = op.authorize <= MAINTAINS_LIABILITIES && isValidAsset(allowedAsset(op, source)) &&
    !sameBytes(op.trustor.ed25519.value, source);
  return sound ? undefined : operationResult("allowTrust", ALLOW_TRUST.malformed);
}

/** The older form of SetTrustLineFlags. */
export function allowTrust(op: xdr.AllowTrustOp, context: OperationContext): OperationOutcome {
  const fail = (code: number) => failure("allowTrust", code);
  const revocable = isRevocable(context);
  if (!revocable && op.authorize === 0) return fail(ALLOW_TRUST.cantRevoke);
  const asset = allowedAsset(op, context.source);
  const held = loadTrustline(context.changes, op.trustor.ed25519.value, asset);
  if (!held) return fail(ALLOW_TRUST.noTrustLine);
  const lowers = (held.line.flags & AUTHORIZED) !== 0 && (op.authorize & MAINTAINS_LIABILITIES) !== 0;
  if (!revocable && lowers) return fail(ALLOW_TRUST.cantRevoke);
  const flags = (held.line.flags & ~AUTHORIZATION_FLAGS) | op.authorize;
  return success("allowTrust", changeFlags(held, asset, flags, context));
}

/** Writes the flags. Returns an event if the authorization changed. */
function changeFlags(
  held: HeldTrustline,
  asset: IssuedAsset,
  flags: number,
  { changes, ledgerSequence, networkId }: OperationContext,
): Uint8Array[] {
  storeTrustline(changes, held, { flags }, ledgerSequence);
  if (((flags ^ held.line.flags) & AUTHORIZED) === 0) return [];
  const holder = held.line.accountId.ed25519.value;
  return [authorizationEvent(networkId, asset, holder, (flags & AUTHORIZED) !== 0)];
}

function isRevocable({ changes, source }: OperationContext): boolean {
  return ((loadAccount(changes, source)?.flags ?? 0) & AUTH_REVOCABLE) !== 0;
}
