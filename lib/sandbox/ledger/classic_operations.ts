import type { xdr } from "@stellar/stellar-sdk";
import {
  accountOf,
  availableBalance,
  BASE_RESERVE,
  canReceive,
  loadAccount,
  newAccount,
  storeAccount,
  withFields,
  withSequence,
} from "./accounts.ts";
import { recipientIdOf, transferEvent } from "./asset_events.ts";
import { sameBytes } from "./bytes.ts";
import { operationResult, refusedOperation } from "./results.ts";
import { applySetOptions, checkSetOptions } from "./set_options.ts";
import type { LedgerChanges } from "./state.ts";

/** What an operation did. `eventsXdr` are ContractEvents. */
export interface OperationOutcome {
  ok: boolean;
  /** OperationResult. */
  resultXdr: Uint8Array;
  eventsXdr: Uint8Array[];
}

/** The ledger an operation is applied in, and who runs it. */
export interface OperationContext {
  changes: LedgerChanges;
  /** The operation's source account. */
  source: Uint8Array;
  ledgerSequence: number;
  closeTime: number;
  memo: xdr.Memo;
  /** Contract id of the native asset. */
  nativeAsset: Uint8Array;
}

const CREATE_ACCOUNT = { success: 0, malformed: -1, underfunded: -2, lowReserve: -3, alreadyExists: -4 };
const PAYMENT = {
  success: 0,
  malformed: -1,
  underfunded: -2,
  sourceHasNoTrust: -3,
  noDestination: -5,
  noTrust: -6,
  lineFull: -8,
};
const BUMP_SEQUENCE = { success: 0, badSequence: -1 };

const MAX_OPERATION_AMOUNT = (1n << 63n) - 1n;

/** The operation's own checks, before anything is looked up: the OperationResult of a refusal, undefined when it may be tried. */
export function checkClassicOperation(body: xdr.OperationBody, source: Uint8Array): Uint8Array | undefined {
  switch (body.type) {
    case "createAccount": {
      const { destination, startingBalance } = body.createAccountOp;
      const malformed = startingBalance < 0n || sameBytes(destination.ed25519.value, source);
      return malformed ? operationResult("createAccount", CREATE_ACCOUNT.malformed) : undefined;
    }
    case "payment": {
      const { amount, asset } = body.paymentOp;
      const malformed = amount <= 0n || amount > MAX_OPERATION_AMOUNT || !isValidAsset(asset);
      return malformed ? operationResult("payment", PAYMENT.malformed) : undefined;
    }
    case "bumpSequence":
      return body.bumpSequenceOp.bumpTo < 0n ? operationResult("bumpSequence", BUMP_SEQUENCE.badSequence) : undefined;
    case "setOptions":
      return checkSetOptions(body.setOptionsOp, source);
    default:
      return refusedOperation("opNOT_SUPPORTED");
  }
}

/** Applies an operation that passed `checkClassicOperation`; its source exists. On failure the changes are to be dropped. */
export function applyClassicOperation(body: xdr.OperationBody, context: OperationContext): OperationOutcome {
  switch (body.type) {
    case "createAccount":
      return createAccount(body.createAccountOp, context);
    case "payment":
      return pay(body.paymentOp, context);
    case "bumpSequence":
      return bumpSequence(body.bumpSequenceOp, context);
    case "setOptions":
      return quiet(applySetOptions(body.setOptionsOp, context));
    default:
      return { ok: false, resultXdr: refusedOperation("opNOT_SUPPORTED"), eventsXdr: [] };
  }
}

function quiet({ ok, resultXdr }: { ok: boolean; resultXdr: Uint8Array }): OperationOutcome {
  return { ok, resultXdr, eventsXdr: [] };
}

function createAccount(op: xdr.CreateAccountOp, context: OperationContext): OperationOutcome {
  const { changes, ledgerSequence, source: sourceId, nativeAsset, memo } = context;
  const fail = (code: number) => quiet({ ok: false, resultXdr: operationResult("createAccount", code) });
  const destination = op.destination.ed25519.value;
  if (loadAccount(changes, destination)) return fail(CREATE_ACCOUNT.alreadyExists);
  if (op.startingBalance < BigInt(2 * BASE_RESERVE)) return fail(CREATE_ACCOUNT.lowReserve);
  const source = loadAccount(changes, sourceId);
  if (!source || availableBalance(source) < op.startingBalance) return fail(CREATE_ACCOUNT.underfunded);
  storeAccount(changes, withFields(source, { balance: source.balance - op.startingBalance }), ledgerSequence);
  storeAccount(changes, newAccount(destination, op.startingBalance, ledgerSequence), ledgerSequence);
  const recipientId = recipientIdOf(undefined, memo);
  return {
    ok: true,
    resultXdr: operationResult("createAccount", CREATE_ACCOUNT.success),
    eventsXdr: [transferEvent(nativeAsset, sourceId, destination, op.startingBalance, recipientId)],
  };
}

function pay(op: xdr.PaymentOp, context: OperationContext): OperationOutcome {
  const { changes, ledgerSequence, source: sourceId, nativeAsset, memo } = context;
  const fail = (code: number) => quiet({ ok: false, resultXdr: operationResult("payment", code) });
  const destinationId = accountOf(op.destination);
  if (op.asset.type !== "assetTypeNative") return payOther(op.asset, sourceId, destinationId, context);
  const event = transferEvent(nativeAsset, sourceId, destinationId, op.amount, recipientIdOf(op.destination, memo));
  const success = { ok: true, resultXdr: operationResult("payment", PAYMENT.success), eventsXdr: [event] };
  if (sameBytes(sourceId, destinationId)) return success;

  const destination = loadAccount(changes, destinationId);
  if (!destination) return fail(PAYMENT.noDestination);
  if (!canReceive(destination, op.amount)) return fail(PAYMENT.lineFull);
  const source = loadAccount(changes, sourceId);
  if (!source || availableBalance(source) < op.amount) return fail(PAYMENT.underfunded);
  storeAccount(changes, withFields(destination, { balance: destination.balance + op.amount }), ledgerSequence);
  storeAccount(changes, withFields(source, { balance: source.balance - op.amount }), ledgerSequence);
  return success;
}

/** A payment of an issued asset: nobody holds one here, because nothing opens trustlines; the codes are those of that. */
function payOther(
  asset: xdr.Asset,
  source: Uint8Array,
  destination: Uint8Array,
  { changes }: OperationContext,
): OperationOutcome {
  const end = (code: number) => quiet({ ok: code === PAYMENT.success, resultXdr: operationResult("payment", code) });
  const issuer = issuerOf(asset);
  if (issuer && sameBytes(issuer, destination)) {
    return end(sameBytes(issuer, source) ? PAYMENT.success : PAYMENT.sourceHasNoTrust);
  }
  return end(loadAccount(changes, destination) ? PAYMENT.noTrust : PAYMENT.noDestination);
}

function issuerOf(asset: xdr.Asset): Uint8Array | undefined {
  if (asset.type === "assetTypeCreditAlphanum4") return asset.alphaNum4.issuer.ed25519.value;
  if (asset.type === "assetTypeCreditAlphanum12") return asset.alphaNum12.issuer.ed25519.value;
  return undefined;
}

/** The code is letters and digits, then zeros only; the long form has at least five characters. */
function isValidAsset(asset: xdr.Asset): boolean {
  if (asset.type === "assetTypeNative") return true;
  const long = asset.type === "assetTypeCreditAlphanum12";
  const code = long ? asset.alphaNum12.assetCode.value : asset.alphaNum4.assetCode.value;
  const text = String.fromCharCode(...code);
  return (long ? /^[a-zA-Z0-9]{5,12}\0*$/ : /^[a-zA-Z0-9]{1,4}\0*$/).test(text);
}

function bumpSequence(op: xdr.BumpSequenceOp, context: OperationContext): OperationOutcome {
  const { changes, ledgerSequence, closeTime } = context;
  const source = loadAccount(changes, context.source);
  if (!source) return quiet({ ok: false, resultXdr: refusedOperation("opNO_ACCOUNT") });
  const sequence = op.bumpTo > source.seqNum ? op.bumpTo : source.seqNum;
  storeAccount(changes, withSequence(source, sequence, ledgerSequence, closeTime), ledgerSequence);
  return quiet({ ok: true, resultXdr: operationResult("bumpSequence", BUMP_SEQUENCE.success) });
}
