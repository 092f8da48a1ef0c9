import type { xdr } from "@stellar/stellar-sdk";
import { loadAccount, storeAccount, withFields } from "../accounts.ts";
import { keyOf, sameBytes } from "../bytes.ts";
import { withNewSigner, withoutSigners } from "../reserves.ts";
import { operationResult } from "../results.ts";
import { failure, type OperationContext, type OperationOutcome, refusal, success } from "./operation.ts";
import {
  ACCOUNT_FLAGS,
  AUTH_CLAWBACK,
  AUTH_IMMUTABLE,
  AUTH_REVOCABLE,
  MAX_SIGNER_WEIGHT,
  MAX_SIGNERS,
} from "../protocol.ts";

const CODES = {
  lowReserve: -1,
  tooManySigners: -2,
  badFlags: -3,
  invalidInflation: -4,
  cantChange: -5,
  unknownFlag: -6,
  thresholdOutOfRange: -7,
  badSigner: -8,
  invalidHomeDomain: -9,
  authRevocableRequired: -10,
};

const result = (code: number) => operationResult("setOptions", code);

/** Whether the operation changes signers or weights, which needs the high threshold. */
export function changesSigners(op: xdr.SetOptionsOp): boolean {
  return [op.masterWeight, op.lowThreshold, op.medThreshold, op.highThreshold, op.signer].some((v) => v !== null);
}

/** Checks a SetOptions without the ledger. Returns the OperationResult of a refusal, else undefined. */
export function checkSetOptions(op: xdr.SetOptionsOp, source: Uint8Array): Uint8Array | undefined {
  const [set, clear] = [op.setFlags ?? 0, op.clearFlags ?? 0];
  if (((set | clear) & ~ACCOUNT_FLAGS) !== 0) return result(CODES.unknownFlag);
  if ((set & clear) !== 0) return result(CODES.badFlags);
  const weights = [op.masterWeight, op.lowThreshold, op.medThreshold, op.highThreshold];
  if (weights.some((weight) => (weight ?? 0) > MAX_SIGNER_WEIGHT)) return result(CODES.thresholdOutOfRange);
  if (op.signer && !isValidSigner(op.signer, source)) return result(CODES.badSigner);
  if (op.homeDomain && !/^[\x20-\x7e]*$/.test(op.homeDomain.toString())) return result(CODES.invalidHomeDomain);
  return undefined;
}

function isValidSigner({ key, weight }: xdr.Signer, source: Uint8Array): boolean {
  if (weight > MAX_SIGNER_WEIGHT) return false;
  if (key.type === "signerKeyTypeEd25519") return !sameBytes(key.ed25519.value, source);
  return key.type !== "signerKeyTypeEd25519SignedPayload" || key.ed25519SignedPayload.payload.length > 0;
}

/** Applies a SetOptions that passed `checkSetOptions`. */
export function setOptions(op: xdr.SetOptionsOp, context: OperationContext): OperationOutcome {
  const { changes, source, ledgerSequence } = context;
  const fail = (code: number) => failure("setOptions", code);
  let account = loadAccount(changes, source);
  if (!account) return refusal("opNO_ACCOUNT");

  if (op.inflationDest) {
    if (!loadAccount(changes, op.inflationDest.ed25519.value)) return fail(CODES.invalidInflation);
    account = withFields(account, { inflationDest: op.inflationDest });
  }
  const changesFlags = (op.setFlags ?? 0) !== 0 || (op.clearFlags ?? 0) !== 0;
  if (changesFlags) {
    if ((account.flags & AUTH_IMMUTABLE) !== 0) return fail(CODES.cantChange);
    const flags = (account.flags & ~(op.clearFlags ?? 0)) | (op.setFlags ?? 0);
    if ((flags & AUTH_CLAWBACK) !== 0 && (flags & AUTH_REVOCABLE) === 0) return fail(CODES.authRevocableRequired);
    account = withFields(account, { flags });
  }
  if (op.homeDomain) account = withFields(account, { homeDomain: op.homeDomain });
  const held = account.thresholds.value;
  const wanted = [op.masterWeight, op.lowThreshold, op.medThreshold, op.highThreshold];
  account = withFields(account, { thresholds: Uint8Array.from(wanted, (weight, i) => weight ?? held[i] ?? 0) });
  if (op.signer) {
    const changed = withSigner(account, op.signer, context);
    if ("ok" in changed) return changed;
    account = changed;
  }
  storeAccount(changes, account, ledgerSequence);
  return success("setOptions");
}

/** The account with this signer added, changed or (weight 0) removed, or the failure. */
function withSigner(
  account: xdr.AccountEntry,
  signer: xdr.Signer,
  context: OperationContext,
): xdr.AccountEntry | OperationOutcome {
  const others = account.signers.filter((held) => !held.key.equals(signer.key));
  if (signer.weight === 0) return withoutSigners(account, others, context);
  const signers = inOrder([...others, signer]);
  if (others.length < account.signers.length) return withFields(account, { signers });
  if (others.length >= MAX_SIGNERS) return failure("setOptions", CODES.tooManySigners);
  const changed = withNewSigner(account, signers, context);
  if (changed === "too_many_subentries") return refusal("opTOO_MANY_SUBENTRIES");
  return changed === "low_reserve" ? failure("setOptions", CODES.lowReserve) : changed;
}

/** Sorts signers by key. */
function inOrder(signers: xdr.Signer[]): xdr.Signer[] {
  return signers.map((signer) => ({ signer, key: keyOf(signer.key.toXdr()) }))
    .sort((left, right) => left.key < right.key ? -1 : 1)
    .map(({ signer }) => signer);
}
