import type { xdr } from "@stellar/stellar-sdk";
import {
  type Applied,
  type ApplyOutcome,
  type Engine,
  EngineRefusal,
  EngineTrap,
  type EntryChange,
  type LedgerHeader,
} from "../engine.ts";
import { createXdrWriter, keyOf, sha256 } from "./bytes.ts";
import type { SorobanBody } from "./envelopes.ts";
import type { Impersonation } from "./impersonation.ts";
import { operationResult } from "./results.ts";
import type { SorobanFrame } from "./soroban_checks.ts";
import type { LedgerChanges, StateEntry } from "./state.ts";

type FailureCodes = Record<Exclude<ApplyOutcome, "success" | "internal_error">, number>;

/** Result codes of the operations. The two that only change TTLs cannot trap or meet an archived entry. */
const FAILURES: Record<SorobanBody["type"], FailureCodes> = {
  invokeHostFunction: {
    trapped: -2,
    resource_limit_exceeded: -3,
    entry_archived: -4,
    insufficient_refundable_fee: -5,
  },
  extendFootprintTtl: {
    trapped: -2,
    resource_limit_exceeded: -2,
    entry_archived: -2,
    insufficient_refundable_fee: -3,
  },
  restoreFootprint: {
    trapped: -2,
    resource_limit_exceeded: -2,
    entry_archived: -2,
    insufficient_refundable_fee: -3,
  },
};
const SUCCESS = 0;
const MALFORMED = -1;

/** The outcome of a Soroban operation, with its refundable fees in stroops. A failed operation has none. */
export interface SorobanOutcome {
  /** `internal_error` is a failure of the host, which fails the whole transaction. */
  outcome: "success" | "failure" | "internal_error";
  /** OperationResult. */
  resultXdr: Uint8Array;
  /** ContractEvent each. */
  eventsXdr: Uint8Array[];
  /** DiagnosticEvent each. */
  diagnosticEventsXdr: Uint8Array[];
  /** ScVal of a successful invocation. */
  returnValueXdr?: Uint8Array;
  rentFee: bigint;
  eventsFee: bigint;
}

/** OperationResult of an operation whose own checks failed. */
export function malformedOperation(body: SorobanBody): Uint8Array {
  return operationResult(body.type, MALFORMED);
}

/** The ledger around an operation, for the engine. */
export interface SorobanContext {
  engine: Engine;
  impersonation: Impersonation;
  header: LedgerHeader;
  changes: LedgerChanges;
  /** The operation's source account. */
  source: Uint8Array;
  /** 32 bytes, different for each operation. */
  prngSeed: Uint8Array;
}

/** Applies a valid Soroban operation. A trap of the engine counts as a trapped invocation, and the network goes on. */
export function applySorobanOperation(frame: SorobanFrame, context: SorobanContext): SorobanOutcome {
  const { type } = frame.sorobanBody;
  let applied: Applied;
  try {
    applied = apply(frame, context);
  } catch (error) {
    if (error instanceof EngineTrap || error instanceof EngineRefusal) {
      return failure(operationResult(type, FAILURES[type].trapped));
    }
    throw error;
  }
  const { outcome, diagnosticEvents } = applied;
  if (outcome === "internal_error") return { ...failure(new Uint8Array(), diagnosticEvents), outcome };
  if (outcome !== "success") return failure(operationResult(type, FAILURES[type][outcome]), diagnosticEvents);

  adopt(context, applied.changes);
  const { returnValue, contractEvents, rentFee, eventsFee } = applied;
  const done = { outcome, eventsXdr: contractEvents, diagnosticEventsXdr: diagnosticEvents, rentFee, eventsFee };
  if (type !== "invokeHostFunction") return { ...done, resultXdr: operationResult(type, SUCCESS) };
  const preimage = createXdrWriter().raw(returnValue).list(contractEvents).finish();
  return { ...done, resultXdr: operationResult(type, SUCCESS, sha256(preimage)), returnValueXdr: returnValue };
}

function failure(resultXdr: Uint8Array, diagnosticEventsXdr: Uint8Array[] = []): SorobanOutcome {
  return { outcome: "failure", resultXdr, eventsXdr: [], diagnosticEventsXdr, rentFee: 0n, eventsFee: 0n };
}

function apply(frame: SorobanFrame, context: SorobanContext): Applied {
  const { engine, header, prngSeed } = context;
  const declared = { transactionData: frame.sorobanXdr.data, transactionSizeBytes: frame.sizeBytes };
  const body = frame.sorobanBody;
  switch (body.type) {
    case "invokeHostFunction":
      return engine.applyInvoke(header, {
        ...declared,
        ...invocation(body.invokeHostFunctionOp, frame.sorobanXdr.body, context),
        prngSeed,
      });
    case "extendFootprintTtl":
      return engine.applyExtend(header, { ...declared, extendTo: body.extendFootprintTtlOp.extendTo });
    case "restoreFootprint":
      return engine.applyRestore(header, declared);
  }
}

/** An invocation for the engine. `bodyXdr` is the OperationBody: its type, the host function, the authorisations. */
export function invocation(
  { auth }: xdr.InvokeHostFunctionOp,
  bodyXdr: Uint8Array,
  { source, impersonation, header }: Pick<SorobanContext, "source" | "impersonation" | "header">,
) {
  const authLength = auth.reduce((length, entry) => length + entry.toXdr().length, 4);
  return {
    hostFunction: bodyXdr.subarray(4, bodyXdr.length - authLength),
    sourceAccount: createXdrWriter().uint32(0).raw(source).finish(),
    auth: auth.map((entry) => impersonation.signed(entry, header.sequence).toXdr()),
  };
}

/** Adopts the engine's changes. */
function adopt({ changes, impersonation, header }: SorobanContext, made: EntryChange[]): void {
  const ledgerSequence = header.sequence;
  for (const { key: keyXdr, kind, entry, liveUntilLedger } of made) {
    const key = keyOf(keyXdr);
    const held = changes.get(key);
    if (kind === "removed") changes.remove(key);
    else if (kind === "written") {
      const entryXdr = impersonation.kept(key, entry, held);
      changes.put(key, { entryXdr, ...ttl(held, liveUntilLedger, ledgerSequence) });
    } else if (held) changes.put(key, { entryXdr: held.entryXdr, ...ttl(held, liveUntilLedger, ledgerSequence) });
  }
}

function ttl(held: StateEntry | undefined, liveUntilLedger: number, ledgerSequence: number): Partial<StateEntry> {
  if (liveUntilLedger > 0 && liveUntilLedger !== held?.liveUntilLedger) {
    return { liveUntilLedger, ttlModifiedLedger: ledgerSequence };
  }
  if (held?.liveUntilLedger === undefined) return {};
  return { liveUntilLedger: held.liveUntilLedger, ttlModifiedLedger: held.ttlModifiedLedger ?? ledgerSequence };
}
