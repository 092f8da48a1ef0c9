// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import { Asset, Contract, Keypair, Memo, Operation, SorobanDataBuilder, type xdr } from "@stellar/stellar-sdk";
import { pay } from "../envelope_parts.ts";
import { type Change, draft } from "./client.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();
const account = Keypair.random();

before(async () => {
  await sandbox.rpc.requestAirdrop(account.publicKey());
});

const envelope = async (operations: xdr.Operation | xdr.Operation[], change?: Change) =>
  (await draft(sandbox, account, operations, change)).toXdr();
const symbolCall = () => new Contract(Asset.native().contractId(sandbox.network.passphrase)).call("symbol");

const restore = Operation.restoreFootprint({});

describe("simulateTransaction", () => {
  async function simulationError(params: Record<string, unknown>): Promise<string> {
    const { result } = await sandbox.call("simulateTransaction", params);
    assert.equal(result.latestLedger, 0);
    return result.error;
  }

  test("returns an error in its result for a transaction that is not an envelope", async () => {
    for (const transaction of ["", "%", "AAAA", null]) {
      assert.equal(await simulationError({ transaction }), "Could not unmarshal transaction");
    }
  });

  test("returns an error in its result for an unknown xdrFormat", async () => {
    assert.match(await simulationError({ transaction: "", xdrFormat: "hex" }), /^got 'hex': expected base64, json/);
  });

  const cases: [what: string, transaction: () => Promise<string>, error: string | RegExp, authMode?: string][] = [
    ["two operations", () => envelope([symbolCall(), symbolCall()]), "Transaction contains more than one operation"],
    ["a classic operation", () => envelope(pay(account)), /^transaction contains unsupported.*OperationTypePayment$/],
    [
      "a memo",
      () => envelope(symbolCall(), (builder) => builder.addMemo(Memo.text("rent"))),
      "Transaction contains a memo. Soroban transactions do not support memos.",
    ],
    [
      "an unknown authMode",
      () => envelope(symbolCall()),
      "optional 'authMode' must be one of enforce,record,record_allow_nonroot when included",
      "trust",
    ],
    [
      "an authMode with a restore",
      () => envelope(restore, (builder) => builder.setSorobanData(new SorobanDataBuilder().build())),
      "cannot set authMode with non-InvokeHostFunction operations",
      "record",
    ],
    ["a restore without a footprint", () => envelope(restore), /SorobanTransactionData must be provided$/],
  ];
  for (const [what, transaction, expected, authMode] of cases) {
    test(`returns an error in its result for ${what}`, async () => {
      const error = await simulationError({ transaction: await transaction(), authMode });
      if (typeof expected === "string") assert.equal(error, expected);
      else assert.match(error, expected);
    });
  }

  test("returns no error for params that are null", async () => {
    const transaction = await envelope(Operation.createStellarAssetContract({ asset: Asset.native() }));
    const simulation = { transaction, resourceConfig: null, authMode: null, useUpgradedAuth: null, xdrFormat: null };
    assert.equal((await sandbox.call("simulateTransaction", simulation)).result.error, undefined);
  });
});
