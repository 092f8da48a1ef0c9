import { xdr } from "@stellar/stellar-sdk";
import { type Engine, EngineRefusal, EngineTrap, type LedgerHeader, type ResourceCheck } from "../engine.ts";
import { diagnosticError } from "./diagnostics.ts";
import type { SorobanBody, TransactionFrame } from "./envelopes.ts";

/** A Soroban transaction that declares its resources. */
export interface SorobanFrame extends TransactionFrame {
  sorobanBody: SorobanBody;
  sorobanData: xdr.SorobanTransactionData;
}

export function isSoroban(frame: TransactionFrame): frame is SorobanFrame {
  return frame.sorobanBody !== undefined && frame.sorobanData !== undefined;
}

/** Checks the resources that a Soroban transaction declares, and calculates their cost. */
export type CheckResources = (frame: SorobanFrame) => ResourceCheck;

/**
 * Checks each transaction once by the engine, because the answer depends only on the envelope and on network settings, which
 * never change here. Adds the checks that the engine leaves out: memo and muxed accounts.
 */
export function createResourceCheck(engine: Engine, header: () => LedgerHeader): CheckResources {
  const known = new WeakMap<SorobanFrame, ResourceCheck>();
  return (frame) => {
    const held = known.get(frame);
    if (held) return held;
    const check = examine(engine, header(), frame);
    known.set(frame, check);
    return check;
  };
}

function examine(engine: Engine, header: LedgerHeader, frame: SorobanFrame): ResourceCheck {
  const check = askEngine(engine, header, frame);
  if (hasAllowedMemo(frame)) return check;
  const message = "Soroban transactions are not allowed to use memo or muxed source account";
  const error = xdr.ScError.sceValue(xdr.ScErrorCode.scecInvalidInput);
  return { ...check, verdict: "soroban_invalid", error: message, diagnosticEvents: [diagnosticError(error, message)] };
}

/** An envelope that traps the engine, or that it cannot read, is invalid. The network goes on. */
function askEngine(engine: Engine, header: LedgerHeader, frame: SorobanFrame): ResourceCheck {
  try {
    return engine.checkResources(header, {
      operation: frame.sorobanXdr.body,
      transactionData: frame.sorobanXdr.data,
      transactionSizeBytes: frame.sizeBytes,
    });
  } catch (error) {
    if (!(error instanceof EngineTrap || error instanceof EngineRefusal)) throw error;
    return { verdict: "soroban_invalid", error: error.message, diagnosticEvents: [], nonRefundableFee: 0n };
  }
}

/**
 * Since protocol 25 an invocation has no memo and no muxed account, with which it would look like a payment to another
 * recipient. Extensions and restorations may have them.
 */
function hasAllowedMemo(frame: SorobanFrame): boolean {
  if (frame.sorobanBody.type !== "invokeHostFunction") return true;
  const operationSource = frame.tx.operations[0]?.sourceAccount;
  return frame.tx.memo.type === "memoNone" && frame.tx.sourceAccount.type === "keyTypeEd25519" &&
    (!operationSource || operationSource.type === "keyTypeEd25519");
}

/** Whether an invocation names a contract, the only callee of the host. Only the queue checks this. */
export function hasCallableTarget(frame: SorobanFrame): boolean {
  if (frame.sorobanBody.type !== "invokeHostFunction") return true;
  const { hostFunction } = frame.sorobanBody.invokeHostFunctionOp;
  return hostFunction.type !== "hostFunctionTypeInvokeContract" ||
    hostFunction.invokeContract.contractAddress.type === "scAddressTypeContract";
}
