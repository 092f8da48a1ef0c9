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
  Operation,
  rpc,
  scValToNative,
  xdr,
} from "@stellar/stellar-sdk";
import { pay } from "../envelope_parts.ts";
import { address, i128 } from "../sandbox_network.ts";
import { draft, poll, prepared, send, succeed } from "./client.ts";
import { sandboxRpcOfFile, WASM } from "./sandbox_rpc.ts";

// The tests follow one another: fund, upload, deploy, invoke, read, watch.
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

const execute = async (source: Keypair, operation: xdr.Operation) =>
  await succeed(sandbox, await prepared(sandbox, source, operation), source);

before(async () => {
  server = sandbox.rpc;
  wasm = await readFile(`${WASM}/device_registry.wasm`);
});

describe("an unchanged js-stellar-sdk", () => {
  test("gets a funded account from friendbot, and the existing account at its next request", async () => {
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

  test("uploads and deploys a contract, and reads its code by hash and by contract", async () => {
    const upload = await execute(owner, Operation.uploadContractWasm({ wasm }));
    wasmHash = scValToNative(upload.returnValue!);
    assert.equal(wasmHash.length, 32);
    const creation = { address: Address.fromString(owner.publicKey()), wasmHash };
    const deploy = await execute(owner, Operation.createCustomContract(creation));
    registryId = scValToNative(deploy.returnValue!);
    assert.match(registryId, /^C[A-Z2-7]{55}$/);
    assert.deepEqual(new Uint8Array(await server.getContractWasmByContractId(registryId)), new Uint8Array(wasm));
    assert.deepEqual(new Uint8Array(await server.getContractWasmByHash(wasmHash)), new Uint8Array(wasm));
  });

  test("invokes a contract, and reads the transaction's metadata, result and events", async () => {
    const registry = new Contract(registryId);
    await execute(owner, registry.call("initialize", address(owner.publicKey())));
    const done = await execute(
      owner,
      registry.call("register", address(owner.publicKey()), xdr.ScVal.scvBytes(deviceHash), address(other.publicKey())),
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

  test("reads contract data, a contract's instance, and the network's ledger, health, version and fees", async () => {
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

  test("calls a contract with a client made from the contract's specification", async () => {
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
    const left = await server.queryContract(registryId, "wallet_device_count", { wallet: owner.publicKey() });
    assert.equal(left.result, 0);
  });

  test("reads events from a ledger, and further pages by cursor", async () => {
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
    const ofTopic = [{ contractIds: [registryId], topics: [[topic, "**"]] }];
    const byTopic = await server.getEvents({ filters: ofTopic, startLedger: registerLedger });
    assert.deepEqual(byTopic.events.map(({ id }) => id), second.events.map(({ id }) => id));
  });

  test("transfers the native asset to a contract and reads the contract's balance", async () => {
    await execute(owner, Operation.createStellarAssetContract({ asset: Asset.native() }));
    const native = new Contract(Asset.native().contractId(sandbox.network.passphrase));
    await execute(owner, native.call("transfer", address(owner.publicKey()), address(registryId), i128(CARD_AMOUNT)));
    const balance = await server.getSACBalance(registryId, Asset.native(), sandbox.network.passphrase);
    assert.equal(balance.balanceEntry?.amount, String(CARD_AMOUNT));
    assert.equal(balance.balanceEntry?.authorized, true);
  });

  test("trusts, pays, transfers and claims an issued asset", async () => {
    const usd = new Asset("USD", owner.publicKey());
    const classic = async (source: Keypair, operation: xdr.Operation) =>
      await succeed(sandbox, await draft(sandbox, source, operation), source);
    await classic(other, Operation.changeTrust({ asset: usd, limit: "1000" }));
    const paid = await classic(owner, Operation.payment({ asset: usd, amount: "10", destination: other.publicKey() }));
    const [mint] = paid.events.contractEventsXdr[0]!;
    assert.equal(scValToNative(mint!.body.value.topics[0]!), "mint");
    const line = await server.getTrustline(other.publicKey(), usd);
    assert.deepEqual([line.balance, line.limit, line.flags], [100_000_000n, 10_000_000_000n, 1]);

    await execute(owner, Operation.createStellarAssetContract({ asset: usd }));
    const token = new Contract(usd.contractId(sandbox.network.passphrase));
    const amount = i128(CARD_AMOUNT);
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

  test("reads its transactions page by page", async () => {
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

  test("gets the contract's error from a simulation", async () => {
    const registry = new Contract(registryId);
    const call = registry.call("get_device", xdr.ScVal.scvBytes(deviceHash));
    const simulation = await server.simulateTransaction(await draft(sandbox, owner, call));
    assert.ok(rpc.Api.isSimulationError(simulation));
    assert.match(simulation.error, /^HostError: Error\(Contract, #2\)/);
    assert.ok(simulation.events.length > 0);
  });

  test("gets the result, fee, footprint and state changes of a simulation", async () => {
    const native = new Contract(Asset.native().contractId(sandbox.network.passphrase));
    const transfer = native.call("transfer", address(owner.publicKey()), address(other.publicKey()), i128(1n));
    const simulation = await server.simulateTransaction(await draft(sandbox, owner, transfer), {
      cpuInstructions: 50_000,
    });
    assert.ok(rpc.Api.isSimulationSuccess(simulation));
    assert.ok(BigInt(simulation.minResourceFee) > 0n);
    assert.equal(simulation.result?.auth.length, 1);
    assert.ok(simulation.transactionData.getReadWrite().length >= 2);
    assert.ok(simulation.stateChanges!.every(({ before, after }) => before !== null && after !== null));
  });

  test("gets txBadSeq for a transaction that it sends again after its ledger", async () => {
    const transaction = await draft(sandbox, owner, pay(other));
    await poll(sandbox, await send(sandbox, transaction, owner));
    const again = await server.sendTransaction(transaction);
    assert.equal(again.status, "ERROR");
    assert.equal(again.errorResult?.result.type, "txBadSeq");
  });
});
