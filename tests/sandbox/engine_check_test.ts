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
const account = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: issuer.xdrAccountId() }));

const invoke = operationOf(Operation.invokeContractFunction({ contract, function: "get_owner", args: [] }));
const extend = operationOf(Operation.extendFootprintTtl({ extendTo: 3_110_399 }));
const extendTooFar = operationOf(Operation.extendFootprintTtl({ extendTo: 3_110_400 }));
const restore = operationOf(Operation.restoreFootprint({}));

function operationOf({ body }: xdr.Operation): Uint8Array {
  return body.toXdr();
}

function trustline(asset: Asset, holder: Keypair): xdr.LedgerKey {
  return xdr.LedgerKey.trustline(
    new xdr.LedgerKeyTrustLine({ accountId: holder.xdrAccountId(), asset: asset.toTrustLineXdrObject() }),
  );
}

/** The simulated data with `change`, a fee that covers everything. */
function declared(change: (data: SorobanDataBuilder) => unknown): xdr.SorobanTransactionData {
  const data = new SorobanDataBuilder(simulated.build());
  data.setResourceFee(100_000_000);
  change(data);
  return data.build();
}

function footprint(data: SorobanDataBuilder, readOnly: xdr.LedgerKey[], readWrite: xdr.LedgerKey[] = []) {
  return data.setFootprint(readOnly, readWrite);
}

function withArchived(archivedSorobanEntries: number[]): xdr.SorobanTransactionData {
  const { resources, resourceFee } = declared(() => {});
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

const longKey = xdr.LedgerKey.contractData(
  new xdr.LedgerKeyContractData({
    contract: (keys(1)[0] as Extract<xdr.LedgerKey, { type: "contractData" }>).contractData.contract,
    key: xdr.ScVal.scvBytes(new Uint8Array(250)),
    durability: xdr.ContractDataDurability.persistent,
  }),
);

interface Scenario {
  operation?: Uint8Array;
  data?: xdr.SorobanTransactionData;
  sizeBytes?: number;
  verdict: Verdict;
  error?: RegExp;
}

const scenarios: Record<string, Scenario> = {
  "what was simulated": { verdict: "valid" },
  "instructions at the limit": { data: declared((data) => data.setResources(400_000_000, 0, 0)), verdict: "valid" },
  "too many instructions": {
    data: declared((data) => data.setResources(400_000_001, 0, 0)),
    verdict: "soroban_invalid",
    error: /instructions resources exceed network config limit \(400000001, 400000000\)/,
  },
  "too many bytes to read": {
    data: declared((data) => data.setResources(0, 200_001, 0)),
    verdict: "soroban_invalid",
    error: /byte-read resources exceed/,
  },
  "too many bytes to write": {
    data: declared((data) => data.setResources(0, 0, 132_097)),
    verdict: "soroban_invalid",
    error: /byte-write resources exceed/,
  },
  "too many entries in the footprint": {
    data: declared((data) => footprint(data, keys(401))),
    verdict: "soroban_invalid",
    error: /number of entries in transaction footprint exceeds/,
  },
  "too many entries to write": {
    data: declared((data) => footprint(data, [], keys(201))),
    verdict: "soroban_invalid",
    error: /entry-write resources exceed/,
  },
  "too many entries to restore": {
    operation: restore,
    data: declared((data) => footprint(data, [], keys(201))),
    verdict: "soroban_invalid",
    error: /entry-disk-read resources exceed/,
  },
  "a transaction that is too large": {
    sizeBytes: 132_097,
    verdict: "soroban_invalid",
    error: /total transaction size/,
  },
  "a key that is too long": {
    data: declared((data) => footprint(data, [longKey])),
    verdict: "soroban_invalid",
    error: /footprint key exceeds/,
  },
  "an account in the footprint": { data: declared((data) => footprint(data, [account])), verdict: "valid" },
  "a trustline in the footprint": {
    data: declared((data) => footprint(data, [trustline(new Asset("USD", issuer.publicKey()), Keypair.random())])),
    verdict: "valid",
  },
  "an issuer's trustline to itself": {
    data: declared((data) => footprint(data, [trustline(new Asset("USD", issuer.publicKey()), issuer)])),
    verdict: "soroban_invalid",
    error: /invalid trustline asset/,
  },
  "a native trustline": {
    data: declared((data) => footprint(data, [trustline(Asset.native(), issuer)])),
    verdict: "soroban_invalid",
    error: /invalid trustline asset/,
  },
  "a key of another type": {
    data: declared((data) =>
      footprint(data, [xdr.LedgerKey.ttl(new xdr.LedgerKeyTtl({ keyHash: new Uint8Array(32) }))])
    ),
    verdict: "soroban_invalid",
    error: /unsupported ledger key type/,
  },
  "a key in both halves": {
    data: declared((data) => footprint(data, [key], [key])),
    verdict: "soroban_invalid",
    error: /Found duplicate key/,
  },
  "archived entries in order": { data: withArchived([0, 2]), verdict: "valid" },
  "archived entries out of order": { data: withArchived([1, 0]), verdict: "soroban_invalid", error: /must be sorted/ },
  "an archived entry out of bounds": { data: withArchived([3]), verdict: "soroban_invalid", error: /out of bounds/ },
  "a negative fee": { data: declared((data) => data.setResourceFee(-1)), verdict: "malformed" },
  "a fee out of range": { data: declared((data) => data.setResourceFee(2n ** 50n + 1n)), verdict: "malformed" },
  "a fee below the non-refundable part": {
    data: declared((data) => data.setResourceFee(1_000)),
    verdict: "soroban_invalid",
    error: /lower than the actual Soroban resource fee/,
  },
  "an upload that is too large": {
    operation: operationOf(Operation.uploadContractWasm({ wasm: new Uint8Array(131_073) })),
    verdict: "operation_invalid",
    error: /uploaded Wasm size exceeds/,
  },
  "an extension of contract entries": {
    operation: extend,
    data: declared((data) => footprint(data, [key])),
    verdict: "valid",
  },
  "an extension beyond the longest lifetime": {
    operation: extendTooFar,
    data: declared((data) => footprint(data, [key])),
    verdict: "operation_invalid",
    error: /TTL extension is too large/,
  },
  "an extension that would write": {
    operation: extend,
    data: declared((data) => footprint(data, [], [key])),
    verdict: "operation_invalid",
    error: /read-write footprint must be empty/,
  },
  "an extension of an account": {
    operation: extend,
    data: declared((data) => footprint(data, [account])),
    verdict: "operation_invalid",
    error: /only entries with TTL/,
  },
  "a restore of contract entries": {
    operation: restore,
    data: declared((data) => footprint(data, [], [key])),
    verdict: "valid",
  },
  "a restore that would read": {
    operation: restore,
    data: declared((data) => footprint(data, [key])),
    verdict: "operation_invalid",
    error: /read-only footprint must be empty/,
  },
  "a restore of an account": {
    operation: restore,
    data: declared((data) => footprint(data, [], [account])),
    verdict: "operation_invalid",
    error: /only persistent Soroban entries/,
  },
};

for (
  const [what, { operation = invoke, data = declared(() => {}), sizeBytes = 700, verdict, error }] of Object.entries(
    scenarios,
  )
) {
  test(`checking ${what}: ${verdict}`, () => {
    const transactionData = data.toXdr();
    const request = { operation, transactionData, transactionSizeBytes: sizeBytes };
    const checked = ledger.engine.checkResources(ledger.header, request);
    assert.equal(checked.verdict, verdict, checked.error);
    assert.match(checked.error, error ?? (verdict === "valid" ? /^$/ : /./));
    const hasEvent = verdict === "soroban_invalid" || verdict === "operation_invalid";
    assert.deepEqual(topicsOf(checked.diagnosticEvents).map(([name]) => name), hasEvent ? ["error"] : []);
    assert(checked.nonRefundableFee > 0n);
  });
}
