import {
  Address,
  encodeMuxedAccountToAddress,
  extractBaseAddress,
  FeeBumpTransaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk/base";
import { GatewayError, type Retry } from "../../errors.ts";
import type { ContractCall } from "./contract_call.ts";
import { MIN_INCLUSION_FEE } from "./fees.ts";

/** How many seconds ahead the upper time bound of a submitted transaction may be. */
export const LONGEST_VALIDITY_SECONDS = 3600;

/** A signed envelope that the gateway may send. */
export interface CheckedEnvelope {
  /** Base64, as sent. */
  xdr: string;
  /** Hex; of the outer transaction if there are two. */
  hash: string;
  /** Of the inner transaction; equal to `hash` if there is only one. */
  innerHash: string;
  /** Upper time bound of the (inner) transaction, Unix seconds. */
  validUntil: number;
  /** The account whose sequence number the transaction uses, `G…`. */
  source: string;
  sequence: bigint;
  /** Bytes of the inner transaction's envelope, without signatures. */
  unsigned: Uint8Array;
  call: ContractCall;
  /**
   * The accounts whose authorisation it carries: the operation's source, and the signers of its authorisation entries.
   */
  authorisers: string[];
}

export interface EnvelopeCheckParts {
  networkPassphrase: string;
  /** Why the gateway does not send this call, undefined when it does. */
  refuseCall(call: ContractCall): string | undefined;
}

/**
 * Parses an envelope and refuses all but one signed invocation that `refuseCall` allows. It needs declared resources
 * and a time bound, and may have no memo and no muxed source. For a fee bump this applies to the inner transaction.
 * @throws {GatewayError} `invalid_request` with what is wrong
 */
export function checkEnvelope(envelopeXdr: string, parts: EnvelopeCheckParts): CheckedEnvelope {
  const envelope = decoded(envelopeXdr);
  if (envelope.type === "envelopeTypeTxV0") throw refused("must be a transaction of version 1, got version 0");
  if (envelope.type === "envelopeTypeTxFeeBump" && envelope.feeBump.signatures.length === 0) {
    throw refused("is not signed: the fee bump carries no signature");
  }
  const inner = innerEnvelope(envelope);
  if (inner.signatures.length === 0) throw refused("is not signed: the source account has to sign it first");
  const { tx } = inner;
  const call = theOneCall(tx);
  const objection = parts.refuseCall(call);
  if (objection !== undefined) throw refused(objection);
  requireSorobanData(tx);
  requireFee(envelope, tx);
  const transaction = TransactionBuilder.fromXdr(envelope, parts.networkPassphrase);
  const innermost = transaction instanceof FeeBumpTransaction ? transaction.innerTransaction : transaction;
  return {
    xdr: envelope.toXdr("base64"),
    hash: xdr.encodeBytes(transaction.hash(), "hex"),
    innerHash: xdr.encodeBytes(innermost.hash(), "hex"),
    validUntil: upperTimeBound(tx),
    source: extractBaseAddress(encodeMuxedAccountToAddress(tx.sourceAccount)),
    sequence: tx.seqNum,
    unsigned: withoutSignatures(inner),
    call,
    authorisers: authorisersOf(tx),
  };
}

function refused(message: string, retry?: Retry): GatewayError {
  return new GatewayError("invalid_request", `xdr ${message}`, { param: "xdr", retry });
}

function decoded(envelopeXdr: string): xdr.TransactionEnvelope {
  try {
    return xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64");
  } catch (cause) {
    throw new GatewayError("invalid_request", "xdr is not a base64 transaction envelope", { param: "xdr", cause });
  }
}

function theOneCall(tx: xdr.Transaction): ContractCall {
  const [operation, ...more] = tx.operations;
  if (operation === undefined || more.length > 0) {
    throw refused(`must hold exactly one operation, got ${tx.operations.length}`);
  }
  if (operation.body.type !== "invokeHostFunction") {
    throw refused(`must invoke a contract, got the operation ${operation.body.type}`);
  }
  const { hostFunction } = operation.body.invokeHostFunctionOp;
  if (hostFunction.type !== "hostFunctionTypeInvokeContract") {
    throw refused("must invoke a contract's function, not upload or create a contract");
  }
  refuseMemoAndMux(tx, operation.sourceAccount);
  return callOf(hostFunction.invokeContract);
}

function authorisersOf({ sourceAccount, operations: [operation] }: xdr.Transaction): string[] {
  const source = extractBaseAddress(encodeMuxedAccountToAddress(operation?.sourceAccount ?? sourceAccount));
  const auth = operation?.body.type === "invokeHostFunction" ? operation.body.invokeHostFunctionOp.auth : [];
  return [source, ...auth.flatMap(({ credentials }) => credentialsAddress(credentials) ?? [])];
}

/** The account whose authorisation an entry holds; undefined for the operation's source. */
export function credentialsAddress(credentials: xdr.SorobanCredentials): string | undefined {
  if (credentials.type === "sorobanCredentialsSourceAccount") return undefined;
  const address = credentials.type === "sorobanCredentialsAddressWithDelegates"
    ? credentials.value.addressCredentials.address
    : credentials.value.address;
  return Address.fromScAddress(address).toString();
}

/** A call as a transaction holds it. */
export function callOf({ contractAddress, functionName, args }: xdr.InvokeContractArgs): ContractCall {
  return { contract: Address.fromScAddress(contractAddress).toString(), function: functionName.toString(), args };
}

/** The invocation in an envelope, undefined when its first operation is none. @throws {Error} for anything but XDR */
export function calledIn(envelopeXdr: string): ContractCall | undefined {
  const envelope = xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64");
  if (envelope.type === "envelopeTypeTxV0") return undefined;
  const body = innerEnvelope(envelope).tx.operations[0]?.body;
  if (body?.type !== "invokeHostFunction") return undefined;
  const { hostFunction } = body.invokeHostFunctionOp;
  return hostFunction.type === "hostFunctionTypeInvokeContract" ? callOf(hostFunction.invokeContract) : undefined;
}

/** The account whose sequence number an invocation's envelope uses. @throws {Error} for any other envelope */
export function sourceIn(envelopeXdr: string): string {
  const envelope = xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64");
  if (envelope.type === "envelopeTypeTxV0") throw new Error("version 0 has no invocation");
  return extractBaseAddress(encodeMuxedAccountToAddress(innerEnvelope(envelope).tx.sourceAccount));
}

/** The (inner) transaction of an envelope without its signatures; undefined for one of version 0. */
export function unsignedEnvelope(envelopeXdr: string): Uint8Array | undefined {
  const envelope = xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64");
  return envelope.type === "envelopeTypeTxV0" ? undefined : withoutSignatures(innerEnvelope(envelope));
}

function withoutSignatures({ tx }: xdr.TransactionV1Envelope): Uint8Array {
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] })).toXdr();
}

function innerEnvelope(
  envelope: xdr.TransactionEnvelopeTx | xdr.TransactionEnvelopeTxFeeBump,
): xdr.TransactionV1Envelope {
  return envelope.type === "envelopeTypeTxFeeBump" ? envelope.feeBump.tx.innerTx.value : envelope.v1;
}

/** Core answers only txMalformed, which does not name what is missing. */
function requireSorobanData({ ext }: xdr.Transaction): void {
  if (ext.type === "sorobanData") return;
  throw refused(
    "must carry Soroban data, which declares resources and their fee; got none. Prepare again, and sign the result " +
      "unchanged",
    "prepare_again",
  );
}

/** Core answers txMalformed to such a fee, which does not name the fee. */
function requireFee(envelope: xdr.TransactionEnvelope, { fee, ext }: xdr.Transaction): void {
  const isBump = envelope.type === "envelopeTypeTxFeeBump";
  const bid = isBump ? envelope.feeBump.tx.fee : BigInt(fee);
  const resourceFee = ext.type === "sorobanData" ? ext.sorobanData.resourceFee : 0n;
  const least = resourceFee + MIN_INCLUSION_FEE * (isBump ? 2n : 1n);
  if (bid >= least) return;
  throw refused(
    `bids a fee of ${bid} stroops, while its resources cost ${resourceFee} and inclusion at least ${
      least - resourceFee
    } ` +
      "more. Prepare again, and sign the result unchanged",
    "prepare_again",
  );
}

/** Since protocol 25 stellar-core refuses an invocation with a memo or a muxed source. */
function refuseMemoAndMux(tx: xdr.Transaction, operationSource: xdr.MuxedAccount | null): void {
  if (tx.memo.type !== "memoNone") throw refused("must have no memo: the network refuses one with an invocation");
  const muxed = [tx.sourceAccount, operationSource].some((source) => source?.type === "keyTypeMuxedEd25519");
  if (muxed) throw refused("must have a G… source: the network refuses a muxed one (M…) with an invocation");
}

function upperTimeBound(tx: xdr.Transaction): number {
  const { cond } = tx;
  const bounds = cond.type === "precondTime" ? cond.timeBounds : cond.type === "precondV2" ? cond.v2.timeBounds : null;
  const maxTime = bounds?.maxTime ?? 0n;
  if (maxTime === 0n) throw refused("must have an upper time bound, so that its outcome can be known; got none");
  return Number(maxTime);
}

/**
 * @throws {GatewayError} `invalid_request` when the time bound is so late that its outcome would stay unknown for too
 * long
 */
export function requireNearBound(validUntil: number, nowSeconds: number): void {
  const latest = nowSeconds + LONGEST_VALIDITY_SECONDS;
  if (validUntil <= latest) return;
  throw refused(`must be bounded in time by at most an hour from now (${latest}), got ${validUntil}`);
}
