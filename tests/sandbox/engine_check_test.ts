// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { Asset, Keypair, Operation, SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import type { Verdict } from "../../lib/sandbox/engine.ts";
import { deviceRegistryWasm, register, TestLedger, topicsOf } from "./engine_fixture.ts";

const ledger = await TestLedger.open();
const contract = ledger.deploy(deviceRegistryWasm);
const simulated = new SorobanDataBuilder(ledger.simulate(register(contract, 1)).transactionData);
const { readOnly, readWrite } = simulated.build().resources.footprint;
const key = readOnly[0]!;
const issuer = Keypair.random();
const usd = new Asset("USD", issuer.publicKey());
const ttlKey = xdr.LedgerKey.ttl(new xdr.LedgerKeyTtl({ keyHash: new Uint8Array(32) }));
const account = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: issuer.xdrAccountId() }));

const invoke = operationOf(Operation.invokeContractFunction({ contract, function: "get_owner", args: [] }));
const extend = operationOf(Operation.extendFootprintTtl({ extendTo: 3_110_399 }));
const restore = operationOf(Operation.restoreFootprint({}));

function operationOf({ body }: xdr.Operation): Uint8Array {
  return body.toXdr();
}

function trustline(asset: Asset, holder: Keypair): xdr.LedgerKey {
  return xdr.LedgerKey.trustline(
    new xdr.LedgerKeyTrustLine({ accountId: holder.xdrAccountId(), asset: asset.toTrustLineXdrObject() }),
  );
}

/** The simulated data with a fee that covers all resources, and with the change. */
function declared(change: (data: SorobanDataBuilder) => unknown = () => {}): xdr.SorobanTransactionData {
  const data = new SorobanDataBuilder(simulated.build());
  data.setResourceFee(100_000_000);
  change(data);
  return data.build();
}

/** The simulated data with another footprint. */
function touching(readOnly: xdr.LedgerKey[], readWrite: xdr.LedgerKey[] = []): xdr.SorobanTransactionData {
  return declared((data) => data.setFootprint(readOnly, readWrite));
}

function withArchived(archivedSorobanEntries: number[]): xdr.SorobanTransactionData {
  const { resources, resourceFee } = declared();
  const ext = xdr.SorobanTransactionDataExt.resourceExt(new xdr.SorobanResourcesExtV0({ archivedSorobanEntries }));
  return new xdr.SorobanTransactionData({ ext, resources, resourceFee });
}

/** `count` distinct keys of contract data. */
function keys(count: number): xdr.LedgerKey[] {
  assert(readWrite[0]!.type === "contractData");
  const { contract } = readWrite[0]!.contractData;
  const durability = xdr.ContractDataDurability.persistent;
  return Array.from(
    { length: count },
    (_, i) =>
      xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key: xdr.ScVal.scvU32(i), durability })),
  );
}

/** `count` distinct keys of accounts. */
function accounts(count: number): xdr.LedgerKey[] {
  return Array.from({ length: count }, () => {
    const accountId = Keypair.random().xdrAccountId();
    return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId }));
  });
}

const longKey = xdr.LedgerKey.contractData(
  new xdr.LedgerKeyContractData({
    contract: (keys(1)[0] as Extract<xdr.LedgerKey, { type: "contractData" }>).contractData.contract,
    key: xdr.ScVal.scvBytes(new Uint8Array(250)),
    durability: xdr.ContractDataDurability.persistent,
  }),
);

interface Request {
  operation?: Uint8Array;
  sizeBytes?: number;
}

type Case = [what: string, data: xdr.SorobanTransactionData, error: RegExp, request?: Request];

function checks(verdict: Verdict, cases: Case[]): void {
  for (const [what, data, error, { operation = invoke, sizeBytes = 700 } = {}] of cases) {
    test(`the engine checks ${what}: ${verdict}`, () => {
      const request = { operation, transactionData: data.toXdr(), transactionSizeBytes: sizeBytes };
      const checked = ledger.engine.checkResources(ledger.header, request);
      assert.equal(checked.verdict, verdict, checked.error);
      assert.match(checked.error, error);
      const hasEvent = verdict === "soroban_invalid" || verdict === "operation_invalid";
      assert.deepEqual(topicsOf(checked.diagnosticEvents).map(([name]) => name), hasEvent ? ["error"] : []);
      assert(checked.nonRefundableFee > 0n);
    });
  }
}

checks("valid", [
  ["simulated resources", declared(), /^$/],
  ["instructions at the limit", declared((data) => data.setResources(400_000_000, 0, 0)), /^$/],
  ["an account in the footprint", touching([account]), /^$/],
  ["a trustline in the footprint", touching([trustline(usd, Keypair.random())]), /^$/],
  ["archived entries in order", withArchived([0, 2]), /^$/],
  ["an extension of contract entries", touching([key]), /^$/, { operation: extend }],
  ["a restore of contract entries", touching([], [key]), /^$/, { operation: restore }],
]);
checks("soroban_invalid", [
  ["too many instructions", declared((data) => data.setResources(400_000_001, 0, 0)), /limit \(400000001, 400000000\)/],
  ["too many bytes to read", declared((data) => data.setResources(0, 200_001, 0)), /byte-read resources exceed/],
  ["too many bytes to write", declared((data) => data.setResources(0, 0, 132_097)), /byte-write resources exceed/],
  ["too many entries in the footprint", touching(keys(401)), /number of entries in transaction footprint exceeds/],
  ["too many entries to write", touching([], keys(201)), /entry-write resources exceed/],
  ["too many entries to restore", touching([], keys(201)), /entry-disk-read resources exceed/, { operation: restore }],
  ["too many accounts to read", touching(accounts(201)), /entry-disk-read resources exceed/],
  ["a transaction that is too large", declared(), /total transaction size/, { sizeBytes: 132_097 }],
  ["a key that is too long", touching([longKey]), /footprint key exceeds/],
  ["an issuer's trustline to itself", touching([trustline(usd, issuer)]), /invalid trustline asset/],
  ["a native trustline", touching([trustline(Asset.native(), issuer)]), /invalid trustline asset/],
  ["a key of another type", touching([ttlKey]), /unsupported ledger key type/],
  ["the same key twice", touching([key, key]), /duplicate key/],
  ["a key in both halves", touching([key], [key]), /Found duplicate key/],
  ["archived entries out of order", withArchived([1, 0]), /must be sorted/],
  ["the same archived entry twice", withArchived([0, 0]), /must be sorted/],
  ["an archived entry out of bounds", withArchived([3]), /out of bounds/],
  ["a fee below the non-refundable part", declared((data) => data.setResourceFee(1_000)), /lower than the actual/],
]);
checks("operation_invalid", [
  ["an extension of an account", touching([account]), /only entries with TTL/, { operation: extend }],
  ["a restore of an account", touching([], [account]), /only persistent Soroban entries/, { operation: restore }],
]);
