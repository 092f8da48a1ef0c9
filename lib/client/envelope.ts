import { Address, encodeMuxedAccountToAddress, Keypair, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import type { ExpectedCall } from "./operation_call.ts";

/** The bounds of a signature: its cost and how long it is valid. */
export interface SigningBounds {
  /** The most a transaction may cost, stroops; 10 000 000 (one lumen) when absent. */
  maxFee?: string;
  /** How far ahead its upper time bound may lie, seconds; 600 when absent. */
  maxValiditySeconds?: number;
}

/** A transaction that is what was asked for, and no more. */
export interface CheckedEnvelope {
  xdr: string;
  /** Hex; what is signed. */
  hash: string;
  hashBytes: Uint8Array;
  /** Upper time bound, Unix seconds. */
  validUntil: number;
}

/** The envelope is not the operation asked for: it must not be signed. */
export class EnvelopeError extends Error {
  override name = "EnvelopeError";
}

const MAX_FEE = 10_000_000n;
const MAX_VALIDITY_SECONDS = 600;

/**
 * Compares a prepared envelope with the request, so that a dishonest gateway gets nothing else signed. It checks the
 * source, the one call with its arguments, the authorisations, the fee and the time bounds. Only the sequence number,
 * the fee and the time within their bounds, and the footprint may differ. A wrong footprint can only make a transaction
 * fail. At the end it builds the envelope from these parts, and the bytes must be equal.
 * @throws {EnvelopeError} saying what is different
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
  if (anew !== envelopeXdr) throw different("it holds something more");
  const hashBytes = TransactionBuilder.fromXdr(envelopeXdr, networkPassphrase).hash();
  return { xdr: envelopeXdr, hash: xdr.encodeBytes(hashBytes, "hex"), hashBytes, validUntil: Number(maxTime) };
}

/**
 * The answer of a wallet for an envelope that was checked.
 * @throws {EnvelopeError} when it is another transaction, or is not signed
 */
export function checkSigned(signedXdr: string, checked: CheckedEnvelope): string {
  const { tx, signatures } = decoded(signedXdr);
  const unsigned = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
  if (unsigned.toXdr("base64") !== checked.xdr) throw new EnvelopeError("what was signed is another transaction");
  // By whom is the network's to judge: an account may have other signers than its own key.
  if (signatures.length === 0) throw new EnvelopeError("the envelope came back unsigned");
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
    throw new EnvelopeError("what came is no transaction envelope");
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
      throw different(`argument ${at + 1} of ${expected.function} is not what was asked for`);
    }
  }
}

/** The signature authorises the call itself, and below it what the call needs. */
function requireAuthorisations(entries: xdr.SorobanAuthorizationEntry[], call: ExpectedCall): void {
  if (entries.length > 1) throw different(`it authorises ${entries.length} calls`);
  for (const { credentials, rootInvocation } of entries) {
    if (credentials.type !== "sorobanCredentialsSourceAccount") throw different("it authorises in another's name");
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
  return new EnvelopeError(`the prepared envelope is not what was asked for: ${what}`);
}
