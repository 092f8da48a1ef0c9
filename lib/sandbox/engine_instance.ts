/** An instance of the engine's module: memory, requests and answers. A trap costs a new instance. */
import { FrameReader, joinFrames } from "./engine_frames.ts";
import type { ReadEntry } from "./engine_types.ts";

/** The host ran out of stack or memory, or `readEntry` threw. The engine has a new instance and works. */
export class EngineTrap extends Error {
  override name = "EngineTrap";
}

/** The engine cannot read a request: no XDR, nested too deep, or a ledger without settings. It still works. */
export class EngineRefusal extends Error {
  override name = "EngineRefusal";
}

const METHODS = {
  defaultSettings: 0,
  simulateInvoke: 1,
  simulateExtend: 2,
  simulateRestore: 3,
  checkResources: 4,
  applyInvoke: 5,
  applyExtend: 6,
  applyRestore: 7,
  toJson: 8,
} as const;

/** WebAssembly memory never shrinks. Above this the engine gets a new instance, which has to parse the contracts again. */
const MEMORY_LIMIT_BYTES = 64 * 1024 * 1024;

interface EngineExports {
  memory: WebAssembly.Memory;
  /** 0 when memory has run out. */
  alloc(byteLength: number): number;
  dealloc(address: number, byteLength: number): void;
  call(method: number, address: number, byteLength: number): number;
}

/**
 * Instantiates the compiled engine, which reads the ledger through `readEntry`. `call` returns the frames of an answer, and
 * throws `EngineTrap` or `EngineRefusal`.
 */
export function createEngineInstance(compiled: WebAssembly.Module, readEntry: ReadEntry) {
  let panic = "";
  let memory = new Uint8Array();
  let wasm = instantiate();

  /** Memory moves when it grows, which empties the old array. Reading `buffer` each time would cost more. */
  function allBytes(): Uint8Array {
    if (memory.length === 0) memory = new Uint8Array(wasm.memory.buffer as ArrayBuffer);
    return memory;
  }

  function bytesAt(address: number, byteLength: number): Uint8Array {
    return allBytes().subarray(address, address + byteLength);
  }

  function viewAt(address: number, byteLength: number): DataView {
    return new DataView(allBytes().buffer, address, byteLength);
  }

  function instantiate(): EngineExports {
    const env = {
      ledger_get(address: number, byteLength: number): number {
        const found = readEntry(bytesAt(address, byteLength));
        if (!found) return 0;
        const at = allocate(found.entry.length + 8);
        const header = viewAt(at, 8);
        header.setUint32(0, found.entry.length + 4, true);
        header.setUint32(4, found.liveUntilLedger, true);
        bytesAt(at + 8, found.entry.length).set(found.entry);
        return at;
      },
      panicked(address: number, byteLength: number): void {
        panic = new TextDecoder().decode(bytesAt(address, byteLength).slice());
      },
    };
    memory = new Uint8Array();
    return new WebAssembly.Instance(compiled, { env }).exports as unknown as EngineExports;
  }

  function allocate(byteLength: number): number {
    const address = wasm.alloc(byteLength);
    if (address === 0) throw new RangeError(`no memory left for ${byteLength} bytes`);
    return address;
  }

  function call(method: keyof typeof METHODS, ...frames: Uint8Array[]): FrameReader {
    try {
      const request = joinFrames(frames);
      const address = allocate(request.length);
      bytesAt(address, request.length).set(request);
      const at = wasm.call(METHODS[method], address, request.length);
      wasm.dealloc(address, request.length);
      const byteLength = viewAt(at, 4).getUint32(0, true);
      const answer = bytesAt(at + 4, byteLength).slice();
      wasm.dealloc(at, byteLength + 4);
      if (allBytes().length > MEMORY_LIMIT_BYTES) wasm = instantiate();
      if (answer[0] === 0) return new FrameReader(answer.subarray(1));
      throw new EngineRefusal(`Cannot ${method}: ${new TextDecoder().decode(answer.subarray(1))}`);
    } catch (cause) {
      if (cause instanceof EngineRefusal) throw cause;
      wasm = instantiate();
      const why = panic || (cause instanceof Error ? cause.message : String(cause));
      panic = "";
      throw new EngineTrap(`The engine trapped in ${method}: ${why}`, { cause });
    }
  }

  return { call, memoryBytes: (): number => allBytes().length };
}
