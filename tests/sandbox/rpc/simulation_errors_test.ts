// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import {
  Asset,
  Contract,
  Keypair,
  Memo,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  type xdr,
} from "@stellar/stellar-sdk";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();
const account = Keypair.random();

before(async () => {
  await sandbox.rpc.requestAirdrop(account.publicKey());
});

async function envelope(operations: xdr.Operation[], change: (builder: TransactionBuilder) => void = () => {}) {
  const source = await sandbox.rpc.getAccount(account.publicKey());
  const builder = new TransactionBuilder(source, { fee: "100", networkPassphrase: sandbox.network.passphrase });
  for (const operation of operations) builder.addOperation(operation);
  change(builder);
  const transaction = builder.setTimeout(60).build();
  transaction.sign(account);
  return transaction.toXdr();
}

const payment = () => Operation.payment({ destination: account.publicKey(), asset: Asset.native(), amount: "1" });
const symbolCall = () => new Contract(Asset.native().contractId(sandbox.network.passphrase)).call("symbol");

describe("a simulation answers with result.error", () => {
  async function simulationError(params: Record<string, unknown>): Promise<string> {
    const { result } = await sandbox.call("simulateTransaction", params);
    assert.equal(result.latestLedger, 0);
    return result.error;
  }

  test("for what is not an envelope", async () => {
    for (const transaction of ["", "%", "AAAA", null]) {
      assert.equal(await simulationError({ transaction }), "Could not unmarshal transaction");
    }
  });

  test("for an unknown xdrFormat", async () => {
    assert.match(await simulationError({ transaction: "", xdrFormat: "hex" }), /^got 'hex': expected base64, json/);
  });

  test("for two operations, and for one that is not Soroban's", async () => {
    const two = await envelope([symbolCall(), symbolCall()]);
    assert.equal(await simulationError({ transaction: two }), "Transaction contains more than one operation");
    const classic = await envelope([payment()]);
    assert.equal(
      await simulationError({ transaction: classic }),
      "transaction contains unsupported operation type: OperationTypePayment",
    );
  });

  test("for a memo, which Soroban's transactions cannot have", async () => {
    const transaction = await envelope([symbolCall()], (builder) => builder.addMemo(Memo.text("rent")));
    const message = "Transaction contains a memo. Soroban transactions do not support memos.";
    assert.equal(await simulationError({ transaction }), message);
  });

  test("for an auth mode that does not exist or does not fit", async () => {
    const transaction = await envelope([symbolCall()]);
    assert.equal(
      await simulationError({ transaction, authMode: "trust" }),
      "optional 'authMode' must be one of enforce,record,record_allow_nonroot when included",
    );
    const restore = await envelope([Operation.restoreFootprint({})], (builder) => {
      builder.setSorobanData(new SorobanDataBuilder().build());
    });
    assert.equal(
      await simulationError({ transaction: restore, authMode: "record" }),
      "cannot set authMode with non-InvokeHostFunction operations",
    );
  });

  test("for a restore without a footprint", async () => {
    const transaction = await envelope([Operation.restoreFootprint({})]);
    assert.match(await simulationError({ transaction }), /SorobanTransactionData must be provided$/);
  });

  test("but not for params that are null, which are absent", async () => {
    const transaction = await envelope([Operation.createStellarAssetContract({ asset: Asset.native() })]);
    const simulation = { transaction, resourceConfig: null, authMode: null, useUpgradedAuth: null, xdrFormat: null };
    assert.equal((await sandbox.call("simulateTransaction", simulation)).result.error, undefined);
  });
});
