import { Account, Keypair, Operation, rpc, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEscrow, type Escrow } from "../../lib/escrow/escrow.ts";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { createNetwork, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createRpcServer } from "../../lib/sandbox/rpc/server.ts";
import { createRpcClient, type NodesRpcClient } from "../../lib/stellar/rpc/client.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import { createLedgerView, type LedgerView } from "../../lib/stellar/ledger/ledger_view.ts";

/** The real sandbox network with the three contracts, reached over its RPC server in this process. */
export interface Sandbox {
  network: SandboxNetwork;
  contracts: ContractIds;
  /** The native asset's contract. */
  asset: string;
  /** Moves the network's clock on. */
  pass(seconds: number): void;
  nowMs(): number;
  /** How often each method was called. */
  counts: Map<string, number>;
  /** Between the client and the node: tests put faults here. */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** A gateway's view of the network: its own view, client and caches. */
  gateway(options?: Partial<GatewayOptions>): GatewayView;
  /** The network's clock, for parts of a gateway; waiting takes a moment of ours, and moves only its monotonic part. */
  clock: Clock;
  owner: Keypair;
  agent: Keypair;
  merchant: Keypair;
  /** Another funded account. */
  account(): Promise<Keypair>;
  /** A signed envelope of a call, made past the gateway. */
  envelope(source: Keypair, contract: string, name: string, ...args: xdr.ScVal[]): string;
  /** Applies a call at once, past the gateway. */
  invoke(source: Keypair, contract: string, name: string, ...args: xdr.ScVal[]): void;
}

export interface GatewayView {
  escrow: Escrow;
  rpc: NodesRpcClient;
  view: LedgerView;
  problems: string[];
  notes: Map<string, { validUntil: number }>;
}

interface GatewayOptions {
  contracts: ContractIds;
  submitTimeoutMs: number;
  fetch: Sandbox["fetch"];
}

function wasm(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    readFileSync(fileURLToPath(new URL(`../../lib/sandbox/wasm/${name}.wasm`, import.meta.url).href)),
  );
}

let engine: WebAssembly.Module | undefined;

/** Starts a network whose clock stands still unless it is told to move, sets up as `gateway sandbox` does. */
export async function startSandbox(): Promise<Sandbox> {
  engine ??= await WebAssembly.compile(wasm("engine"));
  let nowMs = 1_800_000_000_000;
  const network = await createNetwork({
    engineWasm: engine,
    ledgerMs: 0,
    now: () => nowMs,
    // Ledgers close as soon as there is something to close; nothing else happens by itself.
    schedule: (callback, delayMs) => {
      if (delayMs > 0) return () => {};
      const timer = setTimeout(callback, 0);
      return () => clearTimeout(timer);
    },
  });
  const server = createRpcServer({ network, version: "test", now: () => nowMs });
  let waitedMs = 0;
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs + waitedMs,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          waitedMs += ms;
          resolve();
        }, 1);
        signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
      }),
  };
  const counts = new Map<string, number>();

  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { method } = JSON.parse(String(init.body));
    counts.set(method, (counts.get(method) ?? 0) + 1);
    return server.fetch(new Request(url, { method: init.method, headers: init.headers, body: init.body }));
  };

  async function account(): Promise<Keypair> {
    const keypair = Keypair.random();
    await network.fund(keypair.publicKey());
    return keypair;
  }

  /** An operation's transaction with what its simulation found, signed. */
  function assembled(source: Keypair, operation: xdr.Operation): string {
    const accountId = source.xdrAccountId();
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr();
    const entry = xdr.LedgerEntryData.fromXdr(network.entry(key)!.dataXdr);
    if (entry.type !== "account") throw new Error("no account");
    const transaction = new TransactionBuilder(new Account(source.publicKey(), entry.account.seqNum.toString()), {
      fee: "1000",
      networkPassphrase: network.passphrase,
      timebounds: { minTime: 0, maxTime: Math.floor(nowMs / 1_000) + 300 },
    }).addOperation(operation).build();
    const outcome = network.simulate(xdr.decodeBytes(transaction.toXdr(), "base64"), {});
    if (!outcome.ok) throw new Error(outcome.error);
    const base64 = (bytes: Uint8Array) => xdr.encodeBytes(bytes, "base64");
    const complete = rpc.assembleTransaction(transaction, {
      id: "1",
      latestLedger: network.latestLedger().sequence,
      events: [],
      transactionData: base64(outcome.transactionDataXdr),
      minResourceFee: outcome.minResourceFee.toString(),
      results: [{ xdr: base64(outcome.result!.valueXdr), auth: outcome.result!.authXdr.map(base64) }],
    }).build();
    complete.sign(source);
    return complete.toXdr();
  }

  function apply(envelope: string): void {
    const sent = network.submit(xdr.decodeBytes(envelope, "base64"));
    if (sent.status !== "PENDING") throw new Error(sent.status);
    network.closeLedger();
    if (!network.transaction(sent.hash)!.successful) throw new Error(`${sent.hash} failed`);
  }

  const { contracts, asset, accounts } = bootstrapSandbox(network, {
    contracts: {
      deviceRegistry: wasm("device_registry"),
      agentRegistry: wasm("agent_registry"),
      paymentEscrow: wasm("payment_escrow"),
    },
  });

  return {
    network,
    contracts,
    asset,
    pass: (seconds) => nowMs += seconds * 1000,
    nowMs: () => nowMs,
    clock,
    counts,
    fetch,
    owner: Keypair.fromSecret(accounts.owner.secret),
    agent: Keypair.fromSecret(accounts.agent.secret),
    merchant: Keypair.fromSecret(accounts.merchant.secret),
    account,
    envelope: (source, contract, name, ...args) =>
      assembled(source, Operation.invokeContractFunction({ contract, function: name, args })),
    invoke(source, contract, name, ...args) {
      apply(assembled(source, Operation.invokeContractFunction({ contract, function: name, args })));
    },
    gateway(options = {}) {
      // As of a gateway that ran until now.
      const view = createLedgerView({ clock, stored: network.latestLedger() });
      const problems: string[] = [];
      const notes = new Map<string, { validUntil: number }>();
      const client = createRpcClient({
        urls: ["http://sandbox.test/rpc"],
        fetch: options.fetch ?? fetch,
        // Its time-outs are real.
        clock: { ...clock, wait: sleep },
        view,
      });
      const escrow = createEscrow({
        rpc: client,
        view,
        clock,
        contracts: options.contracts ?? contracts,
        networkPassphrase: network.passphrase,
        submitTimeoutMs: options.submitTimeoutMs ?? 60_000,
        noteSubmission: ({ hash, validUntil }) => Promise.resolve(void notes.set(hash, { validUntil })),
        getSubmission: (hash) => Promise.resolve(notes.get(hash)),
        onProblem: (message) => problems.push(message),
      });
      return { escrow, rpc: client, view, problems, notes };
    },
  };
}

/** Signs a prepared envelope as its source would, outside the gateway. */
export function signed(envelope: string, networkPassphrase: string, ...signers: Keypair[]): string {
  const transaction = TransactionBuilder.fromXdr(envelope, networkPassphrase);
  transaction.sign(...signers);
  return transaction.toXdr();
}
