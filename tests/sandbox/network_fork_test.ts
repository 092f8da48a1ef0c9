// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Asset, Keypair, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { bootstrapReads, bootstrapSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { entryLifetimes, LIFETIMES_KEY, withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import {
  address,
  apply,
  balanceOf,
  build,
  bytes,
  call,
  contractCode,
  engineModule,
  fund,
  invoke,
  keypair,
  signed,
} from "./sandbox_network.ts";

const [alice, bob] = [keypair("alice"), keypair("bob")];
const PASSPHRASE = "the network that is forked";

let origin: SandboxRpc & { network: SandboxNetwork };
let sandbox: Sandbox;
let card: Uint8Array;
/** In front of the other network: what was asked of it. */
let proxy: { url: string; asked: string[]; stop(): Promise<unknown> };

before(async () => {
  origin = await openSandboxRpc({ passphrase: PASSPHRASE, adjustSettings: withEntryTtl(5_000) }) as typeof origin;
  sandbox = bootstrapSandbox(origin.network, { contracts: contractCode() });
  card = sha256(new TextEncoder().encode("card"));
  const owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
  invoke(origin.network, owner, register(card, owner));
  await fund(origin.network, alice, bob);
  const asked: string[] = [];
  const server = await serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeoutMs: 60_000,
    async fetch(request) {
      const body = await request.text();
      asked.push(JSON.parse(body).method);
      return await fetch(origin.url, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    },
  });
  proxy = { url: server.url, asked, stop: () => server.stop({ drainMs: 100 }) };
});
after(async () => {
  await proxy.stop();
  await origin.stop();
});

const register = (device: Uint8Array, owner: Keypair) =>
  call(
    sandbox.contracts.deviceRegistry,
    "register",
    address(owner.publicKey()),
    bytes(device),
    address(owner.publicKey()),
  );
const getOwner = (device: Uint8Array) => call(sandbox.contracts.deviceRegistry, "get_owner", bytes(device));

async function openFork(url = proxy.url): Promise<SandboxRpc & { network: SandboxNetwork }> {
  const forkOf = await openRemote(url);
  return await openSandboxRpc({ engineWasm: await engineModule(), forkOf }) as never;
}

/** Pays from one account to another on a network, past its RPC. */
function pay(network: SandboxNetwork, from: Keypair, to: Keypair): void {
  const operation = Operation.payment({ destination: to.publicKey(), asset: Asset.native(), amount: "1" });
  apply(network, signed(build(network, from, [operation]), from));
}

describe("a fork", () => {
  test("goes on from the other network: passphrase, settings, and a ledger that follows its latest", async () => {
    const fork = await openFork();
    const last = origin.network.latestLedger();
    const first = fork.network.oldestLedger();
    assert.equal((await fork.rpc.getNetwork()).passphrase, PASSPHRASE);
    assert.equal(first.sequence, last.sequence + 1);
    const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(first.headerXdr);
    assert.equal(header.previousLedgerHash.toString(), last.hash);
    assert.ok(first.closeTime >= last.closeTime);
    assert.equal(entryLifetimes(fork.network.entry(LIFETIMES_KEY)!.dataXdr)?.persistent, 5_000);
    await fork.stop();
  });

  test("reads an entry when it is asked for, once: what becomes of it there later is not seen", async () => {
    const fork = await openFork();
    const balance = async (pair: Keypair) => (await fork.rpc.getAccountEntry(pair.publicKey())).balance;
    const [aliceThen, bobThen] = [balanceOf(origin.network, alice), balanceOf(origin.network, bob)];
    assert.equal(await balance(alice), aliceThen);
    pay(origin.network, alice, bob);
    assert.equal(await balance(alice), aliceThen);
    assert.equal(await balance(bob), bobThen + 10_000_000n, "it had not been read before");
    await assert.rejects(fork.rpc.getAccountEntry(Keypair.random().publicKey()));
    await fork.stop();
  });

  test("takes transactions of the other network's accounts, calls its contracts, and sends nothing there", async () => {
    const fork = await openFork();
    proxy.asked.length = 0;
    const ledger = origin.network.latestLedger().sequence;
    const draft = async (operation: xdr.Operation) =>
      new TransactionBuilder(await fork.rpc.getAccount(alice.publicKey()), {
        fee: "100",
        networkPassphrase: PASSPHRASE,
      })
        .setTimeout(60).addOperation(operation).build();
    const confirm = async (transaction: Transaction) => {
      transaction.sign(alice);
      const sent = await fork.rpc.sendTransaction(transaction);
      assert.equal(sent.status, "PENDING", JSON.stringify(sent.errorResult));
      assert.equal((await fork.rpc.pollTransaction(sent.hash)).status, "SUCCESS");
    };
    const owned = await fork.rpc.simulateTransaction(await draft(getOwner(card)));
    assert.ok("result" in owned && owned.result, "error" in owned ? owned.error : "");
    const mine = crypto.getRandomValues(new Uint8Array(32));
    await confirm(await fork.rpc.prepareTransaction(await draft(register(mine, alice))));
    const destination = Keypair.random().publicKey();
    await confirm(await draft(Operation.createAccount({ destination, startingBalance: "5" })));

    assert.equal(origin.network.latestLedger().sequence, ledger, "no ledger closed there for it");
    assert.deepEqual([...new Set(proxy.asked)], ["getLedgerEntries"]);
    await fork.stop();
  });

  test("funds accounts and contracts, theirs and new ones", async () => {
    const fork = await openFork();
    for (const to of [alice.publicKey(), Keypair.random().publicKey(), sandbox.contracts.paymentEscrow]) {
      const { result } = await fork.call("sandbox_fund", { address: to });
      assert.equal(result?.paid, true, to);
    }
    assert.equal(
      (await fork.rpc.getAccountEntry(alice.publicKey())).balance,
      balanceOf(origin.network, alice) + 100_000_000_000n,
    );
    await fork.stop();
  });

  test("is set up beside the contracts that are there, and goes back to its snapshots", async () => {
    const fork = await openFork();
    const options = { contracts: contractCode() };
    await fork.network.fork!.complete(() => bootstrapReads(fork.network, options).forEach(fork.network.entry));
    const own = bootstrapSandbox(fork.network, options);
    assert.notDeepEqual(own.contracts, sandbox.contracts);
    assert.equal(own.asset, sandbox.asset, "the native asset's contract is there already");
    const owner = Keypair.fromSecret(own.accounts.owner.secret);
    fork.network.snapshot("ready");
    const before = balanceOf(fork.network, owner);
    pay(fork.network, owner, Keypair.fromSecret(own.accounts.agent.secret));
    fork.network.advance({ ledgers: 10_000 });
    fork.network.revert("ready");
    assert.equal(balanceOf(fork.network, owner), before);
    assert.equal((await fork.rpc.getAccountEntry(bob.publicKey())).balance, balanceOf(origin.network, bob));
    await fork.stop();
  });

  test("goes on with what it has read when the other network is gone, and says so of the rest", async () => {
    const passing = await serveHttp({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeoutMs: 60_000,
      fetch: async (request) =>
        await fetch(origin.url, {
          method: "POST",
          body: await request.text(),
          headers: { "Content-Type": "application/json" },
        }),
    });
    const fork = await openFork(`${passing.url}/rpc/TOKEN`);
    await fork.rpc.getAccountEntry(alice.publicKey());
    await passing.stop({ drainMs: 100 });
    assert.ok(await fork.rpc.getAccountEntry(alice.publicKey()));
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: bob.xdrAccountId() })).toXdr().toBase64();
    const { error } = await fork.call("getLedgerEntries", { keys: [key] });
    assert.deepEqual(error, {
      code: -32603,
      message: `the network at ${passing.url} cannot be read: it does not answer`,
    });
    await fork.stop();
  });

  test("of a network with another protocol, or of no network, is refused", async () => {
    const forkOf = { ...await openRemote(proxy.url), protocolVersion: 22 };
    await assert.rejects(
      openSandboxRpc({ forkOf }),
      /the forked network must have protocol \d+; got 22/,
    );
    await assert.rejects(openRemote(`${origin.url}/friendbot`), /no Stellar RPC node|cannot be read/);
  });
});
