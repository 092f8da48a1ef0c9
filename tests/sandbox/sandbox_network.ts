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
import type { Protocol } from "../../lib/sandbox/ledger/protocol.ts";
import { accountKeyXdr } from "../../lib/sandbox/ledger/accounts.ts";
import { createNetwork, type NetworkOptions, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { AppliedTransaction, SubmitOutcome } from "../../lib/sandbox/network_types.ts";

export * from "./people.ts";

const wasmFile = (name: string) => new Uint8Array(readFileSync(`lib/sandbox/wasm/${name}.wasm`));

export const contractCode = () => ({
  deviceRegistry: wasmFile("device_registry"),
  agentRegistry: wasmFile("agent_registry"),
  paymentEscrow: wasmFile("payment_escrow"),
});

const engines = new Map<Protocol, Promise<WebAssembly.Module>>();

/** The engine of a protocol, compiled once for all networks of a process. */
export function engineModule(protocol: Protocol): Promise<WebAssembly.Module> {
  const engine = engines.get(protocol) ?? readWasm(`engine_${protocol}`).then((bytes) => WebAssembly.compile(bytes));
  engines.set(protocol, engine);
  return engine;
}

/** The Unix second at which a test network starts. */
export const START_SECONDS = 1_790_000_000;

/** The source of a transaction, or the source with more signers. */
export type Signers = Keypair | [source: Keypair, ...others: Keypair[]];

/** A network, and the functions of this file bound to it. */
export interface TestNetwork extends ReturnType<typeof boundTo> {
  network: SandboxNetwork;
  /** Only the test moves it. */
  clock: { seconds: number };
  /** Applies the operations in a ledger of their own. */
  run(signers: Signers, ...operations: xdr.Operation[]): AppliedTransaction;
  /** Like `run`; returns the result codes. */
  result(signers: Signers, ...operations: xdr.Operation[]): string;
  /** Submits operations that the network refuses; returns the result codes. */
  refused(signers: Signers, ...operations: xdr.Operation[]): string;
}

/** Starts a network whose clock stands still. It closes a ledger only when the test calls `closeLedger`. */
export async function startNetwork(options: Partial<NetworkOptions> = {}): Promise<TestNetwork> {
  const clock = { seconds: START_SECONDS };
  const network = await createNetwork({
    engineWasm: engineModule,
    ledgerMs: 0,
    now: () => clock.seconds * 1000,
    schedule: () => () => {},
    randomBytes: (length) => new Uint8Array(length).fill(7),
    ...options,
  });
  const transaction = (signers: Signers, operations: xdr.Operation[]) => {
    const pairs = [signers].flat();
    return signed(build(network, pairs[0]!, operations), ...pairs);
  };
  const run: TestNetwork["run"] = (signers, ...operations) => apply(network, transaction(signers, operations));
  return {
    ...boundTo(network),
    network,
    clock,
    run,
    result: (signers, ...operations) => codesOf(run(signers, ...operations).resultXdr),
    refused: (signers, ...operations) => refusal(submit(network, transaction(signers, operations))),
  };
}

function boundTo(network: SandboxNetwork) {
  const bound = <Args extends unknown[], R>(of: (network: SandboxNetwork, ...args: Args) => R) => (...args: Args) =>
    of(network, ...args);
  return {
    close: () => network.closeLedger(),
    fund: bound(fund),
    find: bound(findAccount),
    account: bound(accountOf),
    balance: bound(balanceOf),
    build: bound(build),
    prepare: bound(prepare),
    submit: bound(submit),
    apply: bound(apply),
    invoke: bound(invoke),
  };
}

/** Timers that fire only when the test calls `fire`. */
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

/** Creates accounts with 10,000 XLM each, in one or two ledgers. */
export async function fund(network: SandboxNetwork, ...keypairs: Keypair[]): Promise<void> {
  for (const pair of keypairs) {
    const funded = network.fund(pair.publicKey());
    network.closeLedger();
    assert.equal((await funded).successful, true);
  }
}

/** The account's entry, undefined when there is none. */
export function findAccount(network: SandboxNetwork, pair: Keypair): xdr.AccountEntry | undefined {
  const held = network.entry(accountKeyXdr(pair.rawPublicKey()));
  const data = held && xdr.LedgerEntryData.fromXdr(held.dataXdr);
  return data?.type === "account" ? data.account : undefined;
}

export function accountOf(network: SandboxNetwork, pair: Keypair): xdr.AccountEntry {
  const account = findAccount(network, pair);
  assert.ok(account, "the account does not exist");
  return account;
}

export const balanceOf = (network: SandboxNetwork, pair: Keypair): bigint => accountOf(network, pair).balance;

type BuilderOptions = Partial<ConstructorParameters<typeof TransactionBuilder>[1]>;

/** An unsigned transaction with the account's next sequence number. */
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

/** Signs and returns the same transaction. */
export function signed<T extends Transaction | FeeBumpTransaction>(transaction: T, ...pairs: Keypair[]): T {
  transaction.sign(...pairs);
  return transaction;
}

export function submit(network: SandboxNetwork, transaction: Transaction | FeeBumpTransaction): SubmitOutcome {
  return network.submit(transaction.toEnvelope().toXdr());
}

/** The result codes of a refused envelope, as `codesOf` writes them. */
export function refusal(outcome: SubmitOutcome): string {
  assert.equal(outcome.status, "ERROR", `the envelope was not refused but ${outcome.status}`);
  return outcome.status === "ERROR" ? codesOf(outcome.resultXdr) : "";
}

/** Codes of a TransactionResult, from the outside in: `txFailed/payment/paymentUnderfunded`. Shows the first failed operation. */
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

/** Submits, closes a ledger and returns the applied transaction. */
export function apply(network: SandboxNetwork, transaction: Transaction | FeeBumpTransaction): AppliedTransaction {
  const outcome = submit(network, transaction);
  assert.equal(outcome.status, "PENDING", outcome.status === "ERROR" ? codesOf(outcome.resultXdr) : outcome.status);
  network.closeLedger();
  const applied = network.transaction(outcome.hash);
  assert.ok(applied, "the transaction was not applied");
  return applied;
}

/** The decoded contract events of an applied transaction's operations. */
export const eventsOf = (applied: AppliedTransaction) =>
  humanizeEvents(applied.contractEventsXdr.flat().map((event) => xdr.ContractEvent.fromXdr(event)));

export function metaOf(applied: AppliedTransaction): xdr.TransactionMetaV4 {
  const meta = xdr.TransactionMeta.fromXdr(applied.resultMetaXdr);
  assert.ok(meta.type === "v4");
  return meta.v4;
}

export const feeChargedOf = (applied: AppliedTransaction): bigint =>
  xdr.TransactionResult.fromXdr(applied.resultXdr).feeCharged;

/** Simulates and assembles a contract transaction. It is unsigned. */
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

/** Simulates and assembles a contract transaction, signs it with the source and applies it. */
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
