// needs: once
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import {
  Account,
  Address,
  authorizeEntry,
  Contract,
  hash,
  Keypair,
  Operation,
  rpc,
  scValToNative,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { sandboxRpcOfFile, WASM } from "./sandbox_rpc.ts";

// Entries live shortly here, so that their end can be seen.
const TTL_LEDGERS = 40;
const NONCE_LEDGERS = 100;

const sandbox = sandboxRpcOfFile({ adjustSettings: withShortLives });
const payer = Keypair.random();
const owner = Keypair.random();
let registry: Contract;
let nonceKey: xdr.LedgerKey;

function withShortLives(entryXdr: Uint8Array): Uint8Array {
  const entry = xdr.LedgerEntry.fromXdr(entryXdr);
  if (entry.data.type !== "configSetting") return entryXdr;
  const setting = entry.data.configSetting;
  if (setting.type !== "configSettingStateArchival") return entryXdr;
  const settings = new xdr.StateArchivalSettings({
    ...setting.stateArchivalSettings,
    minPersistentTtl: TTL_LEDGERS,
    minTemporaryTtl: 16,
  });
  const data = xdr.LedgerEntryData.configSetting(xdr.ConfigSettingEntry.configSettingStateArchival(settings));
  return new xdr.LedgerEntry({ lastModifiedLedgerSeq: entry.lastModifiedLedgerSeq, data, ext: entry.ext }).toXdr();
}

async function send(operation: xdr.Operation, resources?: xdr.SorobanTransactionData) {
  const source = await sandbox.rpc.getAccount(payer.publicKey());
  const builder = new TransactionBuilder(source, { fee: "1000", networkPassphrase: sandbox.network.passphrase });
  if (resources) builder.setSorobanData(resources);
  const transaction = builder.addOperation(operation).setTimeout(60).build();
  const prepared = await sandbox.rpc.prepareTransaction(transaction);
  prepared.sign(payer);
  const sent = await sandbox.rpc.sendTransaction(prepared);
  const done = await sandbox.rpc.pollTransaction(sent.hash, { sleepStrategy: () => 10 });
  assert.equal(done.status, rpc.Api.GetTransactionStatus.SUCCESS);
  return { done: done as rpc.Api.GetSuccessfulTransactionResponse, prepared };
}

/** Registers a device of `owner` in a transaction of `payer`, which leaves a nonce of the owner's signature. */
async function registerSigned(device: number) {
  const { passphrase } = sandbox.network;
  const wallet = Address.fromString(owner.publicKey()).toScVal();
  const call = registry.call("register", wallet, xdr.ScVal.scvBytes(new Uint8Array(32).fill(device)), wallet);
  const source = await sandbox.rpc.getAccount(payer.publicKey());
  const build = (account: Account, operation: xdr.Operation) =>
    new TransactionBuilder(account, { fee: "1000", networkPassphrase: passphrase }).addOperation(operation)
      .setTimeout(60).build();
  const simulation = await sandbox.rpc.simulateTransaction(build(source, call));
  assert.ok(rpc.Api.isSimulationSuccess(simulation));
  const validUntil = sandbox.network.latestLedger().sequence + NONCE_LEDGERS;
  const auth = await Promise.all(
    simulation.result!.auth.map((entry) => authorizeEntry(entry, owner, validUntil, passphrase)),
  );
  const hostFunction = call.body.type === "invokeHostFunction" && call.body.invokeHostFunctionOp.hostFunction;
  assert.ok(hostFunction);
  const { prepared } = await send(Operation.invokeHostFunction({ func: hostFunction, auth }));
  const envelope = prepared.toEnvelope();
  assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
  const keys = envelope.v1.tx.ext.sorobanData.resources.footprint.readWrite;
  return keys.find((key) => key.type === "contractData" && key.contractData.durability.name === "temporary")!;
}

const entriesOf = async (...keys: xdr.LedgerKey[]) =>
  (await sandbox.call("getLedgerEntries", { keys: keys.map((key) => key.toXdr("base64")) })).result;

function closeUntil(sequence: number) {
  while (sandbox.network.latestLedger().sequence < sequence) sandbox.network.closeLedger();
}

before(async () => {
  for (const account of [payer, owner]) await sandbox.rpc.requestAirdrop(account.publicKey());
  const wasm = await readFile(`${WASM}/device_registry.wasm`);
  await send(Operation.uploadContractWasm({ wasm }));
  const address = Address.fromString(payer.publicKey());
  const { done } = await send(Operation.createCustomContract({ address, wasmHash: hash(wasm) }));
  registry = new Contract(scValToNative(done.returnValue!));
  nonceKey = await registerSigned(1);
});

describe("getLedgerEntries", () => {
  test("answers held entries in the order asked for and leaves out the others", async () => {
    const account = (key: string) =>
      xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: Keypair.fromPublicKey(key).xdrAccountId() }));
    const keys = [owner, Keypair.random(), payer].map((each) => account(each.publicKey()));
    const { entries, latestLedger } = await entriesOf(...keys);
    assert.deepEqual(entries.map(({ key }: { key: string }) => key), [keys[0], keys[2]].map((k) => k!.toXdr("base64")));
    assert.equal(latestLedger, sandbox.network.latestLedger().sequence);
    assert.equal(entries[0].extXdr, "AAAAAA==");
    assert.equal("liveUntilLedgerSeq" in entries[0], false);
    const data = xdr.LedgerEntryData.fromXdr(entries[1].xdr, "base64");
    assert.equal(data.type === "account" && data.account.accountId.toXdr("hex"), payer.xdrAccountId().toXdr("hex"));
  });

  test("takes 200 keys", async () => {
    const others = Array.from(
      { length: 199 },
      () => xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: Keypair.random().xdrAccountId() })),
    );
    assert.equal((await entriesOf(...others, registry.getFootprint())).entries.length, 1);
  });

  test("shows a temporary entry while it lives, not afterwards", async () => {
    const [entry] = (await entriesOf(nonceKey)).entries;
    assert.ok(entry.liveUntilLedgerSeq >= sandbox.network.latestLedger().sequence);
    closeUntil(entry.liveUntilLedgerSeq);
    assert.equal((await entriesOf(nonceKey)).entries.length, 1);
    sandbox.network.closeLedger();
    assert.deepEqual((await entriesOf(nonceKey)).entries, []);
  });

  test("shows an archived entry with liveUntilLedgerSeq 0 until it is restored", async () => {
    const instance = registry.getFootprint();
    closeUntil((await entriesOf(instance)).entries[0].liveUntilLedgerSeq + 1);
    const [archived] = (await entriesOf(instance)).entries;
    assert.equal(archived.liveUntilLedgerSeq, 0);
    const extend = new SorobanDataBuilder().setReadOnly([instance]).build();
    const source = await sandbox.rpc.getAccount(payer.publicKey());
    const transaction = new TransactionBuilder(source, { fee: "1", networkPassphrase: sandbox.network.passphrase })
      .addOperation(Operation.extendFootprintTtl({ extendTo: 100 })).setSorobanData(extend).setTimeout(60).build();
    const simulation = await sandbox.rpc.simulateTransaction(transaction);
    assert.ok(rpc.Api.isSimulationRestore(simulation), "extending it asks for a restore first");
    assert.ok(BigInt(simulation.restorePreamble.minResourceFee) > 0n);
    assert.equal(simulation.restorePreamble.transactionData.getReadWrite()[0]!.toXdr("hex"), instance.toXdr("hex"));
    const resources = new SorobanDataBuilder().setReadWrite([instance]).build();
    await send(Operation.restoreFootprint({}), resources);
    const [restored] = (await entriesOf(instance)).entries;
    assert.ok(restored.liveUntilLedgerSeq > sandbox.network.latestLedger().sequence);
    assert.equal(restored.xdr, archived.xdr);
  });
});
