// needs: once
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import {
  Address,
  authorizeEntry,
  Contract,
  hash,
  Keypair,
  Operation,
  rpc,
  scValToNative,
  SorobanDataBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { withEntryTtl } from "../../../lib/sandbox/ledger/genesis.ts";
import { type Change, draft, prepared, succeed } from "./client.ts";
import { sandboxRpcOfFile, WASM } from "./sandbox_rpc.ts";

/** The lifetime of new entries: so short that a test sees its end. */
const TTL_LEDGERS = 40;
const NONCE_LEDGERS = 100;

const sandbox = sandboxRpcOfFile({ adjustSettings: withEntryTtl(TTL_LEDGERS) });
const payer = Keypair.random();
const owner = Keypair.random();
let registry: Contract;
let nonceKey: xdr.LedgerKey;

const execute = async (operation: xdr.Operation) =>
  await succeed(sandbox, await prepared(sandbox, payer, operation), payer);
const withResources = (resources: SorobanDataBuilder): Change => (builder) =>
  void builder.setSorobanData(resources.build());

/** Registers a device of `owner` in a transaction of `payer`. Returns the key of the nonce of the owner's signature. */
async function registerSigned(device: number) {
  const { passphrase } = sandbox.network;
  const wallet = Address.fromString(owner.publicKey()).toScVal();
  const call = registry.call("register", wallet, xdr.ScVal.scvBytes(new Uint8Array(32).fill(device)), wallet);
  const simulation = await sandbox.rpc.simulateTransaction(await draft(sandbox, payer, call));
  assert.ok(rpc.Api.isSimulationSuccess(simulation));
  const validUntil = sandbox.network.latestLedger().sequence + NONCE_LEDGERS;
  const auth = await Promise.all(
    simulation.result!.auth.map((entry) => authorizeEntry(entry, owner, validUntil, passphrase)),
  );
  const hostFunction = call.body.type === "invokeHostFunction" && call.body.invokeHostFunctionOp.hostFunction;
  assert.ok(hostFunction);
  const transaction = await prepared(sandbox, payer, Operation.invokeHostFunction({ func: hostFunction, auth }));
  await succeed(sandbox, transaction, payer);
  const envelope = transaction.toEnvelope();
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
  await execute(Operation.uploadContractWasm({ wasm }));
  const address = Address.fromString(payer.publicKey());
  const done = await execute(Operation.createCustomContract({ address, wasmHash: hash(wasm) }));
  registry = new Contract(scValToNative(done.returnValue!));
  nonceKey = await registerSigned(1);
});

describe("getLedgerEntries", () => {
  test("returns the existing entries in the order of their keys", async () => {
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

  test("accepts 200 keys", async () => {
    const accountId = () => Keypair.random().xdrAccountId();
    const accountKey = () => xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: accountId() }));
    const others = Array.from({ length: 199 }, accountKey);
    assert.equal((await entriesOf(...others, registry.getFootprint())).entries.length, 1);
  });

  test("returns a temporary entry until it expires", async () => {
    const [entry] = (await entriesOf(nonceKey)).entries;
    assert.ok(entry.liveUntilLedgerSeq >= sandbox.network.latestLedger().sequence);
    closeUntil(entry.liveUntilLedgerSeq);
    assert.equal((await entriesOf(nonceKey)).entries.length, 1);
    sandbox.network.closeLedger();
    assert.deepEqual((await entriesOf(nonceKey)).entries, []);
  });

  test("returns an archived entry with liveUntilLedgerSeq 0 until a transaction restores it", async () => {
    const instance = registry.getFootprint();
    closeUntil((await entriesOf(instance)).entries[0].liveUntilLedgerSeq + 1);
    const [archived] = (await entriesOf(instance)).entries;
    assert.equal(archived.liveUntilLedgerSeq, 0);
    const extend = withResources(new SorobanDataBuilder().setReadOnly([instance]));
    const transaction = await draft(sandbox, payer, Operation.extendFootprintTtl({ extendTo: 100 }), extend);
    const simulation = await sandbox.rpc.simulateTransaction(transaction);
    assert.ok(rpc.Api.isSimulationRestore(simulation), "an extension needs a restore first");
    assert.ok(BigInt(simulation.restorePreamble.minResourceFee) > 0n);
    assert.equal(simulation.restorePreamble.transactionData.getReadWrite()[0]!.toXdr("hex"), instance.toXdr("hex"));
    const restore = withResources(new SorobanDataBuilder().setReadWrite([instance]));
    await succeed(sandbox, await prepared(sandbox, payer, Operation.restoreFootprint({}), restore), payer);
    const [restored] = (await entriesOf(instance)).entries;
    assert.ok(restored.liveUntilLedgerSeq > sandbox.network.latestLedger().sequence);
    assert.equal(restored.xdr, archived.xdr);
  });
});
