import { xdr } from "@stellar/stellar-sdk";
import { accountOf } from "./accounts.ts";
import { createXdrWriter, sha256, toHex } from "./bytes.ts";

export type SorobanBody = Extract<
  xdr.OperationBody,
  { type: "invokeHostFunction" | "extendFootprintTtl" | "restoreFootprint" }
>;

/** A transaction with its signatures: a plain envelope, or the inner one of a fee bump. */
export interface TransactionFrame {
  tx: xdr.Transaction;
  signatures: xdr.DecoratedSignature[];
  /** The signed hash, 32 bytes. */
  hash: Uint8Array;
  /** Ed25519 public key of the source account. */
  source: Uint8Array;
  /** Size of this transaction's own TransactionEnvelope. */
  sizeBytes: number;
  /** The first operation, if it is a Soroban operation. */
  sorobanBody?: SorobanBody;
  /** The resources that the envelope declares, if any. */
  sorobanData?: xdr.SorobanTransactionData;
  /** Both encoded once, for the checks and for applying. */
  readonly sorobanXdr: { body: Uint8Array; data: Uint8Array };
}

export interface FeeBump {
  feeBump: xdr.FeeBumpTransaction;
  signatures: xdr.DecoratedSignature[];
  hash: Uint8Array;
}

/** A decoded envelope. */
export interface Envelope {
  /** TransactionEnvelope for the ledger, always V1. */
  envelopeXdr: Uint8Array;
  inner: TransactionFrame;
  feeBump?: FeeBump;
  /** Hash of the outer transaction, hex. */
  hash: string;
  feeSource: Uint8Array;
  /** The total bid in stroops. */
  fullFee: bigint;
  /** The bid without Soroban resources. Negative when the resource fee exceeds it. */
  inclusionFee: bigint;
  /** Operations that the inclusion fee pays for. A fee bump counts as one more. */
  operationCount: number;
}

const padded = (length: number) => (length + 3) & ~3;

function signaturesSize(signatures: xdr.DecoratedSignature[]): number {
  return signatures.reduce((size, s) => size + 8 + padded(s.signature.value.length), 4);
}

/** Protocol 13 removed V0 envelopes. Nodes turn them into V1, which has the same hash. */
function asV1(v0: xdr.TransactionV0Envelope): xdr.TransactionV1Envelope {
  const { sourceAccountEd25519, fee, seqNum, timeBounds, memo, operations } = v0.tx;
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(sourceAccountEd25519),
    fee,
    seqNum,
    cond: timeBounds ? xdr.Preconditions.precondTime(timeBounds) : xdr.Preconditions.precondNone(),
    memo,
    operations,
    ext: xdr.TransactionExt.v0(),
  });
  return new xdr.TransactionV1Envelope({ tx, signatures: v0.signatures });
}

const ENVELOPE_TYPE_TX = 2;
const ENVELOPE_TYPE_TX_FEE_BUMP = 5;

function hashOf(networkId: Uint8Array, type: number, tx: Uint8Array): Uint8Array {
  return sha256(networkId, createXdrWriter().uint32(type).finish(), tx);
}

function frameOf(v1: xdr.TransactionV1Envelope, txXdr: Uint8Array, networkId: Uint8Array): TransactionFrame {
  const body = v1.tx.operations[0]?.body;
  const soroban = body && isSorobanBody(body) ? body : undefined;
  const { ext } = v1.tx;
  let encoded: TransactionFrame["sorobanXdr"] | undefined;
  return {
    tx: v1.tx,
    signatures: v1.signatures,
    hash: hashOf(networkId, ENVELOPE_TYPE_TX, txXdr),
    source: accountOf(v1.tx.sourceAccount),
    sizeBytes: 4 + txXdr.length + signaturesSize(v1.signatures),
    ...(soroban && { sorobanBody: soroban }),
    ...(ext.type === "sorobanData" && { sorobanData: ext.sorobanData }),
    get sorobanXdr() {
      return encoded ??= {
        body: soroban?.toXdr() ?? new Uint8Array(),
        data: ext.type === "sorobanData" ? ext.sorobanData.toXdr() : new Uint8Array(),
      };
    },
  };
}

export function isSorobanBody(body: xdr.OperationBody): body is SorobanBody {
  return body.type === "invokeHostFunction" || body.type === "extendFootprintTtl" || body.type === "restoreFootprint";
}

function resourceFeeOf(frame: TransactionFrame): bigint {
  return frame.sorobanBody ? frame.sorobanData?.resourceFee ?? 0n : 0n;
}

/** The inner transaction's bid without Soroban resources, in stroops. */
export function innerInclusionFee(frame: TransactionFrame): bigint {
  return BigInt(frame.tx.fee) - resourceFeeOf(frame);
}

/**
 * Decodes a TransactionEnvelope.
 * @throws {Error} when the bytes are no envelope
 */
export function parseEnvelope(envelopeXdr: Uint8Array, networkId: Uint8Array): Envelope {
  const decoded = xdr.TransactionEnvelope.fromXdr(envelopeXdr);
  if (decoded.type === "envelopeTypeTxV0") {
    const v1 = xdr.TransactionEnvelope.envelopeTypeTx(asV1(decoded.v0));
    return parseEnvelope(v1.toXdr(), networkId);
  }
  if (decoded.type === "envelopeTypeTx") return plainEnvelope(envelopeXdr, decoded.v1, networkId);
  return feeBumpEnvelope(envelopeXdr, decoded.feeBump, networkId);
}

function plainEnvelope(envelopeXdr: Uint8Array, v1: xdr.TransactionV1Envelope, networkId: Uint8Array): Envelope {
  const txXdr = envelopeXdr.subarray(4, envelopeXdr.length - signaturesSize(v1.signatures));
  const inner = frameOf(v1, txXdr, networkId);
  return {
    envelopeXdr,
    inner,
    hash: toHex(inner.hash),
    feeSource: inner.source,
    fullFee: BigInt(v1.tx.fee),
    inclusionFee: innerInclusionFee(inner),
    operationCount: v1.tx.operations.length,
  };
}

function feeBumpEnvelope(
  envelopeXdr: Uint8Array,
  outer: xdr.FeeBumpTransactionEnvelope,
  networkId: Uint8Array,
): Envelope {
  const v1 = outer.tx.innerTx.v1;
  const inner = frameOf(v1, v1.tx.toXdr(), networkId);
  const outerXdr = envelopeXdr.subarray(4, envelopeXdr.length - signaturesSize(outer.signatures));
  const hash = hashOf(networkId, ENVELOPE_TYPE_TX_FEE_BUMP, outerXdr);
  return {
    envelopeXdr,
    inner,
    feeBump: { feeBump: outer.tx, signatures: outer.signatures, hash },
    hash: toHex(hash),
    feeSource: accountOf(outer.tx.feeSource),
    fullFee: outer.tx.fee,
    inclusionFee: outer.tx.fee - resourceFeeOf(inner),
    operationCount: v1.tx.operations.length + 1,
  };
}
