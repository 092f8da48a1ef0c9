/**
 * The binary interface of the Soroban host, which `engine/` compiles to WebAssembly. The caller owns the ledger: the host
 * reads it through `readEntry` and returns the changes of a call. Structured values are XDR bytes.
 */
import { type FrameReader, u32Frame, viewOf } from "./engine_frames.ts";
import { createEngineInstance } from "./engine_instance.ts";
import type {
  Applied,
  ApplyInvokeRequest,
  ApplyOutcome,
  AuthMode,
  DeclaredResources,
  EntryChange,
  FootprintSimulation,
  LedgerHeader,
  ReadEntry,
  ResourceCheck,
  SimulateInvokeRequest,
  Simulation,
  Verdict,
} from "./engine_types.ts";

export { EngineRefusal, EngineTrap } from "./engine_instance.ts";
export type * from "./engine_types.ts";

const AUTH_MODES: Record<AuthMode, number> = { enforce: 0, record: 1, record_allow_nonroot: 2 };
const ADDRESS_V2 = 4;
const VERDICTS: Verdict[] = ["valid", "malformed", "soroban_invalid", "operation_invalid"];
const OUTCOMES: ApplyOutcome[] = [
  "success",
  "trapped",
  "resource_limit_exceeded",
  "entry_archived",
  "insufficient_refundable_fee",
  "internal_error",
];
const CHANGE_KINDS: EntryChange["kind"][] = ["removed", "written", "ttl"];

/** The engine over one ledger. Every method throws `EngineTrap` or `EngineRefusal`. */
export type Engine = Awaited<ReturnType<typeof loadEngine>>;

/**
 * Instantiates the engine. It reads the network settings from the ledger once, at the first call that needs them.
 */
export async function loadEngine(module: WebAssembly.Module | Uint8Array, readEntry: ReadEntry) {
  const compiled = module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module as BufferSource);
  const { call, memoryBytes } = createEngineInstance(compiled, readEntry);

  return {
    /** Bytes of the engine's linear memory. */
    memoryBytes,

    /** The network settings of a new ledger, equal to those of the public network. */
    defaultSettings(): { key: Uint8Array; entry: Uint8Array }[] {
      const answer = call("defaultSettings");
      const settings = [];
      while (!answer.done) settings.push({ key: answer.take(), entry: answer.take() });
      return settings;
    },

    simulateInvoke(header: LedgerHeader, request: SimulateInvokeRequest): Simulation {
      const mode = AUTH_MODES[request.authMode] | (request.addressV2 ? ADDRESS_V2 : 0);
      const { hostFunction, sourceAccount, prngSeed, auth = [], instructionLeeway = 0 } = request;
      const answer = call(
        "simulateInvoke",
        headerFrame(header),
        Uint8Array.of(mode),
        u32Frame(instructionLeeway),
        prngSeed,
        hostFunction,
        sourceAccount,
        ...auth,
      );
      const error = answer.takeText();
      const [returnValue, transactionData] = [answer.take(), answer.take()];
      const used = viewOf(answer.take());
      return {
        error,
        returnValue,
        transactionData,
        instructions: used.getBigUint64(0, true),
        memoryBytes: used.getBigUint64(8, true),
        auth: answer.takeList(),
        contractEvents: answer.takeList(),
        diagnosticEvents: answer.takeList(),
        stateChanges: answer.takeTriples((key, before, after) => ({ key, before, after })),
      };
    },

    /** Simulates an ExtendFootprintTtl of `keys` (LedgerKey each) to `extendTo` ledgers from now. */
    simulateExtend(header: LedgerHeader, keys: Uint8Array[], extendTo: number): FootprintSimulation {
      const answer = call("simulateExtend", headerFrame(header), u32Frame(extendTo), ...keys);
      return { error: answer.takeText(), transactionData: answer.take(), restoreTransactionData: answer.take() };
    },

    /** Simulates a RestoreFootprint of `keys` (LedgerKey each). */
    simulateRestore(header: LedgerHeader, keys: Uint8Array[]): FootprintSimulation {
      const answer = call("simulateRestore", headerFrame(header), ...keys);
      return { error: answer.takeText(), transactionData: answer.take(), restoreTransactionData: new Uint8Array() };
    },

    /** Validates a Soroban transaction as stellar-core does. `operation` is its OperationBody. The caller checks the fee bids. */
    checkResources(header: LedgerHeader, request: DeclaredResources & { operation: Uint8Array }): ResourceCheck {
      const { operation, transactionData, transactionSizeBytes } = request;
      const size = u32Frame(transactionSizeBytes);
      const answer = call("checkResources", headerFrame(header), operation, transactionData, size);
      return {
        verdict: VERDICTS[answer.take()[0]!]!,
        error: answer.takeText(),
        diagnosticEvents: answer.takeList(),
        nonRefundableFee: viewOf(answer.take()).getBigInt64(0, true),
      };
    },

    /** Applies an InvokeHostFunction operation. */
    applyInvoke(header: LedgerHeader, request: ApplyInvokeRequest): Applied {
      const { prngSeed, hostFunction, sourceAccount, auth } = request;
      const frames = [...declaredFrames(request), prngSeed, hostFunction, sourceAccount, ...auth];
      return readApplied(call("applyInvoke", headerFrame(header), ...frames));
    },

    /** Applies an ExtendFootprintTtl operation. */
    applyExtend(header: LedgerHeader, request: DeclaredResources & { extendTo: number }): Applied {
      const frames = [...declaredFrames(request), u32Frame(request.extendTo)];
      return readApplied(call("applyExtend", headerFrame(header), ...frames));
    },

    /** The JSON (SEP-51) of values of an XDR type, as text. */
    toJson(type: string, values: Uint8Array[]): string[] {
      const answer = call("toJson", new TextEncoder().encode(type), ...values);
      const texts = [];
      while (!answer.done) texts.push(answer.takeText());
      return texts;
    },

    /** Applies a RestoreFootprint operation. */
    applyRestore(header: LedgerHeader, request: DeclaredResources): Applied {
      return readApplied(call("applyRestore", headerFrame(header), ...declaredFrames(request)));
    },
  };
}

function readApplied(answer: FrameReader): Applied {
  const outcome = OUTCOMES[answer.take()[0]!]!;
  const error = answer.takeText();
  const returnValue = answer.take();
  const numbers = viewOf(answer.take());
  return {
    outcome,
    error,
    returnValue,
    instructions: numbers.getBigUint64(0, true),
    memoryBytes: numbers.getBigUint64(8, true),
    nonRefundableFee: numbers.getBigInt64(16, true),
    eventsFee: numbers.getBigInt64(24, true),
    rentFee: numbers.getBigInt64(32, true),
    contractEvents: answer.takeList(),
    diagnosticEvents: answer.takeList(),
    changes: answer.takeTriples((key, entry, details) => ({
      key,
      kind: CHANGE_KINDS[details[0]!]!,
      restored: details[1] === 1,
      entry,
      liveUntilLedger: viewOf(details).getUint32(2, true),
    })),
  };
}

function headerFrame(header: LedgerHeader): Uint8Array {
  const frame = new Uint8Array(52);
  const view = viewOf(frame);
  view.setUint32(0, header.protocolVersion, true);
  view.setUint32(4, header.sequence, true);
  view.setBigUint64(8, BigInt(header.closeTime), true);
  view.setUint32(16, header.baseReserve, true);
  frame.set(header.networkId, 20);
  return frame;
}

function declaredFrames({ transactionData, transactionSizeBytes }: DeclaredResources): Uint8Array[] {
  return [transactionData, u32Frame(transactionSizeBytes)];
}
