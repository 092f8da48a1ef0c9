import { Address, encodeMuxedAccountToAddress, Keypair, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import type { ExpectedCall } from "./operation_call.ts";

/** The limits of a signature: its cost and its validity. */
export interface SigningBounds {
  /** The highest fee, stroops; 10 000 000 (one lumen) when absent. */
  maxFee?: string;
  /** The longest time until the upper time bound, seconds; 600 when absent. */
  maxValiditySeconds?: number;
}

/** A transaction that does the requested operation and nothing else. */
export interface CheckedEnvelope {
  xdr: string;
  /** The hash to sign, hex. */
  hash: string;
  hashBytes: Uint8Array;
  /** Upper time bound, Unix seconds. */
  validUntil: number;
}

/** The envelope is not the requested operation, and must not be signed. */
export class EnvelopeError extends Error {
  override name = "EnvelopeError";
}

const MAX_FEE = 10_000_000n;
const MAX_VALIDITY_SECONDS = 600;

/**
 * Compares a prepared envelope with the requested operation, so that neither the gateway nor a proxy can get another
 * signature. Checks the source, the one call with its arguments, the authorised calls below it, the fee and the time bounds.
 *
 * Only these may vary: the sequence number, the fee and the time within their limits, and the footprint. A wrong footprint
 * can only make a transaction fail. At last this builds the envelope from these parts, and it must be equal byte for byte.
 * @throws {EnvelopeError} with the difference
 */
export function checkEnvelope(envelopeXdr: string, expected: {
  networkPassphrase: string;
  source: string;
  call: ExpectedCall;
  bounds?: SigningBounds;
  /** Unix seconds. */
  nowSeconds: number;
}): CheckedEnvelope {
  const { source, call, bounds = {}, networkPassphrase } = expected;
  const { tx, signatures } = decoded(envelopeXdr);
  requireSame("its source", Address.fromString(source).toString(), sourceOf(tx));
  const [operation, ...more] = tx.operations;
  if (operation === undefined || more.length > 0) throw different("it has not exactly one operation");
  if (operation.body.type !== "invokeHostFunction") throw different("it is no call of a contract");
  const { hostFunction, auth } = operation.body.invokeHostFunctionOp;
  if (hostFunction.type !== "hostFunctionTypeInvokeContract") throw different("it is no call of a contract");
  requireCall("it", hostFunction.invokeContract, call);
  requireAuthorisations(auth, call);
  const maxFee = BigInt(bounds.maxFee ?? MAX_FEE);
  if (BigInt(tx.fee) > maxFee) throw different(`it may cost ${tx.fee} stroops, ${maxFee} are allowed`);
  const maxTime = upperTimeBound(tx);
  const latest = Math.floor(expected.nowSeconds) + (bounds.maxValiditySeconds ?? MAX_VALIDITY_SECONDS);
  if (maxTime === 0n || maxTime > BigInt(latest)) {
    throw different(`it may be applied until ${maxTime || "for ever"}, ${latest} is allowed`);
  }
  if (signatures.length > 0) throw different("it carries signatures already");
  const anew = madeAnew(tx, source, call, auth.length > 0, maxTime).toXdr("base64");
  if (anew !== envelopeXdr) throw different("it has further parts");
  const hashBytes = TransactionBuilder.fromXdr(envelopeXdr, networkPassphrase).hash();
  return { xdr: envelopeXdr, hash: xdr.encodeBytes(hashBytes, "hex"), hashBytes, validUntil: Number(maxTime) };
}

/**
 * Checks a wallet's answer: the checked envelope with at least one signature.
 * @throws {EnvelopeError} when it is another transaction, or has no signature
 */
export function checkSigned(signedXdr: string, checked: CheckedEnvelope): string {
  const { tx, signatures } = decoded(signedXdr);
  const unsigned = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
  if (unsigned.toXdr("base64") !== checked.xdr) throw new EnvelopeError("the wallet signed another transaction");
  // The network checks the signer, because an account may have other signers than its own key.
  if (signatures.length === 0) throw new EnvelopeError("the wallet returned the envelope unsigned");
  return signedXdr;
}

/** The envelope with the signature of one signer, `G…`, of its source account: the account's own key, or another. */
export function signEnvelope(
  { xdr: envelopeXdr, hashBytes }: CheckedEnvelope,
  signer: string,
  sign: (data: Uint8Array) => Uint8Array,
): string {
  const { tx } = decoded(envelopeXdr);
  const hint = Keypair.fromPublicKey(signer).signatureHint();
  const signature = new xdr.DecoratedSignature({ hint, signature: new Uint8Array(sign(hashBytes)) });
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [signature] }))
    .toXdr("base64");
}

function decoded(envelopeXdr: string): xdr.TransactionV1Envelope {
  let envelope: xdr.TransactionEnvelope;
  try {
    envelope = xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64");
  } catch {
    throw new EnvelopeError("xdr must be a transaction envelope");
  }
  if (envelope.type !== "envelopeTypeTx") throw different("it is no plain transaction of version 1");
  return envelope.v1;
}

function sourceOf({ sourceAccount }: xdr.Transaction): string {
  if (sourceAccount.type !== "keyTypeEd25519") throw different("its source is a muxed account");
  return encodeMuxedAccountToAddress(sourceAccount);
}

function upperTimeBound({ cond }: xdr.Transaction): bigint {
  if (cond.type !== "precondTime") throw different("it has other preconditions than a time bound");
  return BigInt(cond.timeBounds.maxTime);
}

function requireCall(what: string, actual: xdr.InvokeContractArgs, expected: ExpectedCall): void {
  requireSame(`${what} calls`, expected.contract, Address.fromScAddress(actual.contractAddress).toString());
  requireSame(`${what} calls`, expected.function, actual.functionName.toString());
  requireSame("the number of its arguments is", String(expected.args.length), String(actual.args.length));
  for (const [at, arg] of expected.args.entries()) {
    if (actual.args[at]!.toXdr("base64") !== arg.toXdr("base64")) {
      throw different(`argument ${at + 1} of ${expected.function} is not the requested one`);
    }
  }
}

/** The signature may authorise the call itself, and the calls below it that it needs. */
function requireAuthorisations(entries: xdr.SorobanAuthorizationEntry[], call: ExpectedCall): void {
  if (entries.length > 1) throw different(`it authorises ${entries.length} calls`);
  for (const { credentials, rootInvocation } of entries) {
    if (credentials.type !== "sorobanCredentialsSourceAccount") throw different("it authorises for another account");
    requireInvocation(rootInvocation, call);
  }
}

function requireInvocation(actual: xdr.SorobanAuthorizedInvocation, expected: ExpectedCall): void {
  const { function: authorised, subInvocations } = actual;
  if (authorised.type !== "sorobanAuthorizedFunctionTypeContractFn") throw different("it authorises more than a call");
  requireCall("what it authorises", authorised.contractFn, expected);
  if (subInvocations.length !== expected.under.length) {
    throw different(`it authorises ${subInvocations.length} calls below ${expected.function}`);
  }
  for (const [at, under] of expected.under.entries()) requireInvocation(subInvocations[at]!, under);
}

function madeAnew(
  { seqNum, fee, ext }: xdr.Transaction,
  source: string,
  call: ExpectedCall,
  hasAuthorisation: boolean,
  maxTime: bigint,
): xdr.TransactionEnvelope {
  const args = (one: ExpectedCall) =>
    new xdr.InvokeContractArgs({
      contractAddress: Address.fromString(one.contract).toScAddress(),
      functionName: one.function,
      args: one.args,
    });
  const invocation = (one: ExpectedCall): xdr.SorobanAuthorizedInvocation =>
    new xdr.SorobanAuthorizedInvocation({
      function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(args(one)),
      subInvocations: one.under.map(invocation),
    });
  const authorisation = new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
    rootInvocation: invocation(call),
  });
  const invoke = new xdr.InvokeHostFunctionOp({
    hostFunction: xdr.HostFunction.hostFunctionTypeInvokeContract(args(call)),
    auth: hasAuthorisation ? [authorisation] : [],
  });
  const tx = new xdr.Transaction({
    sourceAccount: Keypair.fromPublicKey(source).xdrMuxedAccount(),
    fee,
    seqNum,
    cond: xdr.Preconditions.precondTime(new xdr.TimeBounds({ minTime: 0n, maxTime })),
    memo: xdr.Memo.memoNone(),
    operations: [new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.invokeHostFunction(invoke) })],
    ext,
  });
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
}

function requireSame(what: string, expected: string, actual: string): void {
  if (expected !== actual) throw different(`${what} ${actual}, not ${expected}`);
}

function different(what: string): EnvelopeError {
  return new EnvelopeError(`the prepared envelope is not the requested operation: ${what}`);
}
