/** A ledger in a map for the engine, and host functions that tests run on it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  Address,
  Keypair,
  nativeToScVal,
  Operation,
  scValToNative,
  SorobanDataBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import type { Applied, Engine, LedgerHeader, StoredEntry } from "../../lib/sandbox/engine.ts";
import { loadEngine } from "../../lib/sandbox/engine.ts";

const bytesOf = (path: string) => new Uint8Array(readFileSync(fileURLToPath(new URL(path, import.meta.url).href)));
const engineModule = new WebAssembly.Module(bytesOf("../../lib/sandbox/wasm/engine_28.wasm"));
export const deviceRegistryWasm = bytesOf("../../lib/sandbox/wasm/device_registry.wasm");
export const hostileWasm = bytesOf("./hostile/hostile.wasm");

export const SOURCE = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(1));
export const AGENT = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(2));
export const SEED = new Uint8Array(32);
/** Lifetime of a new persistent entry in ledgers, the current one included. */
export const PERSISTENT_TTL = 2_073_600;

export const accountId = (who: Keypair) => who.xdrAccountId().toXdr();
export const u32 = (value: number) => nativeToScVal(value, { type: "u32" });
const address = (who: Keypair) => new Address(who.publicKey()).toScVal();
const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A card hash of 32 equal bytes. */
export const card = (byte: number) => xdr.ScVal.scvBytes(new Uint8Array(32).fill(byte));

export function hostFunctionOf({ body }: xdr.Operation): Uint8Array {
  assert(body.type === "invokeHostFunction");
  return body.invokeHostFunctionOp.hostFunction.toXdr();
}

export function call(contract: string, name: string, ...args: xdr.ScVal[]): Uint8Array {
  return hostFunctionOf(Operation.invokeContractFunction({ contract, function: name, args }));
}

/** `device_registry.register`, which writes three entries and publishes one event. */
export function register(contract: string, byte: number): Uint8Array {
  return call(contract, "register", address(SOURCE), card(byte), address(AGENT));
}

export function native(value: Uint8Array) {
  return scValToNative(xdr.ScVal.fromXdr(value));
}

/** The topics of DiagnosticEvents. */
export function topicsOf(events: Uint8Array[]): unknown[][] {
  return events.map((event) =>
    xdr.DiagnosticEvent.fromXdr(event).event.body.value.topics.map((topic) => scValToNative(topic))
  );
}

export interface InvokeOptions {
  /** Changes the simulated data. */
  change?: (data: SorobanDataBuilder) => unknown;
  /** Replaces the recorded authorisations. */
  auth?: Uint8Array[];
  transactionSizeBytes?: number;
}

/** A ledger sequence. Each applied operation gets the next ledger. */
export class TestLedger {
  readonly entries = new Map<string, StoredEntry>();
  readonly header: LedgerHeader = {
    protocolVersion: 28,
    sequence: 100,
    closeTime: 1_790_000_000,
    baseReserve: 5_000_000,
    networkId: new Uint8Array(32).fill(9),
  };
  /** A test replaces it by a read that fails. */
  read = (key: Uint8Array): StoredEntry | undefined => this.entries.get(hex(key));
  readonly engine: Engine;

  private constructor(open: (ledger: TestLedger) => Engine) {
    this.engine = open(this);
    for (const { key, entry } of this.engine.defaultSettings()) {
      this.entries.set(hex(key), { entry, liveUntilLedger: 0 });
    }
  }

  static async open(): Promise<TestLedger> {
    let ledger: TestLedger | undefined;
    const engine = await loadEngine(engineModule, (key) => ledger!.read(key));
    return ledger = new TestLedger(() => engine);
  }

  simulate(hostFunction: Uint8Array) {
    const sourceAccount = accountId(SOURCE);
    return this.engine.simulateInvoke(this.header, { hostFunction, sourceAccount, authMode: "record", prngSeed: SEED });
  }

  /** Simulates and applies. */
  invoke(hostFunction: Uint8Array, options: InvokeOptions = {}): Applied {
    const simulated = this.simulate(hostFunction);
    assert.equal(simulated.error, "");
    const data = new SorobanDataBuilder(simulated.transactionData);
    options.change?.(data);
    return this.apply(hostFunction, data.build().toXdr(), { auth: simulated.auth, ...options });
  }

  apply(hostFunction: Uint8Array, transactionData: Uint8Array, options: InvokeOptions = {}): Applied {
    this.header.sequence++;
    const { auth = [], transactionSizeBytes = 700 } = options;
    const sourceAccount = accountId(SOURCE);
    const request = { hostFunction, sourceAccount, transactionData, transactionSizeBytes, prngSeed: SEED, auth };
    return this.adopt(this.engine.applyInvoke(this.header, request));
  }

  /** Stores the changes of an operation. */
  adopt(applied: Applied): Applied {
    for (const { key, kind, entry, liveUntilLedger } of applied.changes) {
      const held = this.entries.get(hex(key));
      if (kind === "removed") this.entries.delete(hex(key));
      else this.entries.set(hex(key), { entry: kind === "written" ? entry : held!.entry, liveUntilLedger });
    }
    return applied;
  }

  /** Uploads and creates a contract. Returns its id. */
  deploy(wasm: Uint8Array): string {
    const upload = hostFunctionOf(Operation.uploadContractWasm({ wasm }));
    const uploaded = this.invoke(upload, { transactionSizeBytes: wasm.length });
    assert.equal(uploaded.outcome, "success", uploaded.error);
    const wasmHash = native(uploaded.returnValue);
    const create = Operation.createCustomContract({ address: new Address(SOURCE.publicKey()), wasmHash, salt: SEED });
    return native(this.invoke(hostFunctionOf(create)).returnValue);
  }

  liveUntil(key: Uint8Array): number | undefined {
    return this.read(key)?.liveUntilLedger;
  }
}
