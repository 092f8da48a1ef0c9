import type { xdr } from "@stellar/stellar-sdk";
import {
  accountOf,
  availableBalance,
  canReceive,
  loadAccount,
  newAccount,
  storeAccount,
  withFields,
} from "../accounts.ts";
import { clawbackEvent, movementEvent, recipientIdOf } from "../asset_events.ts";
import { isIssued, isIssuer, type IssuedAsset, isValidAsset, NATIVE } from "../assets.ts";
import { sameBytes } from "../bytes.ts";
import { reserveAccount } from "../reserves.ts";
import { operationResult } from "../results.ts";
import { addBalance, changeHolding, loadTrustline } from "../trustlines.ts";
import { failure, type OperationContext, type OperationOutcome, success } from "./operation.ts";
import { CLAWBACK_ENABLED } from "../protocol.ts";

const CREATE_ACCOUNT = { malformed: -1, underfunded: -2, lowReserve: -3, alreadyExists: -4 };
const PAYMENT = {
  malformed: -1,
  underfunded: -2,
  sourceHasNoTrust: -3,
  sourceNotAuthorized: -4,
  noDestination: -5,
  noTrust: -6,
  notAuthorized: -7,
  lineFull: -8,
};
const CLAWBACK = { malformed: -1, notEnabled: -2, noTrust: -3, underfunded: -4 };

export function checkCreateAccount(
  { destination, startingBalance }: xdr.CreateAccountOp,
  source: Uint8Array,
): Uint8Array | undefined {
  const malformed = startingBalance < 0n || sameBytes(destination.ed25519.value, source);
  return malformed ? operationResult("createAccount", CREATE_ACCOUNT.malformed) : undefined;
}

export function createAccount(op: xdr.CreateAccountOp, context: OperationContext): OperationOutcome {
  const { changes, ledgerSequence, source: sourceId, networkId, memo } = context;
  const fail = (code: number) => failure("createAccount", code);
  const destination = op.destination.ed25519.value;
  if (loadAccount(changes, destination)) return fail(CREATE_ACCOUNT.alreadyExists);
  const created = reserveAccount(newAccount(destination, op.startingBalance, ledgerSequence), context);
  if (created === "low_reserve") return fail(CREATE_ACCOUNT.lowReserve);
  const source = loadAccount(changes, sourceId);
  if (!source || availableBalance(source) < op.startingBalance) return fail(CREATE_ACCOUNT.underfunded);
  storeAccount(changes, withFields(source, { balance: source.balance - op.startingBalance }), ledgerSequence);
  storeAccount(changes, created.account, ledgerSequence, created.ext);
  const event = movementEvent({
    networkId,
    asset: NATIVE,
    from: { account: sourceId },
    to: { account: destination },
    amount: op.startingBalance,
    recipientId: recipientIdOf(undefined, memo),
  });
  return success("createAccount", [event]);
}

export function checkPayment({ amount, asset }: xdr.PaymentOp): Uint8Array | undefined {
  return amount > 0n && isValidAsset(asset) ? undefined : operationResult("payment", PAYMENT.malformed);
}

export function pay(op: xdr.PaymentOp, context: OperationContext): OperationOutcome {
  const { source, networkId, memo } = context;
  const destination = accountOf(op.destination);
  const problem = isIssued(op.asset)
    ? moveIssued(op.asset, destination, op.amount, context)
    : moveLumens(destination, op.amount, context);
  if (problem !== undefined) return failure("payment", problem);
  const event = movementEvent({
    networkId,
    asset: op.asset,
    from: { account: source },
    to: { account: destination },
    amount: op.amount,
    recipientId: recipientIdOf(op.destination, memo),
  });
  return success("payment", [event]);
}

/** Returns the result code of a failure. */
function moveLumens(
  destinationId: Uint8Array,
  amount: bigint,
  { changes, source: sourceId, ledgerSequence }: OperationContext,
): number | undefined {
  if (sameBytes(sourceId, destinationId)) return undefined;
  const destination = loadAccount(changes, destinationId);
  if (!destination) return PAYMENT.noDestination;
  if (!canReceive(destination, amount)) return PAYMENT.lineFull;
  const source = loadAccount(changes, sourceId);
  if (!source || availableBalance(source) < amount) return PAYMENT.underfunded;
  storeAccount(changes, withFields(destination, { balance: destination.balance + amount }), ledgerSequence);
  storeAccount(changes, withFields(source, { balance: source.balance - amount }), ledgerSequence);
  return undefined;
}

const RECEIVING = {
  no_trust: PAYMENT.noTrust,
  not_authorized: PAYMENT.notAuthorized,
  line_full: PAYMENT.lineFull,
  underfunded: PAYMENT.underfunded,
};
const SENDING = { ...RECEIVING, no_trust: PAYMENT.sourceHasNoTrust, not_authorized: PAYMENT.sourceNotAuthorized };

/** Checks the receiver before the sender, as stellar-core does. Returns the result code of a failure. */
function moveIssued(
  asset: IssuedAsset,
  destination: Uint8Array,
  amount: bigint,
  { changes, source, ledgerSequence }: OperationContext,
): number | undefined {
  // Since protocol 13 the issuer need not exist, not even as the destination.
  if (!isIssuer(destination, asset) && !loadAccount(changes, destination)) return PAYMENT.noDestination;
  const receiving = changeHolding(changes, destination, asset, amount, ledgerSequence);
  if (receiving) return RECEIVING[receiving];
  const sending = changeHolding(changes, source, asset, -amount, ledgerSequence);
  return sending && SENDING[sending];
}

export function checkClawback({ asset, from, amount }: xdr.ClawbackOp, source: Uint8Array): Uint8Array | undefined {
  const fromIssuer = from.type === "keyTypeEd25519" && sameBytes(from.ed25519.value, source);
  const sound = !fromIssuer && amount >= 1n && isValidAsset(asset) && isIssuer(source, asset);
  return sound ? undefined : operationResult("clawback", CLAWBACK.malformed);
}

/** Claws back an issued asset (CAP-35). */
export function clawback(
  op: xdr.ClawbackOp,
  { changes, ledgerSequence, networkId }: OperationContext,
): OperationOutcome {
  const from = accountOf(op.from);
  const held = loadTrustline(changes, from, op.asset as IssuedAsset);
  if (!held) return failure("clawback", CLAWBACK.noTrust);
  if ((held.line.flags & CLAWBACK_ENABLED) === 0) return failure("clawback", CLAWBACK.notEnabled);
  if (addBalance(changes, held, -op.amount, ledgerSequence)) return failure("clawback", CLAWBACK.underfunded);
  return success("clawback", [clawbackEvent(networkId, op.asset, { account: from }, op.amount)]);
}
