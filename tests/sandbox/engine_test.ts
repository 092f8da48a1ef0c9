import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Address, Keypair, nativeToScVal, Operation, scValToNative, SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import {
  type Applied,
  type ApplyOutcome,
  type Engine,
  EngineTrap,
  type LedgerHeader,
  loadEngine,
  type StoredEntry,
} from "../../lib/sandbox/engine.ts";

const wasmOf = (path: string) => new Uint8Array(readFileSync(fileURLToPath(new URL(path, import.meta.url))));
const engineModule = new WebAssembly.Module(wasmOf("../../lib/sandbox/wasm/engine.wasm"));
const deviceRegistryWasm = wasmOf("../../lib/sandbox/wasm/device_registry.wasm");
const hostileWasm = wasmOf("./hostile/hostile.wasm");

const SOURCE = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(1));
const AGENT = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(2));
const SEED = new Uint8Array(32);
const PERSISTENT_TTL = 2_073_600;
const SIZE_BYTES = 700;

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const accountId = (who: Keypair) => who.xdrAccountId().toXdr();
const address = (who: Keypair) => new Address(who.publicKey()).toScVal();
const card = (byte: number) => xdr.ScVal.scvBytes(new Uint8Array(32).fill(byte));
const u32 = (n: number) => nativeToScVal(n, { type: "u32" });

/** A ledger in a map, closed after every applied operation. */
class TestLedger {
  readonly entries = new Map<string, StoredEntry>();
  engine!: Engine;
  header: LedgerHeader = {
    protocolVersion: 28,
    sequence: 100,
    closeTime: 1_790_000_000,
    baseReserve: 5_000_000,
    networkId: new Uint8Array(32).fill(9),
  };
  readEntry = (key: Uint8Array) => this.entries.get(hex(key));

  static async open(): Promise<TestLedger> {
    const ledger = new TestLedger();
    ledger.engine = await loadEngine(engineModule, (key) => ledger.readEntry(key));
    for (const { key, entry } of ledger.engine.defaultSettings()) {
      ledger.entries.set(hex(key), { entry, liveUntilLedger: 0 });
    }
    return ledger;
  }

  simulate(hostFunction: Uint8Array, authMode: "record" | "record_allow_nonroot" = "record") {
    const sourceAccount = accountId(SOURCE);
    return this.engine.simulateInvoke(this.header, { hostFunction, sourceAccount, authMode, prngSeed: SEED });
  }

  /** Simulates, lets `change` spoil what was simulated, applies. */
  invoke(hostFunction: Uint8Array, change: Change = {}): Applied {
    const simulated = this.simulate(hostFunction);
    assert.equal(simulated.error, "");
    const transactionData = changed(simulated.transactionData, change);
    return this.apply(hostFunction, transactionData, change.auth ?? simulated.auth);
  }

  apply(hostFunction: Uint8Array, transactionData: Uint8Array, auth: Uint8Array[]): Applied {
    this.header.sequence++;
    return this.adopt(this.engine.applyInvoke(this.header, {
      hostFunction,
      sourceAccount: accountId(SOURCE),
      transactionData,
      transactionSizeBytes: SIZE_BYTES,
      prngSeed: SEED,
      auth,
    }));
  }

  adopt(applied: Applied): Applied {
    for (const { key, kind, entry, liveUntilLedger } of applied.changes) {
      const held = this.entries.get(hex(key));
      if (kind === "removed") this.entries.delete(hex(key));
      else this.entries.set(hex(key), { entry: kind === "written" ? entry : held!.entry, liveUntilLedger });
    }
    return applied;
  }

  /** Uploads and creates a contract; answers its id. */
  deploy(wasm: Uint8Array): string {
    const uploaded = this.invoke(hostFunctionOf(Operation.uploadContractWasm({ wasm })), { sizeBytes: wasm.length });
    assert.equal(uploaded.outcome, "success");
    const wasmHash = scValToNative(xdr.ScVal.fromXdr(uploaded.returnValue));
    const create = Operation.createCustomContract({ address: new Address(SOURCE.publicKey()), wasmHash, salt: SEED });
    return scValToNative(xdr.ScVal.fromXdr(this.invoke(hostFunctionOf(create)).returnValue));
  }
}

interface Change {
  data?: (data: SorobanDataBuilder) => void;
  auth?: Uint8Array[];
  sizeBytes?: number;
}

function changed(transactionData: Uint8Array, change: Change): Uint8Array {
  const data = new SorobanDataBuilder(transactionData);
  change.data?.(data);
  return data.build().toXdr();
}

function hostFunctionOf(operation: xdr.Operation): Uint8Array {
  const { body } = operation;
  assert(body.type === "invokeHostFunction");
  return body.invokeHostFunctionOp.hostFunction.toXdr();
}

function call(contract: string, name: string, ...args: xdr.ScVal[]): Uint8Array {
  return hostFunctionOf(Operation.invokeContractFunction({ contract, function: name, args }));
}

const register = (contract: string, byte: number) =>
  call(contract, "register", address(SOURCE), card(byte), address(AGENT));

function diagnosticTopics(events: Uint8Array[]): unknown[][] {
  return events.map((event) => {
    const { body } = xdr.DiagnosticEvent.fromXdr(event).event;
    return body.value.topics.map((topic) => scValToNative(topic));
  });
}

test("a contract is uploaded, created and invoked", async () => {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  const applied = ledger.invoke(register(contract, 1));
  assert.equal(applied.outcome, "success");
  assert.equal(applied.error, "");
  assert.equal(applied.contractEvents.length, 1);
  assert.deepEqual(applied.changes.map(({ kind, restored }) => [kind, restored]), Array(3).fill(["written", false]));
  for (const { entry, liveUntilLedger } of applied.changes) {
    assert.equal(xdr.LedgerEntry.fromXdr(entry).lastModifiedLedgerSeq, ledger.header.sequence);
    assert.equal(liveUntilLedger, ledger.header.sequence + PERSISTENT_TTL - 1);
  }
  const owner = ledger.invoke(call(contract, "get_owner", card(1)));
  assert.equal(scValToNative(xdr.ScVal.fromXdr(owner.returnValue)), SOURCE.publicKey());
});

test("diagnostic events end with what stellar-core adds", async () => {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  const topics = diagnosticTopics(ledger.invoke(register(contract, 1)).diagnosticEvents);
  assert.deepEqual(topics.slice(0, 3).map(([name]) => name), ["fn_call", "register", "fn_return"]);
  assert.equal(topics.filter(([name]) => name === "core_metrics").length, 19);
  const stale = ledger.simulate(register(contract, 2));
  ledger.invoke(register(contract, 2));
  const late = ledger.apply(register(contract, 2), stale.transactionData, stale.auth);
  assert.equal(late.outcome, "trapped");
  assert.equal(late.error, "Error(Contract, #4)");
  assert(diagnosticTopics(late.diagnosticEvents).some(([name]) => name === "host_fn_failed"));
  assert.deepEqual([late.changes, late.contractEvents, late.rentFee, late.eventsFee], [[], [], 0n, 0n]);
});

test("a refused simulation answers the error and its events", async () => {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  const refused = ledger.simulate(call(contract, "get_owner", card(1)));
  assert.match(refused.error, /^HostError: Error\(Contract, #2\)\n\nEvent log \(newest first\):\n/);
  assert(refused.diagnosticEvents.length > 0);
  assert.equal(refused.transactionData.length, 0);
});

test("simulation answers resources, authorisations and state changes", async () => {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  const simulated = ledger.simulate(register(contract, 1));
  const data = xdr.SorobanTransactionData.fromXdr(simulated.transactionData);
  assert.equal(data.resources.footprint.readOnly.length, 2);
  assert.equal(data.resources.footprint.readWrite.length, 3);
  assert(data.resources.instructions >= Number(simulated.instructions) + 50_000);
  assert.equal(simulated.auth.length, 1);
  assert.equal(xdr.SorobanAuthorizationEntry.fromXdr(simulated.auth[0]!).credentials.type, credentials.source);
  assert.equal(simulated.stateChanges.length, 3);
  assert(simulated.stateChanges.every(({ before, after }) => before.length === 0 && after.length > 0));
  const generous = ledger.engine.simulateInvoke(ledger.header, {
    hostFunction: register(contract, 1),
    sourceAccount: accountId(SOURCE),
    authMode: "record",
    instructionLeeway: 5_000_000,
    prngSeed: SEED,
  });
  const generousData = xdr.SorobanTransactionData.fromXdr(generous.transactionData);
  assert.equal(generousData.resources.instructions, Number(generous.instructions) + 5_000_000);
});

const credentials = {
  source: "sorobanCredentialsSourceAccount",
  address: "sorobanCredentialsAddress",
  addressV2: "sorobanCredentialsAddressV2",
};

test("authorisations of another account are recorded in the asked-for form and enforced", async () => {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  const request = { hostFunction: register(contract, 1), sourceAccount: accountId(AGENT), prngSeed: SEED };
  const recorded = (addressV2: boolean) => {
    const { auth } = ledger.engine.simulateInvoke(ledger.header, { ...request, authMode: "record", addressV2 });
    return xdr.SorobanAuthorizationEntry.fromXdr(auth[0]!).credentials.type as string;
  };
  assert.equal(recorded(false), credentials.address);
  assert.equal(recorded(true), credentials.addressV2);
  const enforced = ledger.engine.simulateInvoke(ledger.header, { ...request, authMode: "enforce", auth: [] });
  assert.match(enforced.error, /Error\(Auth, InvalidAction\)/);
  assert.equal(ledger.invoke(register(contract, 1), { auth: [] }).outcome, "trapped");
});

const spoilt: [string, Change, ApplyOutcome][] = [
  ["too few instructions", { resources: (r) => void (r.instructions = 100_000) }, "resource_limit_exceeded"],
  ["too few write bytes", { resources: (r) => void (r.writeBytes = 100) }, "resource_limit_exceeded"],
  ["an entry less in the footprint", { resources: (r) => void r.footprint.readWrite.pop() }, "trapped"],
  ["a fee that does not cover the rent", { fee: () => 100_000n }, "insufficient_refundable_fee"],
];

for (const [what, change, outcome] of spoilt) {
  test(`an invocation with ${what} ends as ${outcome} and changes nothing`, async () => {
    const ledger = await TestLedger.open();
    const contract = ledger.deploy(deviceRegistryWasm);
    const applied = ledger.invoke(register(contract, 1), change);
    assert.equal(applied.outcome, outcome);
    assert.deepEqual(applied.changes, []);
    assert(applied.nonRefundableFee > 0n);
    assert.equal(ledger.invoke(register(contract, 1)).outcome, "success");
  });
}

const attacks: [string, xdr.ScVal[], RegExp][] = [
  ["spin", [], /Error\(Budget, ExceededLimit\)/],
  ["recurse", [], /Error\((WasmVm|Budget), /],
  ["hog_memory", [], /Error\((WasmVm|Budget), /],
  ["hog_host", [], /Error\(Budget, ExceededLimit\)/],
  ["nest", [u32(1000)], /Error\(Context, ExceededLimit\)|Error\(Budget, ExceededLimit\)|Error\(Value, /],
];

for (const [name, args, error] of attacks) {
  test(`a contract that tries to ${name} is stopped by the host`, async () => {
    const ledger = await TestLedger.open();
    const contract = ledger.deploy(hostileWasm);
    const started = performance.now();
    const simulated = ledger.simulate(call(contract, name, ...args));
    assert.match(simulated.error, error);
    console.log(
      name,
      simulated.error.split("\n")[0],
      (performance.now() - started).toFixed(0),
      "ms",
      ledger.engine.memoryBytes() / 1048576,
    );
    assert.equal(ledger.simulate(call(contract, "length", xdr.ScVal.scvVec([]))).error, "");
  });
}
