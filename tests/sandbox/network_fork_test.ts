// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Keypair, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { bootstrapReads, bootstrapSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { accountKeyXdr } from "../../lib/sandbox/ledger/accounts.ts";
import { entryLifetimes, LIFETIMES_KEY, withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { LaterEntry } from "../../lib/sandbox/network_types.ts";
import { create, pay } from "./envelope_parts.ts";
import { FORKED, openFork, openOrigin, type SandboxNode } from "./fork.ts";
import { openSandboxRpc } from "./rpc/sandbox_rpc.ts";
import { alice, bob } from "./people.ts";
import {
  address,
  apply,
  balanceOf,
  build,
  bytes,
  call,
  contractCode,
  fund,
  hashOf,
  i128,
  invoke,
  signed,
} from "./sandbox_network.ts";
import { cardCalls, holdersOf } from "./soroban_parts.ts";

let origin: SandboxNode;
let sandbox: Sandbox;
let proxy: Awaited<ReturnType<typeof openProxy>>;

/** A node of the origin network that records the methods of its requests. */
async function openProxy() {
  const methods: string[] = [];
  const server = await serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeoutMs: 60_000,
    async fetch(request) {
      const body = await request.text();
      methods.push(JSON.parse(body).method);
      return await fetch(origin.url, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    },
  });
  return { url: server.url, methods, stop: () => server.stop({ drainMs: 100 }) };
}

before(async () => {
  origin = await openOrigin({ adjustSettings: withEntryTtl(5_000) });
  sandbox = bootstrapSandbox(origin.network, { contracts: contractCode() });
  invoke(origin.network, holdersOf(sandbox).owner, cardCalls(sandbox).register());
  await fund(origin.network, alice, bob);
  proxy = await openProxy();
});
after(async () => {
  await proxy.stop();
  await origin.stop();
});

/** Pays on a network without its RPC. */
function applyPayment(network: SandboxNetwork, from: Keypair, to: Keypair): void {
  apply(network, signed(build(network, from, [pay(to, 10_000_000n)]), from));
}

describe("a fork", () => {
  test("continues the other network: its passphrase, its settings, and its latest ledger", async () => {
    const fork = await openFork(proxy.url);
    const last = origin.network.latestLedger();
    const first = fork.network.oldestLedger();
    assert.equal((await fork.rpc.getNetwork()).passphrase, FORKED);
    assert.equal(first.sequence, last.sequence + 1);
    const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(first.headerXdr);
    assert.equal(header.previousLedgerHash.toString(), last.hash);
    assert.ok(first.closeTime >= last.closeTime);
    assert.equal(entryLifetimes(fork.network.entry(LIFETIMES_KEY)!.dataXdr)?.persistent, 5_000);
    await fork.stop();
  });

  test("reads an entry at its first use, and does not see later changes of it there", async () => {
    const fork = await openFork(proxy.url);
    const balance = async (pair: Keypair) => (await fork.rpc.getAccountEntry(pair.publicKey())).balance;
    const [aliceThen, bobThen] = [balanceOf(origin.network, alice), balanceOf(origin.network, bob)];
    assert.equal(await balance(alice), aliceThen);
    applyPayment(origin.network, alice, bob);
    assert.equal(await balance(alice), aliceThen);
    assert.equal(await balance(bob), bobThen + 10_000_000n, "the first read of this account");
    await assert.rejects(fork.rpc.getAccountEntry(Keypair.random().publicKey()));
    await fork.stop();
  });

  test("names an entry that changed over there since the fork, once, and no other", async () => {
    const named: LaterEntry[] = [];
    const network = await openSandboxRpc({ forkOf: await openRemote(proxy.url), onLaterEntry: (e) => named.push(e) });
    const card = cardCalls(sandbox, hashOf("a later card"));
    const { sequence } = origin.network.latestLedger();
    invoke(origin.network, holdersOf(sandbox).owner, card.register());
    const source = await network.rpc.getAccount(bob.publicKey());
    const draft = new TransactionBuilder(source, { fee: "100", networkPassphrase: FORKED }).setTimeout(60)
      .addOperation(card.getOwner()).build();
    for (const _ of "twice") await network.rpc.simulateTransaction(draft);
    const { result } = await network.call("sandbox_status");
    assert.deepEqual(result.fork.laterEntries, named);
    assert.equal(result.fork.ledger, sequence);
    assert.deepEqual(named.map(({ ledger }) => ledger), [sequence + 1]);
    assert.match(
      JSON.stringify(named[0]!.key),
      new RegExp(`"contract":"${sandbox.contracts.deviceRegistry}".*"Device"`),
    );
    await network.stop();
  });

  test("reads the contracts it is to use at its start: what changes there later is not seen", async () => {
    const fork = await openFork(proxy.url);
    const { paymentEscrow } = sandbox.contracts;
    const balance = (network: SandboxNetwork) => {
      const draft = build(network, alice, [call(sandbox.asset, "balance", address(paymentEscrow))]);
      const simulated = network.simulate(draft.toEnvelope().toXdr(), {});
      return simulated.ok ? xdr.ScVal.fromXdr(simulated.result!.valueXdr).toXdr("base64") : simulated.error;
    };
    const options = { contracts: contractCode(), existing: sandbox.contracts };
    await fork.network.fork!.complete(() => bootstrapReads(fork.network, options).forEach(fork.network.entry));
    await fork.rpc.getAccountEntry(alice.publicKey());
    const before = balance(origin.network);
    invoke(
      origin.network,
      alice,
      call(sandbox.asset, "transfer", address(alice.publicKey()), address(paymentEscrow), i128(5)),
    );
    assert.notEqual(balance(origin.network), before);
    assert.equal(await fork.network.fork!.complete(() => balance(fork.network)), before);
    assert.deepEqual(fork.network.fork!.laterEntries(), []);
    await fork.stop();
  });

  test("applies transactions of the other network's accounts, calls its contracts, and sends no transaction there", async () => {
    const fork = await openFork(proxy.url);
    proxy.methods.length = 0;
    const ledger = origin.network.latestLedger().sequence;
    const draft = async (operation: xdr.Operation) =>
      new TransactionBuilder(await fork.rpc.getAccount(alice.publicKey()), { fee: "100", networkPassphrase: FORKED })
        .setTimeout(60).addOperation(operation).build();
    const confirm = async (transaction: Transaction) => {
      transaction.sign(alice);
      const sent = await fork.rpc.sendTransaction(transaction);
      assert.equal(sent.status, "PENDING", JSON.stringify(sent.errorResult));
      assert.equal((await fork.rpc.pollTransaction(sent.hash)).status, "SUCCESS");
    };
    const owned = await fork.rpc.simulateTransaction(await draft(cardCalls(sandbox).getOwner()));
    assert.ok("result" in owned && owned.result, "error" in owned ? owned.error : "");
    const [self, card] = [address(alice.publicKey()), bytes(crypto.getRandomValues(new Uint8Array(32)))];
    const register = call(sandbox.contracts.deviceRegistry, "register", self, card, self);
    await confirm(await fork.rpc.prepareTransaction(await draft(register)));
    await confirm(await draft(create(Keypair.random(), "5")));

    assert.equal(origin.network.latestLedger().sequence, ledger, "the other network closed no ledger");
    assert.deepEqual([...new Set(proxy.methods)], ["getLedgerEntries"]);
    await fork.stop();
  });

  test("funds new accounts, and accounts and contracts of the other network", async () => {
    const fork = await openFork(proxy.url);
    for (const to of [alice.publicKey(), Keypair.random().publicKey(), sandbox.contracts.paymentEscrow]) {
      const { result } = await fork.call("sandbox_fund", { address: to });
      assert.equal(result?.paid, true, to);
    }
    const before = balanceOf(origin.network, alice);
    assert.equal((await fork.rpc.getAccountEntry(alice.publicKey())).balance, before + 100_000_000_000n);
    await fork.stop();
  });

  test("deploys its contracts beside those of the other network, and reverts to its snapshots", async () => {
    const fork = await openFork(proxy.url);
    const options = { contracts: contractCode() };
    await fork.network.fork!.complete(() => bootstrapReads(fork.network, options).forEach(fork.network.entry));
    const own = bootstrapSandbox(fork.network, options);
    assert.notDeepEqual(own.contracts, sandbox.contracts);
    assert.equal(own.asset, sandbox.asset, "the native asset's contract exists already");
    const { owner, agent } = holdersOf(own);
    fork.network.snapshot("ready");
    const before = balanceOf(fork.network, owner);
    applyPayment(fork.network, owner, agent);
    fork.network.advance({ ledgers: 10_000 });
    fork.network.revert("ready");
    assert.equal(balanceOf(fork.network, owner), before);
    assert.equal((await fork.rpc.getAccountEntry(bob.publicKey())).balance, balanceOf(origin.network, bob));
    await fork.stop();
  });

  test("returns the entries it has read when the other node is down, and reports that node's URL for all others", async () => {
    const passing = await openProxy();
    const fork = await openFork(`${passing.url}/rpc/TOKEN`);
    await fork.rpc.getAccountEntry(alice.publicKey());
    await passing.stop();
    assert.ok(await fork.rpc.getAccountEntry(alice.publicKey()));
    const { error } = await fork.call("getLedgerEntries", { keys: [accountKeyXdr(bob.rawPublicKey()).toBase64()] });
    const message = `the network at ${passing.url} cannot be read: it does not answer`;
    assert.deepEqual(error, { code: -32603, message });
    await fork.stop();
  });

  test("does not start with another protocol, nor from a URL without a node", async () => {
    const forkOf = { ...await openRemote(proxy.url), protocolVersion: 22 };
    await assert.rejects(openSandboxRpc({ forkOf }), /the network must have protocol 27 or 28; got 22/);
    await assert.rejects(openRemote(`${origin.url}/friendbot`), /no Stellar RPC node|cannot be read/);
  });
});
