import type { xdr } from "@stellar/stellar-sdk";
import { createXdrWriter, sha256 } from "../bytes.ts";
import type { ReserveContext } from "../reserves.ts";
import { type OpCode, operationResult, refusedOperation, type SupportedOperation } from "../results.ts";

/** The ledger and transaction around a classic operation. */
export interface OperationContext extends ReserveContext {
  /** Public key of the operation's source account. */
  source: Uint8Array;
  /** The source account as in the envelope, with its muxed id. */
  sourceAddress: xdr.MuxedAccount;
  /** The transaction, and the position in it, which name a new claimable balance. */
  transactionSource: Uint8Array;
  transactionSequence: bigint;
  index: number;
  memo: xdr.Memo;
  closeTime: number;
  networkId: Uint8Array;
}

/** The outcome of an operation. */
export interface OperationOutcome {
  ok: boolean;
  /** OperationResult. */
  resultXdr: Uint8Array;
  /** ContractEvent each. */
  eventsXdr: Uint8Array[];
}

const SUCCESS = 0;

/** @param payload the content of the result's success arm */
export function success(
  type: SupportedOperation,
  eventsXdr: Uint8Array[] = [],
  payload?: Uint8Array,
): OperationOutcome {
  return { ok: true, resultXdr: operationResult(type, SUCCESS, payload), eventsXdr };
}

/** A failure with the operation's own code. */
export function failure(type: SupportedOperation, code: number): OperationOutcome {
  return { ok: false, resultXdr: operationResult(type, code), eventsXdr: [] };
}

/** A failure with a code that all operations share. */
export function refusal(code: OpCode): OperationOutcome {
  return { ok: false, resultXdr: refusedOperation(code), eventsXdr: [] };
}

const ENVELOPE_TYPE_OP_ID = 6;

/** The hash that names a claimable balance, of the transaction and the operation's position. */
export function operationId({ transactionSource, transactionSequence, index }: OperationContext): Uint8Array {
  return sha256(
    createXdrWriter().uint32(ENVELOPE_TYPE_OP_ID).uint32(0).raw(transactionSource).int64(transactionSequence)
      .uint32(index).finish(),
  );
}
