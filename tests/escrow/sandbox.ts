import assert from "node:assert/strict";
import { Keypair, Operation, TransactionBuilder, type xdr } from "@stellar/stellar-sdk";
import { createAssetList } from "../../lib/escrow/assets/asset_list.ts";
import { createEscrow, type Escrow, type EscrowParts } from "../../lib/escrow/escrow.ts";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createRpcServer } from "../../lib/sandbox/rpc/server.ts";
import { createRpcClient, type NodesRpcClient } from "../../lib/stellar/rpc/client.ts";
import { readyNetwork } from "../sandbox/ready_network.ts";
import { callNow, signedEnvelope } from "../sandbox/past_the_gateway.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import { type KeptNote, memoryOfEscrow } from "../stellar/transactions/memory_submission_log.ts";
import { askNewest } from "../../lib/stellar/fresh_read.ts";
import { createHead, type Head } from "../../lib/stellar/head.ts";
import { after, before } from "node:test";
import type { Operation as AskedOperation } from "../../lib/escrow/operations/operations.ts";

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
  /** A gateway's head of the network: its own head, client and caches. */
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

type Answer<Name extends "prepare" | "submit"> = Awaited<ReturnType<Escrow["transactions"][Name]>>;

export interface GatewayView {
  /** Prepares an operation, signs and submits it. */
  act(who: Keypair, asked: AskedOperation): Promise<{ prepared: Answer<"prepare">; confirmed: Answer<"submit"> }>;
  escrow: Escrow;
  rpc: NodesRpcClient;
  head: Head;
  problems: string[];
  notes: Map<string, KeptNote>;
}

interface GatewayOptions {
  contracts: ContractIds;
  submitTimeoutMs: number;
  fetch: Sandbox["fetch"];
  /** As the setting has them. */
  assets: string[];
  /** Instead of that of a gateway by itself. */
  sharedState: EscrowParts["sharedState"];
}

/** The sandbox of a file's tests, started before the first of them and stopped after the last. */
export function sandboxOfFile(): Sandbox {
  const sandbox = {} as Sandbox;
  before(async () => void Object.assign(sandbox, await startSandbox()));
  after(() => sandbox.network.stop());
  return sandbox;
}

/** Starts a ready network whose clock only the test moves. */
export async function startSandbox(): Promise<Sandbox> {
  let nowMs = 1_800_000_000_000;
  const { network, sandbox: { contracts, asset, accounts } } = await readyNetwork({
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
      signedEnvelope(network, source, Operation.invokeContractFunction({ contract, function: name, args })),
    invoke: (source, contract, name, ...args) => void callNow(network, source, contract, name, ...args),
    gateway(options = {}) {
      // As of a gateway that ran until now.
      const head = createHead({ clock, stored: network.latestLedger(), ask: (node) => askNewest(client, { node }) });
      const problems: string[] = [];
      const { notes, ...memory } = memoryOfEscrow(clock.now);
      const client = createRpcClient({
        urls: ["http://sandbox.test/rpc"],
        fetch: options.fetch ?? fetch,
        // Its time-outs are real.
        clock: { ...clock, wait: sleep },
        head,
      });
      const escrow = createEscrow({
        rpc: client,
        head,
        clock,
        contracts: options.contracts ?? contracts,
        assets: createAssetList(options.assets, network.passphrase),
        networkPassphrase: network.passphrase,
        submitTimeoutMs: options.submitTimeoutMs ?? 60_000,
        maxFee: 10_000_000,
        ...memory,
        ...(options.sharedState === undefined ? {} : { sharedState: options.sharedState }),
        onProblem: (message) => problems.push(message),
      });
      return {
        escrow,
        rpc: client,
        head,
        problems,
        notes,
        async act(who, operation) {
          const prepared = await escrow.transactions.prepare({ source: who.publicKey(), operation });
          const confirmed = await escrow.transactions.submit(signed(prepared.xdr, network.passphrase, who));
          assert.equal(confirmed.hash, prepared.hash);
          return { prepared, confirmed };
        },
      };
    },
  };
}

/** Signs a prepared envelope as its source would, outside the gateway. */
export function signed(envelope: string, networkPassphrase: string, ...signers: Keypair[]): string {
  const transaction = TransactionBuilder.fromXdr(envelope, networkPassphrase);
  transaction.sign(...signers);
  return transaction.toXdr();
}
