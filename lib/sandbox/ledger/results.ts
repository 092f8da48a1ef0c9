import { createXdrWriter } from "./bytes.ts";

/** TransactionResultCode by its name in the protocol. */
const TX_CODES = {
  txFEE_BUMP_INNER_SUCCESS: 1,
  txSUCCESS: 0,
  txFAILED: -1,
  txTOO_EARLY: -2,
  txTOO_LATE: -3,
  txMISSING_OPERATION: -4,
  txBAD_SEQ: -5,
  txBAD_AUTH: -6,
  txINSUFFICIENT_BALANCE: -7,
  txNO_ACCOUNT: -8,
  txINSUFFICIENT_FEE: -9,
  txBAD_AUTH_EXTRA: -10,
  txINTERNAL_ERROR: -11,
  txNOT_SUPPORTED: -12,
  txFEE_BUMP_INNER_FAILED: -13,
  txBAD_SPONSORSHIP: -14,
  txBAD_MIN_SEQ_AGE_OR_GAP: -15,
  txMALFORMED: -16,
  txSOROBAN_INVALID: -17,
} as const;

export type TxCode = keyof typeof TX_CODES;

/** OperationResultCode of failures that all operations share. */
const OP_CODES = { opBAD_AUTH: -1, opNO_ACCOUNT: -2, opNOT_SUPPORTED: -3, opTOO_MANY_SUBENTRIES: -4 } as const;

export type OpCode = keyof typeof OP_CODES;

/** OperationType of the operations that the sandbox applies. */
export const OPERATION_TYPES = {
  createAccount: 0,
  payment: 1,
  setOptions: 5,
  changeTrust: 6,
  allowTrust: 7,
  accountMerge: 8,
  manageData: 10,
  bumpSequence: 11,
  createClaimableBalance: 14,
  claimClaimableBalance: 15,
  beginSponsoringFutureReserves: 16,
  endSponsoringFutureReserves: 17,
  revokeSponsorship: 18,
  clawback: 19,
  clawbackClaimableBalance: 20,
  setTrustLineFlags: 21,
  invokeHostFunction: 24,
  extendFootprintTtl: 25,
  restoreFootprint: 26,
} as const;

export type SupportedOperation = keyof typeof OPERATION_TYPES;

/** The OperationResult of a shared failure. */
export function refusedOperation(code: OpCode): Uint8Array {
  return createXdrWriter().int32(OP_CODES[code]).finish();
}

/** The OperationResult of an operation's own code. `payload` is the content of the success arm. */
export function operationResult(type: SupportedOperation, code: number, payload?: Uint8Array): Uint8Array {
  const writer = createXdrWriter().int32(0).int32(OPERATION_TYPES[type]).int32(code);
  return payload ? writer.raw(payload).finish() : writer.finish();
}

/** The outcome of a transaction, or of the inner one of a fee bump. */
export interface Verdict {
  code: TxCode;
  /** OperationResult each; only with txSUCCESS and txFAILED. */
  operationResults: Uint8Array[];
}

function verdictXdr(feeCharged: bigint, verdict: Verdict): Uint8Array {
  const writer = createXdrWriter().int64(feeCharged).int32(TX_CODES[verdict.code]);
  if (verdict.code === "txSUCCESS" || verdict.code === "txFAILED") writer.list(verdict.operationResults);
  return writer.uint32(0).finish();
}

/** TransactionResult of a plain transaction, or of a fee bump whose outer part failed. */
export function transactionResult(feeCharged: bigint, verdict: Verdict): Uint8Array {
  return verdictXdr(feeCharged, verdict);
}

/** TransactionResult of a fee bump with the outcome of its inner transaction. Since protocol 25 the inner fee is 0. */
export function feeBumpResult(feeCharged: bigint, innerHash: Uint8Array, inner: Verdict): Uint8Array {
  const code = inner.code === "txSUCCESS" ? TX_CODES.txFEE_BUMP_INNER_SUCCESS : TX_CODES.txFEE_BUMP_INNER_FAILED;
  return createXdrWriter().int64(feeCharged).int32(code).raw(innerHash).raw(verdictXdr(0n, inner)).uint32(0).finish();
}
