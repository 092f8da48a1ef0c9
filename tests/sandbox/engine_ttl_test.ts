// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import { call, card, deviceRegistryWasm, PERSISTENT_TTL, register, TestLedger } from "./engine_fixture.ts";

const EXTEND_TO = 3_000_000;
const SIZE_BYTES = 900;

/** A registry with one device, and the keys of its code, its instance and the device's three entries. */
async function openRegistry() {
  const ledger = await TestLedger.open();
  const contract = ledger.deploy(deviceRegistryWasm);
  ledger.invoke(register(contract, 1));
  const { resources } = xdr.SorobanTransactionData.fromXdr(ledger.simulate(register(contract, 2)).transactionData);
  const device = xdr.SorobanTransactionData.fromXdr(
    ledger.simulate(call(contract, "get_device", card(1))).transactionData,
  );
  const code = resources.footprint.readOnly.map((key) => key.toXdr());
  const keys = device.resources.footprint.readOnly.map((key) => key.toXdr());
  return { ledger, contract, code, keys };
}

function archive(ledger: TestLedger): void {
  ledger.header.sequence += PERSISTENT_TTL + 1;
}

test("the bytes of restored entries count against the declared bytes to read", async () => {
  const { ledger, contract } = await openRegistry();
  archive(ledger);
  const applied = ledger.invoke(register(contract, 2), {
    change: (data) => {
      const { instructions, writeBytes } = data.build().resources;
      data.setResources(instructions, 1_000, writeBytes);
    },
  });
  assert.equal(applied.outcome, "resource_limit_exceeded");
});

test("ExtendFootprintTtl extends live entries, and keeps entries that live longer", async () => {
  const { ledger, keys } = await openRegistry();
  const simulated = ledger.engine.simulateExtend(ledger.header, keys, EXTEND_TO);
  assert.deepEqual([simulated.error, simulated.restoreTransactionData.length], ["", 0]);
  ledger.header.sequence++;
  const request = { transactionData: simulated.transactionData, transactionSizeBytes: SIZE_BYTES, extendTo: EXTEND_TO };
  const applied = ledger.adopt(ledger.engine.applyExtend(ledger.header, request));
  assert.equal(applied.outcome, "success");
  assert(applied.rentFee > 0n && applied.eventsFee === 0n);
  assert.deepEqual(
    applied.changes.map(({ kind, restored, liveUntilLedger }) => [kind, restored, liveUntilLedger]),
    keys.map(() => ["ttl", false, ledger.header.sequence + EXTEND_TO]),
  );
  const again = ledger.engine.applyExtend(ledger.header, request);
  assert.deepEqual([again.outcome, again.changes, again.rentFee], ["success", [], 0n]);
});

test("ExtendFootprintTtl skips archived entries, and its simulation returns the entries to restore first", async () => {
  const { ledger, keys } = await openRegistry();
  archive(ledger);
  const simulated = ledger.engine.simulateExtend(ledger.header, keys, EXTEND_TO);
  assert.equal(simulated.error, "");
  const restore = xdr.SorobanTransactionData.fromXdr(simulated.restoreTransactionData);
  assert.equal(restore.resources.footprint.readWrite.length, keys.length);
  const request = { transactionData: simulated.transactionData, transactionSizeBytes: SIZE_BYTES, extendTo: EXTEND_TO };
  const applied = ledger.engine.applyExtend(ledger.header, request);
  assert.deepEqual([applied.outcome, applied.changes], ["success", []]);
});

test("RestoreFootprint restores archived entries unchanged", async () => {
  const { ledger, contract, code, keys } = await openRegistry();
  archive(ledger);
  const simulated = ledger.engine.simulateRestore(ledger.header, [...new Set([...code, ...keys])]);
  assert.equal(simulated.error, "");
  const request = { transactionData: simulated.transactionData, transactionSizeBytes: SIZE_BYTES };
  const applied = ledger.adopt(ledger.engine.applyRestore(ledger.header, request));
  assert.equal(applied.outcome, "success");
  assert(applied.rentFee > 0n);
  assert(applied.changes.every(({ kind, restored }) => kind === "ttl" && restored));
  assert.equal(ledger.liveUntil(keys[0]!), ledger.header.sequence + PERSISTENT_TTL - 1);
  const again = ledger.engine.applyRestore(ledger.header, request);
  assert.deepEqual([again.outcome, again.changes, again.rentFee], ["success", [], 0n]);
  assert.equal(ledger.invoke(call(contract, "get_device", card(1))).outcome, "success");
});

test("RestoreFootprint and ExtendFootprintTtl end with the code of the exceeded limit or fee", async () => {
  const { ledger, keys } = await openRegistry();
  const extend = ledger.engine.simulateExtend(ledger.header, keys, EXTEND_TO);
  archive(ledger);
  const restore = ledger.engine.simulateRestore(ledger.header, keys);
  const spoil = (data: Uint8Array, change: (data: SorobanDataBuilder) => SorobanDataBuilder) =>
    change(new SorobanDataBuilder(data)).build().toXdr();
  const applyRestore = (change: (data: SorobanDataBuilder) => SorobanDataBuilder) => {
    const transactionData = spoil(restore.transactionData, change);
    return ledger.engine.applyRestore(ledger.header, { transactionData, transactionSizeBytes: SIZE_BYTES });
  };
  assert.equal(applyRestore((data) => data.setResources(0, 100, 10_000)).outcome, "resource_limit_exceeded");
  assert.equal(applyRestore((data) => data.setResources(0, 10_000, 100)).outcome, "resource_limit_exceeded");
  assert.equal(applyRestore((data) => data.setResourceFee(50_000)).outcome, "insufficient_refundable_fee");
  ledger.header.sequence -= PERSISTENT_TTL + 1;
  const extended = ledger.engine.applyExtend(ledger.header, {
    transactionData: spoil(extend.transactionData, (data) => data.setResourceFee(20_000)),
    transactionSizeBytes: SIZE_BYTES,
    extendTo: EXTEND_TO,
  });
  assert.deepEqual([extended.outcome, extended.changes, extended.rentFee], ["insufficient_refundable_fee", [], 0n]);
});

test("a simulation of a restore fails for an entry that does not exist", async () => {
  const { ledger, contract } = await openRegistry();
  const [, missing] = xdr.SorobanTransactionData.fromXdr(ledger.simulate(register(contract, 9)).transactionData)
    .resources.footprint.readWrite;
  const simulated = ledger.engine.simulateRestore(ledger.header, [missing!.toXdr()]);
  assert.match(simulated.error, /^Missing entry to restore for key/);
  assert.equal(simulated.transactionData.length, 0);
});
