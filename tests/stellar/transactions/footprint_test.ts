// needs: neutral
import { SorobanDataBuilder, StrKey, xdr } from "@stellar/stellar-sdk";
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pendingPaymentKey } from "../../../lib/escrow/reads/storage_keys.ts";
import { createEntryReader, type EntryReader } from "../../../lib/stellar/entries.ts";
import { createFootprintTerms, withReservedKeys } from "../../../lib/stellar/transactions/footprint.ts";
import { fakeClock } from "../rpc/stub_rpc.ts";
import { startSandbox } from "../../escrow/sandbox.ts";
import { TERMS } from "./footprint_terms.ts";

const CONTRACT = StrKey.encodeContract(new Uint8Array(32).fill(3));
const MERCHANT = StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(1));
const KEY_BYTES = 144;
const keys = (from: number, count: number) =>
  Array.from({ length: count }, (_, offset) => pendingPaymentKey(CONTRACT, MERCHANT, from + offset));

/** The answer of a simulation that reads and writes this many entries. */
function simulated(readOnly: number, readWrite: number): string {
  const decoded = (list: string[]) => list.map((key) => xdr.LedgerKey.fromXdr(key, "base64"));
  return new SorobanDataBuilder().setFootprint(decoded(keys(0, readOnly)), decoded(keys(1_000, readWrite)))
    .setResources(1_000_000, 0, 500).setResourceFee(30_000n).build().toXdr("base64");
}

describe("reserved keys", () => {
  test("come after the other keys, with their resources and fee", () => {
    const reserved = { keys: keys(2_000, 8), instructionsPerKey: 80_000, bytesPerKey: 296 };
    const { resources, resourceFee } = xdr.SorobanTransactionData.fromXdr(
      withReservedKeys(simulated(3, 4), reserved, TERMS),
      "base64",
    );
    const { readWrite, readOnly } = resources.footprint;
    assert.deepEqual(readWrite.map((key) => key.toXdr("base64")), [...keys(1_000, 4), ...keys(2_000, 8)]);
    assert.equal(readOnly.length, 3);
    assert.equal(resources.instructions, 1_000_000 + 8 * 80_000);
    assert.equal(resources.writeBytes, 500 + 8 * 296);
    const kb = (bytes: number, rate: number) => Math.ceil(bytes * rate / 1024);
    const fee = 8 * 2_500 + kb(8 * 296, 875) + kb(8 * KEY_BYTES, 4_059) + kb(8 * KEY_BYTES, 406) + 8 * 80_000 * 7 / 1e4;
    assert.equal(resourceFee, 30_000n + BigInt(fee));
  });

  test("that the simulation returned, or that are given twice, are not added again", () => {
    const reserved = { keys: [...keys(0, 1), ...keys(1_000, 2), ...keys(5, 1), ...keys(5, 1)] };
    const widened = withReservedKeys(simulated(2, 2), { ...reserved, instructionsPerKey: 1, bytesPerKey: 0 }, TERMS);
    const { readWrite } = xdr.SorobanTransactionData.fromXdr(widened, "base64").resources.footprint;
    assert.deepEqual(readWrite.map((key) => key.toXdr("base64")), [...keys(1_000, 2), ...keys(5, 1)]);
  });

  test("never exceed the network's limits, and keys that do not fit cost nothing", () => {
    const count = fc.integer({ min: 0, max: 40 });
    fc.assert(fc.property(count, count, count, count, count, (readOnly, readWrite, spares, most, mostWritten) => {
      const before = simulated(readOnly, readWrite);
      const reserved = { keys: keys(2_000, spares), instructionsPerKey: 10_000, bytesPerKey: 1024 };
      const terms = { ...TERMS, mostEntries: most, mostWrittenEntries: mostWritten };
      const after = withReservedKeys(before, reserved, terms);
      const { resources, resourceFee } = xdr.SorobanTransactionData.fromXdr(after, "base64");
      const added = resources.footprint.readWrite.length - readWrite;
      const room = Math.max(0, Math.min(most - readOnly - readWrite, mostWritten - readWrite));
      assert.equal(added, Math.min(spares, room));
      if (added === 0) assert.equal(after, before);
      assert.equal(resources.instructions, 1_000_000 + added * 10_000);
      const least = BigInt(added) * (2_500n + 875n + 7n) + BigInt(Math.floor(added * KEY_BYTES * 4_465 / 1024));
      assert.ok(resourceFee - 30_000n >= least && resourceFee - 30_000n <= least + 3n);
    }));
  });
});

describe("the terms of the network", () => {
  test("come from its settings, and are read once in ten minutes", async () => {
    const sandbox = await startSandbox();
    const { rpc, head } = sandbox.gateway();
    const { clock } = sandbox;
    // Without a cache, as after a new ledger.
    const entries = createEntryReader({ rpc, head, clock, maxAgeMs: -1 });
    const terms = createFootprintTerms({ entries, clock });
    const asked = () => sandbox.counts.get("getLedgerEntries") ?? 0;
    assert.deepEqual(await terms.read(), TERMS);
    const once = asked();
    sandbox.pass(599);
    await terms.read();
    assert.equal(asked(), once);
    sandbox.pass(2);
    await terms.read();
    assert.ok(asked() > once);
    sandbox.network.stop();
  });

  test("cannot be read when a setting is missing or wrong", async () => {
    const answered = (xdrs: (string | undefined)[]): EntryReader => ({
      read: (all) =>
        Promise.resolve({
          ledger: 1,
          entries: all.map((key, index) => {
            const xdr = xdrs[index];
            return xdr === undefined ? undefined : { key, xdr, lastModifiedLedgerSeq: 1 };
          }),
        }),
      readNow: () => undefined,
    });
    const other = xdr.LedgerEntryData.configSetting(xdr.ConfigSettingEntry.configSettingContractDataKeySizeBytes(1));
    for (const xdrs of [[], Array(5).fill(other.toXdr("base64")), Array(5).fill("AAAA")]) {
      const terms = createFootprintTerms({ entries: answered(xdrs), clock: fakeClock() });
      await assert.rejects(terms.read(), { code: "upstream_error" });
    }
  });
});
