// needs: once
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import {
  Address,
  Asset,
  Claimant,
  Contract,
  contract,
  Horizon,
  Keypair,
  nativeToScVal,
  Operation,
  rpc,
  scValToNative,
  type Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { sandboxRpcOfFile, WASM } from "./sandbox_rpc.ts";

// The story of a newcomer with an unchanged js-stellar-sdk: fund, upload, deploy, invoke, read, watch.
const owner = Keypair.random();
const other = Keypair.random();
const deviceHash = new Uint8Array(32).fill(7);
const CARD_AMOUNT = 25_000_000n;

const sandbox = sandboxRpcOfFile();
let server: rpc.Server;
let wasm: Uint8Array;
let wasmHash: Uint8Array;
let registryId: string;
let registerLedger: number;
let registerHash: string;

async function build(source: Keypair, operation: xdr.Operation): Promise<Transaction> {
  const account = await server.getAccount(source.publicKey());
  return new TransactionBuilder(account, { fee: "1000", networkPassphrase: sandbox.network.passphrase })
    .addOperation(operation).setTimeout(60).build();
}

/** Prepares, signs, sends and polls, as the documentation of the SDK has it. */
async function execute(source: Keypair, operation: xdr.Operation): Promise<rpc.Api.GetSuccessfulTransactionResponse> {
  const prepared = await server.prepareTransaction(await build(source, operation));
  prepared.sign(source);
  const sent = await server.sendTransaction(prepared);
  assert.equal(sent.status, "PENDING");
  const done = await server.pollTransaction(sent.hash, { sleepStrategy: () => 10 });
  assert.equal(done.status, rpc.Api.GetTransactionStatus.SUCCESS);
  return done as rpc.Api.GetSuccessfulTransactionResponse;
}

before(async () => {
  server = sandbox.rpc;
  wasm = await readFile(`${WASM}/device_registry.wasm`);
});

describe("an unchanged js-stellar-sdk", () => {
  test("gets funded accounts from friendbot, and an existing one when asked again", async () => {
    const account = await server.requestAirdrop(owner.publicKey());
    assert.equal(account.accountId(), owner.publicKey());
    const again = await server.requestAirdrop(owner.publicKey());
    assert.equal(again.sequenceNumber(), account.sequenceNumber());
    const funding = await server.fundAddress(other.publicKey());
    assert.equal(funding.status, rpc.Api.GetTransactionStatus.SUCCESS);
    const entry = await server.getAccountEntry(other.publicKey());
    assert.ok(entry.balance >= 10_000_000_000n);
    await assert.rejects(server.getAccount(Keypair.random().publicKey()), /Account not found/);
  });

  test("gets a funded account through Horizon's friendbot builder", async () => {
    const address = Keypair.random().publicKey();
    const horizon = new Horizon.Server(sandbox.url, { allowHttp: true });
    const answer = await horizon.friendbot(address).call() as unknown as { hash: string; successful: boolean };
    assert.equal(answer.successful, true);
    assert.equal((await server.getTransaction(answer.hash)).status, rpc.Api.GetTransactionStatus.SUCCESS);
  });

  test("uploads a contract, deploys it and reads its code back by hash and by contract", async () => {
    const upload = await execute(owner, Operation.uploadContractWasm({ wasm }));
    wasmHash = scValToNative(upload.returnValue!);
    assert.equal(wasmHash.length, 32);
    const deploy = await execute(
      owner,
      Operation.createCustomContract({ address: Address.fromString(owner.publicKey()), wasmHash }),
    );
    registryId = scValToNative(deploy.returnValue!);
    assert.match(registryId, /^C[A-Z2-7]{55}$/);
    assert.deepEqual(new Uint8Array(await server.getContractWasmByContractId(registryId)), new Uint8Array(wasm));
    assert.deepEqual(new Uint8Array(await server.getContractWasmByHash(wasmHash)), new Uint8Array(wasm));
  });

  test("invokes it, and reads the effect from the transaction's meta, result and events", async () => {
    const registry = new Contract(registryId);
    await execute(owner, registry.call("initialize", Address.fromString(owner.publicKey()).toScVal()));
    const done = await execute(
      owner,
      registry.call(
        "register",
        Address.fromString(owner.publicKey()).toScVal(),
        xdr.ScVal.scvBytes(deviceHash),
        Address.fromString(other.publicKey()).toScVal(),
      ),
    );
    registerLedger = done.ledger;
    registerHash = done.txHash;
    assert.equal(done.resultMetaXdr.type, "v4");
    assert.equal(done.resultXdr.result.type, "txSuccess");
    assert.equal(done.returnValue?.type, "scvVoid");
    assert.equal(done.feeBump, false);
    assert.ok(done.applicationOrder >= 1);
    assert.ok(Number(done.createdAt) > 0);
    const [event] = done.events.contractEventsXdr[0]!;
    assert.equal(scValToNative(event!.body.value.topics[0]!), "register");
    assert.ok(done.events.transactionEventsXdr.length >= 1, "the fee is an event of the transaction");
  });

  test("reads contract data, instances and the network's own facts", async () => {
    const key = xdr.ScVal.scvVec([xdr.ScVal.scvSymbol("Device"), xdr.ScVal.scvBytes(deviceHash)]);
    const entry = await server.getContractData(registryId, key, rpc.Durability.Persistent);
    assert.equal(entry.lastModifiedLedgerSeq, registerLedger);
    assert.ok(entry.liveUntilLedgerSeq! > registerLedger);
    assert.equal(entry.val.type, "contractData");
    const instance = await server.getContractInstance(registryId);
    assert.equal(instance.executable.type, "contractExecutableWasm");
    await assert.rejects(server.getContractData(registryId, xdr.ScVal.scvSymbol("none")), { code: 404 });
    const latest = await server.getLatestLedger();
    assert.equal(latest.headerXdr.ledgerSeq, latest.sequence);
    assert.equal(String(latest.headerXdr.scpValue.closeTime), latest.closeTime);
    assert.equal(latest.metadataXdr.type, "v2");
    assert.equal((await server.getHealth()).status, "healthy");
    assert.equal((await server.getNetwork()).passphrase, sandbox.network.passphrase);
    assert.equal((await server.getVersionInfo()).version, `${sandbox.network.protocolVersion}.0.0`);
    const stats = await server.getFeeStats();
    assert.ok(Number(stats.sorobanInclusionFee.transactionCount) >= 3);
    assert.ok(Number(stats.sorobanInclusionFee.p50) >= 100);
  });

  test("calls it through a client made from the contract's own specification", async () => {
    const client = await contract.Client.from({
      contractId: registryId,
      rpcUrl: sandbox.url,
      networkPassphrase: sandbox.network.passphrase,
      allowHttp: true,
      publicKey: owner.publicKey(),
      ...contract.basicNodeSigner(owner, sandbox.network.passphrase),
    }) as contract.Client & Record<string, (args: unknown) => Promise<contract.AssembledTransaction<unknown>>>;
    const owned = await client.wallet_device_count!({ wallet: owner.publicKey() });
    assert.equal(owned.result, 1);
    const revoke = await client.revoke!({ wallet: owner.publicKey(), device_hash: deviceHash });
    const sent = await revoke.signAndSend();
    assert.equal(sent.getTransactionResponse?.status, rpc.Api.GetTransactionStatus.SUCCESS);
    assert.equal(
      await server.queryContract(registryId, "wallet_device_count", { wallet: owner.publicKey() })
        .then(({ result }) => result),
      0,
    );
  });

  test("watches events from a ledger, page by page, and on by cursor", async () => {
    const filters: rpc.Api.EventFilter[] = [{ type: "contract", contractIds: [registryId] }];
    const first = await server.getEvents({ filters, startLedger: registerLedger, limit: 1 });
    const [register] = first.events;
    assert.equal(first.events.length, 1);
    assert.equal(register!.txHash, registerHash);
    assert.equal(register!.ledger, registerLedger);
    assert.equal(register!.contractId?.contractId(), registryId);
    assert.equal(scValToNative(register!.topic[0]!), "register");
    assert.deepEqual(new Uint8Array(scValToNative(register!.topic[1]!)), deviceHash);
    assert.equal(scValToNative(register!.value), other.publicKey());
    assert.match(register!.id, /^\d{19}-\d{10}$/);
    assert.match(register!.ledgerClosedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(first.cursor, register!.id);
    const second = await server.getEvents({ filters, cursor: first.cursor, limit: 100 });
    assert.deepEqual(second.events.map((event) => scValToNative(event.topic[0]!)), ["revoke"]);
    const third = await server.getEvents({ filters, cursor: second.cursor });
    assert.deepEqual(third.events, []);
    assert.equal(third.cursor, second.cursor);
    const topic = xdr.ScVal.scvSymbol("revoke").toXdr("base64");
    const byTopic = await server.getEvents({
      filters: [{ contractIds: [registryId], topics: [[topic, "**"]] }],
      startLedger: registerLedger,
    });
    assert.deepEqual(byTopic.events.map(({ id }) => id), second.events.map(({ id }) => id));
  });

  test("moves the native asset into a contract and reads its balance", async () => {
    await execute(owner, Operation.createStellarAssetContract({ asset: Asset.native() }));
    const native = new Contract(Asset.native().contractId(sandbox.network.passphrase));
    await execute(
      owner,
      native.call(
        "transfer",
        Address.fromString(owner.publicKey()).toScVal(),
        Address.fromString(registryId).toScVal(),
        nativeToScVal(CARD_AMOUNT, { type: "i128" }),
      ),
    );
    const balance = await server.getSACBalance(registryId, Asset.native(), sandbox.network.passphrase);
    assert.equal(balance.balanceEntry?.amount, String(CARD_AMOUNT));
    assert.equal(balance.balanceEntry?.authorized, true);
  });

  test("holds an issued asset: trust, payment, its contract's transfer, a claimable balance", async () => {
    const usd = new Asset("USD", owner.publicKey());
    const classic = async (source: Keypair, operation: xdr.Operation) => {
      const transaction = await build(source, operation);
      transaction.sign(source);
      const sent = await server.sendTransaction(transaction);
      const done = await server.pollTransaction(sent.hash, { sleepStrategy: () => 10 });
      assert.equal(done.status, rpc.Api.GetTransactionStatus.SUCCESS);
      return done as rpc.Api.GetSuccessfulTransactionResponse;
    };
    await classic(other, Operation.changeTrust({ asset: usd, limit: "1000" }));
    const paid = await classic(owner, Operation.payment({ asset: usd, amount: "10", destination: other.publicKey() }));
    const [mint] = paid.events.contractEventsXdr[0]!;
    assert.equal(scValToNative(mint!.body.value.topics[0]!), "mint");
    const line = await server.getTrustline(other.publicKey(), usd);
    assert.deepEqual([line.balance, line.limit, line.flags], [100_000_000n, 10_000_000_000n, 1]);

    await execute(owner, Operation.createStellarAssetContract({ asset: usd }));
    const token = new Contract(usd.contractId(sandbox.network.passphrase));
    const address = (text: string) => Address.fromString(text).toScVal();
    const amount = nativeToScVal(CARD_AMOUNT, { type: "i128" });
    await execute(other, token.call("transfer", address(other.publicKey()), address(registryId), amount));
    assert.equal((await server.getTrustline(other.publicKey(), usd)).balance, 100_000_000n - CARD_AMOUNT);
    const inContract = await server.getAssetBalance(registryId, usd, sandbox.network.passphrase);
    assert.equal(inContract.balanceEntry?.amount, String(CARD_AMOUNT));
    const held = await server.getAssetBalance(other.publicKey(), usd, sandbox.network.passphrase);
    assert.equal(held.balanceEntry?.amount, String(100_000_000n - CARD_AMOUNT));

    const claimants = [new Claimant(owner.publicKey())];
    const made = await classic(other, Operation.createClaimableBalance({ asset: usd, amount: "1", claimants }));
    assert.ok(made.resultXdr.result.type === "txSuccess");
    const [outcome] = made.resultXdr.result.results;
    assert.ok(outcome?.type === "opInner" && outcome.tr.type === "createClaimableBalance");
    const created = outcome.tr.createClaimableBalanceResult;
    assert.ok(created.type === "createClaimableBalanceSuccess");
    const balanceId = created.balanceId.toXdr("hex");
    assert.equal((await server.getClaimableBalance(balanceId)).amount, 10_000_000n);
    await classic(owner, Operation.claimClaimableBalance({ balanceId }));
    await assert.rejects(server.getClaimableBalance(balanceId));
  });

  test("pages through the transactions it made", async () => {
    const first = await server.getTransactions({ startLedger: registerLedger, pagination: { limit: 1 } });
    assert.equal(first.transactions[0]!.txHash, registerHash);
    assert.equal(typeof first.transactions[0]!.createdAt, "number");
    const rest = await server.getTransactions({ pagination: { cursor: first.cursor, limit: 200 } });
    assert.ok(rest.transactions.length >= 2);
    assert.ok(rest.transactions.every(({ txHash, status }) => txHash !== registerHash && status === "SUCCESS"));
    const end = await server.getTransactions({ pagination: { cursor: rest.cursor } });
    assert.deepEqual(end.transactions, []);
    assert.equal(end.cursor, rest.cursor);
  });

  test("is told what a contract refuses by simulation, before anything is sent", async () => {
    const registry = new Contract(registryId);
    const call = registry.call("get_device", xdr.ScVal.scvBytes(deviceHash));
    const simulation = await server.simulateTransaction(await build(owner, call));
    assert.ok(rpc.Api.isSimulationError(simulation));
    assert.match(simulation.error, /^HostError: Error\(Contract, #2\)/);
    assert.ok(simulation.events.length > 0);
  });

  test("sees a simulation's result, fee, footprint and state changes", async () => {
    const native = new Contract(Asset.native().contractId(sandbox.network.passphrase));
    const transfer = native.call(
      "transfer",
      Address.fromString(owner.publicKey()).toScVal(),
      Address.fromString(other.publicKey()).toScVal(),
      nativeToScVal(1n, { type: "i128" }),
    );
    const simulation = await server.simulateTransaction(await build(owner, transfer), { cpuInstructions: 50_000 });
    assert.ok(rpc.Api.isSimulationSuccess(simulation));
    assert.ok(BigInt(simulation.minResourceFee) > 0n);
    assert.equal(simulation.result?.auth.length, 1);
    assert.ok(simulation.transactionData.getReadWrite().length >= 2);
    assert.ok(simulation.stateChanges!.every(({ before, after }) => before !== null && after !== null));
  });

  test("is told why an envelope is refused, and of one that is sent again", async () => {
    const payment = Operation.payment({ destination: other.publicKey(), asset: Asset.native(), amount: "1" });
    const transaction = await build(owner, payment);
    transaction.sign(owner);
    const sent = await server.sendTransaction(transaction);
    assert.equal(sent.status, "PENDING");
    await server.pollTransaction(sent.hash, { sleepStrategy: () => 10 });
    const again = await server.sendTransaction(transaction);
    assert.equal(again.status, "ERROR");
    assert.equal(again.errorResult?.result.type, "txBadSeq");
  });
});
