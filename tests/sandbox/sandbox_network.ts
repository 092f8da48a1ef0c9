import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  Account,
  Address,
  type FeeBumpTransaction,
  humanizeEvents,
  Keypair,
  nativeToScVal,
  Operation,
  rpc,
  type Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { readWasm } from "../../lib/runtime/wasm_files.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { createNetwork, type NetworkOptions, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { AppliedTransaction, SubmitOutcome } from "../../lib/sandbox/network_types.ts";

const wasmFile = (name: string) => new Uint8Array(readFileSync(`lib/sandbox/wasm/${name}.wasm`));

export const contractCode = () => ({
  deviceRegistry: wasmFile("device_registry"),
  agentRegistry: wasmFile("agent_registry"),
  paymentEscrow: wasmFile("payment_escrow"),
});

let engine: Promise<WebAssembly.Module> | undefined;

/** The engine, compiled once for all networks of a process: what has run on one of them is fast on the next. */
export function engineModule(): Promise<WebAssembly.Module> {
  return engine ??= readWasm("engine").then((bytes) => WebAssembly.compile(bytes));
}

/** Starts at this Unix second; only tests move it. */
export const START_SECONDS = 1_790_000_000;

export interface TestNetwork {
  network: SandboxNetwork;
  clock: { seconds: number };
}

/** A network whose clock stands still and whose ledgers close when a test says so. */
export async function startNetwork(options: Partial<NetworkOptions> = {}): Promise<TestNetwork> {
  const clock = { seconds: START_SECONDS };
  const network = await createNetwork({
    engineWasm: await engineModule(),
    ledgerMs: 0,
    now: () => clock.seconds * 1000,
    schedule: () => () => {},
    randomBytes: (length) => new Uint8Array(length).fill(7),
    ...options,
  });
  return { network, clock };
}

/** Timers that go off when a test says so. */
export function fakeTimers() {
  const timers: { callback: () => void; delayMs: number }[] = [];
  const schedule: NetworkOptions["schedule"] = (callback, delayMs) => {
    const timer = { callback, delayMs };
    timers.push(timer);
    return () => {
      const at = timers.indexOf(timer);
      if (at >= 0) timers.splice(at, 1);
    };
  };
  return {
    schedule,
    delays: () => timers.map(({ delayMs }) => delayMs),
    fire() {
      const timer = timers.shift();
      assert.ok(timer, "no timer is set");
      timer.callback();
    },
  };
}

/** A keypair that is the same in every run. */
export function keypair(name: string): Keypair {
  return Keypair.fromRawEd25519Seed(sha256(new TextEncoder().encode(name)));
}

/** Creates accounts with 10,000 XLM each, in one or two ledgers. */
export async function fund(network: SandboxNetwork, ...keypairs: Keypair[]): Promise<void> {
  for (const pair of keypairs) {
    const funded = network.fund(pair.publicKey());
    network.closeLedger();
    assert.equal((await funded).successful, true);
  }
}

export function accountOf(network: SandboxNetwork, pair: Keypair): xdr.AccountEntry {
  const held = network.entry(
    xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: pair.xdrAccountId() })).toXdr(),
  );
  assert.ok(held, "the account does not exist");
  const data = xdr.LedgerEntryData.fromXdr(held.dataXdr);
  assert.equal(data.type, "account");
  return (data as Extract<xdr.LedgerEntryData, { type: "account" }>).account;
}

export const balanceOf = (network: SandboxNetwork, pair: Keypair): bigint => accountOf(network, pair).balance;

type BuilderOptions = Partial<ConstructorParameters<typeof TransactionBuilder>[1]>;

/** A transaction of the account's next sequence number, yet to be signed. */
export function build(
  network: SandboxNetwork,
  source: Keypair,
  operations: xdr.Operation[],
  options: BuilderOptions & { sequence?: bigint } = {},
): Transaction {
  const { sequence = accountOf(network, source).seqNum, ...rest } = options;
  const account = new Account(source.publicKey(), sequence.toString());
  const builder = new TransactionBuilder(account, { fee: "100", networkPassphrase: network.passphrase, ...rest });
  for (const operation of operations) builder.addOperation(operation);
  if (!rest.timebounds) builder.setTimeout(0);
  return builder.build();
}

/** Signs, and answers the same transaction. */
export function signed<T extends Transaction | FeeBumpTransaction>(transaction: T, ...pairs: Keypair[]): T {
  transaction.sign(...pairs);
  return transaction;
}

export function submit(network: SandboxNetwork, transaction: Transaction | FeeBumpTransaction): SubmitOutcome {
  return network.submit(transaction.toEnvelope().toXdr());
}

/** The result code of a refused envelope; of a fee bump the inner one behind a slash, of an operation the last one. */
export function refusal(outcome: SubmitOutcome): string {
  assert.equal(outcome.status, "ERROR", `the envelope was not refused but ${outcome.status}`);
  return outcome.status === "ERROR" ? codesOf(outcome.resultXdr) : "";
}

/** Codes of a TransactionResult, from the outside in: `txFailed/payment/paymentUnderfunded`. */
export function codesOf(resultXdr: Uint8Array): string {
  const { result } = xdr.TransactionResult.fromXdr(resultXdr);
  const inner = "innerResultPair" in result ? result.innerResultPair.result.result : undefined;
  const last = inner ?? result;
  const codes = inner ? [result.type, inner.type] : [result.type];
  if ("results" in last) {
    const reports = last.results.find((r) => !/Success$/.test(r.type === "opInner" ? String(r.tr.value.type) : r.type));
    const shown = reports ?? last.results[0];
    if (shown) {
      codes.push(
        ...(shown.type === "opInner" ? [shown.tr.type, String(shown.tr.value.type)] : [shown.type]) as never[],
      );
    }
  }
  return codes.join("/");
}

/** Submits, closes a ledger and answers what became of it. */
export function apply(network: SandboxNetwork, transaction: Transaction | FeeBumpTransaction): AppliedTransaction {
  const outcome = submit(network, transaction);
  assert.equal(outcome.status, "PENDING", outcome.status === "ERROR" ? codesOf(outcome.resultXdr) : outcome.status);
  network.closeLedger();
  const applied = network.transaction(outcome.hash);
  assert.ok(applied, "the transaction was not applied");
  return applied;
}

/** What the contract events of an applied transaction's operations say. */
export const eventsOf = (applied: AppliedTransaction) =>
  humanizeEvents(applied.contractEventsXdr.flat().map((event) => xdr.ContractEvent.fromXdr(event)));

export const feeChargedOf = (applied: AppliedTransaction): bigint =>
  xdr.TransactionResult.fromXdr(applied.resultXdr).feeCharged;

/** Simulates and assembles a contract transaction, yet to be signed. */
export function prepare(
  network: SandboxNetwork,
  source: Keypair,
  operation: xdr.Operation,
  options: BuilderOptions & { sequence?: bigint; sorobanData?: xdr.SorobanTransactionData } = {},
): Transaction {
  const { sorobanData, ...rest } = options;
  const draft = build(network, source, [operation], { ...rest, ...(sorobanData && { sorobanData }) });
  const simulated = network.simulate(draft.toEnvelope().toXdr(), {});
  assert.ok(simulated.ok, simulated.ok ? "" : simulated.error);
  const response = {
    latestLedger: 0,
    id: "",
    events: [],
    transactionData: simulated.transactionDataXdr.toBase64(),
    minResourceFee: simulated.minResourceFee.toString(),
    results: simulated.result
      ? [{ xdr: simulated.result.valueXdr.toBase64(), auth: simulated.result.authXdr.map((a) => a.toBase64()) }]
      : [],
  };
  return rpc.assembleTransaction(draft, response as never).build();
}

/** Simulates, assembles, signs with the source and applies. */
export function invoke(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): AppliedTransaction {
  return apply(network, signed(prepare(network, source, operation), source));
}

export const call = (contract: string, name: string, ...args: xdr.ScVal[]): xdr.Operation =>
  Operation.invokeContractFunction({ contract, function: name, args });
export const address = (text: string): xdr.ScVal => new Address(text).toScVal();
export const bytes = (value: Uint8Array): xdr.ScVal => xdr.ScVal.scvBytes(value);
export const i128 = (value: bigint | number): xdr.ScVal => nativeToScVal(value, { type: "i128" });
export const u64 = (value: bigint | number): xdr.ScVal => nativeToScVal(value, { type: "u64" });
export const u32 = (value: number): xdr.ScVal => nativeToScVal(value, { type: "u32" });
