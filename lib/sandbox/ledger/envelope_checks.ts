import { xdr } from "@stellar/stellar-sdk";
import { availableBalance, extensionsOf, loadAccount, startingSequence } from "./accounts.ts";
import { sameBytes } from "./bytes.ts";
import { type Envelope, innerInclusionFee, isSorobanBody, type TransactionFrame } from "./envelopes.ts";
import type { TxCode } from "./results.ts";
import type { SignatureChecker, WeightedSigner } from "./signatures.ts";
import { type CheckResources, isSoroban } from "./soroban_checks.ts";
import type { LedgerView } from "./state.ts";
import { BASE_FEE, MAX_RESOURCE_FEE } from "./protocol.ts";

/** The ledger for the checks of a transaction. */
export interface CheckContext {
  view: LedgerView;
  /** The next ledger. */
  ledgerSequence: number;
  /** Unix seconds. */
  closeTime: number;
  /** Seconds until the next close. A transaction that is too late by then is refused now. */
  closeTimeSlack: number;
  checkResources: CheckResources;
}

/**
 * How far the checks of a transaction got. `invalid` leaves no trace. From `sequence` on its sequence number is used.
 * `authorized` is a failure after valid signatures.
 */
export type Stage = "invalid" | "sequence" | "authorized" | "valid";

export interface Validity {
  stage: Stage;
  code: TxCode;
}

const refuse = (stage: Stage, code: TxCode): Validity => ({ stage, code });

/** Whether the fees of the envelope are possible. All other checks rely on it. */
export function hasSaneFees(envelope: Envelope): boolean {
  const { inner } = envelope;
  if (envelope.fullFee < 0n) return false;
  if (!inner.sorobanBody) return true;
  const resourceFee = inner.sorobanData?.resourceFee ?? -1n;
  return resourceFee >= 0n && resourceFee <= MAX_RESOURCE_FEE;
}

/** Minimum inclusion fee for so many operations, in stroops. */
export function minimumInclusionFee(operationCount: number): bigint {
  return BASE_FEE * BigInt(Math.max(1, operationCount));
}

/**
 * Checks a transaction, or the inner one of a fee bump (`paysFee` false), in the order of stellar-core's `commonValid`. With
 * `applying` the fee is already charged.
 */
export function checkTransaction(
  frame: TransactionFrame,
  context: CheckContext,
  signatures: SignatureChecker,
  { applying, paysFee }: { applying: boolean; paysFee: boolean },
): Validity {
  const malformed = checkForm(frame, context, paysFee) ?? checkTime(frame, context) ?? checkFee(frame, paysFee);
  if (malformed) return refuse("invalid", malformed);
  const source = loadAccount(context.view, frame.source);
  if (!source) return refuse("invalid", "txNO_ACCOUNT");
  if (isBadSequence(frame, source.seqNum, context.ledgerSequence)) return refuse("invalid", "txBAD_SEQ");
  if (isTooEarlyForAccount(frame, source, context)) return refuse("sequence", "txBAD_MIN_SEQ_AGE_OR_GAP");
  if (!signatures.check(signersOf(source), thresholdOf(source, "low"), frame.source)) {
    return refuse("sequence", "txBAD_AUTH");
  }
  if (!hasExtraSignatures(frame, signatures)) return refuse("sequence", "txBAD_AUTH");
  const toPay = applying ? 0n : BigInt(frame.tx.fee);
  if (paysFee && availableBalance(source) < toPay) return refuse("authorized", "txINSUFFICIENT_BALANCE");
  return { stage: "valid", code: "txSUCCESS" };
}

function checkForm(frame: TransactionFrame, context: CheckContext, paysFee: boolean): TxCode | undefined {
  const { tx } = frame;
  if (!hasSaneExtraSigners(tx)) return "txMALFORMED";
  if (tx.operations.length === 0) return "txMISSING_OPERATION";
  const sorobanOperations = tx.operations.filter(({ body }) => isSorobanBody(body)).length;
  if (sorobanOperations > 0 && tx.operations.length > 1) return "txMALFORMED";
  if (sorobanOperations > 0) return hasSoundResources(frame, context, paysFee) ? undefined : "txSOROBAN_INVALID";
  return tx.ext.type === "v0" ? undefined : "txMALFORMED";
}

function hasSaneExtraSigners(tx: xdr.Transaction): boolean {
  const [first, second] = extraSignersOf(tx);
  if (first && second && first.equals(second)) return false;
  return extraSignersOf(tx).every((key) =>
    key.type !== "signerKeyTypeEd25519SignedPayload" || key.ed25519SignedPayload.payload.length > 0
  );
}

function hasSoundResources(frame: TransactionFrame, { checkResources }: CheckContext, paysFee: boolean): boolean {
  if (!isSoroban(frame)) return false;
  const { verdict } = checkResources(frame);
  return verdict !== "malformed" && verdict !== "soroban_invalid" &&
    (!paysFee || frame.sorobanData.resourceFee <= BigInt(frame.tx.fee));
}

type Preconditions = xdr.PreconditionsV2;

function preconditionsV2(tx: xdr.Transaction): Preconditions | undefined {
  return tx.cond.type === "precondV2" ? tx.cond.v2 : undefined;
}

function extraSignersOf(tx: xdr.Transaction): xdr.SignerKey[] {
  return preconditionsV2(tx)?.extraSigners ?? [];
}

/** Time and ledger bounds. */
export function checkTime(
  { tx }: TransactionFrame,
  { closeTime, closeTimeSlack, ledgerSequence }: Pick<CheckContext, "closeTime" | "closeTimeSlack" | "ledgerSequence">,
): TxCode | undefined {
  const time = tx.cond.type === "precondTime" ? tx.cond.timeBounds : preconditionsV2(tx)?.timeBounds;
  const ledgers = preconditionsV2(tx)?.ledgerBounds;
  if (time && time.minTime > BigInt(closeTime)) return "txTOO_EARLY";
  if (ledgers && ledgers.minLedger > ledgerSequence) return "txTOO_EARLY";
  if (time && time.maxTime !== 0n && time.maxTime < BigInt(closeTime + closeTimeSlack)) return "txTOO_LATE";
  if (ledgers && ledgers.maxLedger !== 0 && ledgers.maxLedger <= ledgerSequence) return "txTOO_LATE";
  return undefined;
}

function checkFee(frame: TransactionFrame, paysFee: boolean): TxCode | undefined {
  const enough = !paysFee || innerInclusionFee(frame) >= minimumInclusionFee(frame.tx.operations.length);
  return enough ? undefined : "txINSUFFICIENT_FEE";
}

function isBadSequence({ tx }: TransactionFrame, current: bigint, ledgerSequence: number): boolean {
  if (tx.seqNum === startingSequence(ledgerSequence)) return true;
  const least = preconditionsV2(tx)?.minSeqNum ?? null;
  if (least !== null) return current < least || current >= tx.seqNum;
  return current + 1n !== tx.seqNum;
}

function isTooEarlyForAccount({ tx }: TransactionFrame, source: xdr.AccountEntry, context: CheckContext): boolean {
  const conditions = preconditionsV2(tx);
  if (!conditions) return false;
  const { seqTime, seqLedger } = extensionsOf(source);
  return BigInt(context.closeTime) - conditions.minSeqAge < seqTime ||
    context.ledgerSequence - conditions.minSeqLedgerGap < seqLedger;
}

/** The account's own key, if it has weight, and its other signers. */
export function signersOf(account: xdr.AccountEntry): WeightedSigner[] {
  const masterWeight = account.thresholds.value[0] ?? 0;
  const master = { key: xdr.SignerKey.signerKeyTypeEd25519(account.accountId.ed25519.value), weight: masterWeight };
  return masterWeight > 0 ? [master, ...account.signers] : account.signers;
}

export type ThresholdLevel = "low" | "medium" | "high";

/** The weight that an account requires at a level. */
export function thresholdOf(account: xdr.AccountEntry, level: ThresholdLevel): number {
  return account.thresholds.value[{ low: 1, medium: 2, high: 3 }[level]] ?? 0;
}

function hasExtraSignatures({ tx }: TransactionFrame, signatures: SignatureChecker): boolean {
  const extra = extraSignersOf(tx);
  return extra.length === 0 || signatures.check(extra.map((key) => ({ key, weight: 1 })), extra.length);
}

/** A refused fee bump. `feeCharged` is the sufficient fee, after a fee that was too low. */
export interface FeeBumpRefusal {
  code: TxCode;
  feeCharged?: bigint;
}

/** Checks the outer part of a fee bump, as stellar-core does before the inner transaction. */
export function checkFeeBump(
  envelope: Envelope,
  context: CheckContext,
  signatures: SignatureChecker,
): FeeBumpRefusal | undefined {
  const tooLittle = checkFeeBumpFee(envelope);
  if (tooLittle) return tooLittle;
  const feeSource = loadAccount(context.view, envelope.feeSource);
  if (!feeSource) return { code: "txNO_ACCOUNT" };
  if (!signatures.check(signersOf(feeSource), thresholdOf(feeSource, "low"), envelope.feeSource)) {
    return { code: "txBAD_AUTH" };
  }
  if (availableBalance(feeSource) < envelope.fullFee) return { code: "txINSUFFICIENT_BALANCE" };
  return signatures.allUsed() ? undefined : { code: "txBAD_AUTH_EXTRA" };
}

/** A fee bump must pay the minimum, and per operation at least the bid of the inner transaction. */
function checkFeeBumpFee({ inclusionFee, operationCount, inner }: Envelope): FeeBumpRefusal | undefined {
  const leastOuter = minimumInclusionFee(operationCount);
  if (inclusionFee < leastOuter) return { code: "txINSUFFICIENT_FEE" };
  const innerFee = innerInclusionFee(inner);
  if (innerFee < 0n) return inner.sorobanBody ? undefined : { code: "txFEE_BUMP_INNER_FAILED" };
  const leastInner = minimumInclusionFee(inner.tx.operations.length);
  if (inclusionFee * leastInner >= innerFee * leastOuter) return undefined;
  return { code: "txINSUFFICIENT_FEE", feeCharged: (innerFee * leastOuter + leastInner - 1n) / leastInner };
}

/** Whether the account has this transaction among its pre-authorised ones. */
export function isPreAuthorized(account: xdr.AccountEntry, hash: Uint8Array): boolean {
  return account.signers.some(({ key }) =>
    key.type === "signerKeyTypePreAuthTx" && sameBytes(key.preAuthTx.value, hash)
  );
}
