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

/** What is wrong or right with the resources a Soroban transaction declares, and what they cost. */
export type CheckResources = (frame: SorobanFrame) => ResourceCheck;

/**
 * Asks the engine once for each transaction: the answer depends on the envelope and on network settings, which never
 * change here. What the engine leaves to the network is added: memo, muxed accounts, the callee.
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

/** An envelope that brings the engine down, or that it cannot read, is invalid: the network goes on. */
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
 * Since protocol 25: a memo or a muxed account would let a contract call look like a payment to someone else. Extensions
 * and restorations may have them.
 */
function hasAllowedMemo(frame: SorobanFrame): boolean {
  if (frame.sorobanBody.type !== "invokeHostFunction") return true;
  const operationSource = frame.tx.operations[0]?.sourceAccount;
  return frame.tx.memo.type === "memoNone" && frame.tx.sourceAccount.type === "keyTypeEd25519" &&
    (!operationSource || operationSource.type === "keyTypeEd25519");
}

/** An invocation has to name a contract: the host has no other callee. Checked by the queue only. */
export function hasCallableTarget(frame: SorobanFrame): boolean {
  if (frame.sorobanBody.type !== "invokeHostFunction") return true;
  const { hostFunction } = frame.sorobanBody.invokeHostFunctionOp;
  return hostFunction.type !== "hostFunctionTypeInvokeContract" ||
    hostFunction.invokeContract.contractAddress.type === "scAddressTypeContract";
}
