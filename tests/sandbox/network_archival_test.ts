// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Address, type Keypair, Operation, scValToNative, SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import { bootstrapSandbox, rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import { EVICTION_DELAY_LEDGERS } from "../../lib/sandbox/ledger/protocol.ts";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import { type NetworkImage, recorder, restored } from "./network_image.ts";
import { hashOf } from "./people.ts";
import { bytes, codesOf, contractCode, metaOf, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";
import { cardCalls, holdersOf } from "./soroban_parts.ts";

/** The lifetime of new entries: so short that a test sees its end. */
const TTL_LEDGERS = 40;

/** A network with that lifetime, the contracts and the accounts. */
let setUp: NetworkImage;
before(async () => {
  const { stateFile, image } = recorder();
  const n = await startNetwork({ adjustSettings: withEntryTtl(TTL_LEDGERS), stateFile });
  bootstrapSandbox(n.network, { contracts: contractCode() });
  setUp = image();
});

const WAYS: Record<string, (n: TestNetwork, count: number) => void> = {
  "closes ledgers one by one": (n, count) => {
    for (let i = 0; i < count; i++) n.close();
  },
  "advances over ledgers": (n, count) => void (count > 0 && n.network.advance({ ledgers: count })),
};

for (const [way, pass] of Object.entries(WAYS)) {
  describe(`a network that ${way}`, () => {
    let n: TestNetwork;
    let sandbox: Sandbox;
    let owner: Keypair, agent: Keypair;
    let calls: ReturnType<typeof cardCalls>;

    beforeEach(async () => {
      n = await startNetwork({ stateFile: restored(setUp) });
      sandbox = rememberedSandbox(n.network)!;
      ({ owner, agent } = holdersOf(sandbox));
      calls = cardCalls(sandbox);
    });

    const deviceKey = () =>
      xdr.LedgerKey.contractData(
        new xdr.LedgerKeyContractData({
          contract: new Address(sandbox.contracts.deviceRegistry).toScAddress(),
          key: xdr.ScVal.scvVec([xdr.ScVal.scvSymbol("Device"), bytes(hashOf("card"))]),
          durability: xdr.ContractDataDurability.persistent,
        }),
      );
    /** The key of the temporary entry that a transaction created. */
    const temporaryKey = (applied: AppliedTransaction) => {
      for (const change of changesOf(applied)) {
        if (change.type !== "ledgerEntryCreated" || change.created.data.type !== "contractData") continue;
        const { contract, key, durability } = change.created.data.contractData;
        if (durability.name !== "temporary") continue;
        return xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key, durability })).toXdr();
      }
      throw new Error("no temporary entry was created");
    };
    const closeLedgers = (count: number) => pass(n, count);
    const changesOf = (applied: AppliedTransaction) => metaOf(applied).operations[0]!.changes;
    const entryTypes = (applied: AppliedTransaction, type: xdr.LedgerEntryChange["type"]) =>
      changesOf(applied).flatMap((c) =>
        c.type === type && c.value instanceof xdr.LedgerEntry ? [c.value.data.type] : []
      );

    test("lists a new entry with its TTL entry in the metadata", () => {
      const registered = n.invoke(owner, calls.register());
      const created = entryTypes(registered, "ledgerEntryCreated");
      assert.equal(created.filter((type) => type === "ttl").length, created.filter((t) => t === "contractData").length);
      const held = n.network.entry(deviceKey().toXdr());
      assert.equal(held?.liveUntilLedger, registered.ledger + TTL_LEDGERS - 1);
      assert.equal(held?.lastModifiedLedger, registered.ledger);
    });

    test("returns an archived entry with its last ledger, and 0 instead after the eviction delay", () => {
      const { ledger } = n.invoke(owner, calls.register());
      closeLedgers(TTL_LEDGERS);
      assert.equal(n.network.entry(deviceKey().toXdr())?.liveUntilLedger, ledger + TTL_LEDGERS - 1);
      closeLedgers(EVICTION_DELAY_LEDGERS);
      assert.equal(n.network.entry(deviceKey().toXdr())?.liveUntilLedger, 0);
    });

    test("restores the entries that an invocation marks as archived, and lists them in the metadata", () => {
      n.invoke(owner, calls.register());
      closeLedgers(TTL_LEDGERS + 1);
      const applied = n.invoke(owner, calls.getOwner());
      assert.equal(codesOf(applied.resultXdr), "txSuccess/invokeHostFunction/invokeHostFunctionSuccess");
      const restored = entryTypes(applied, "ledgerEntryRestored");
      assert.ok(restored.includes("contractData") && restored.includes("contractCode") && restored.includes("ttl"));
      const { liveUntilLedger } = n.network.entry(deviceKey().toXdr())!;
      assert.equal(liveUntilLedger, applied.ledger + TTL_LEDGERS - 1);
    });

    test("fails an invocation that does not mark an archived entry: invokeHostFunctionEntryArchived", () => {
      n.invoke(owner, calls.register());
      const draft = n.prepare(owner, calls.getOwner());
      closeLedgers(TTL_LEDGERS + 1);
      const applied = n.apply(signed(draft, owner));
      assert.equal(codesOf(applied.resultXdr), "txFailed/invokeHostFunction/invokeHostFunctionEntryArchived");
    });

    test("restores an archived entry by RestoreFootprint, and extends its life by ExtendFootprintTtl", () => {
      n.invoke(owner, calls.register());
      closeLedgers(TTL_LEDGERS + 1);
      const restoreData = new SorobanDataBuilder().setReadWrite([deviceKey()]).build();
      const restored = n.apply(
        signed(n.prepare(owner, Operation.restoreFootprint({}), { sorobanData: restoreData }), owner),
      );
      assert.equal(codesOf(restored.resultXdr), "txSuccess/restoreFootprint/restoreFootprintSuccess");
      assert.deepEqual(entryTypes(restored, "ledgerEntryRestored").sort(), ["contractData", "ttl"]);
      assert.equal(n.network.entry(deviceKey().toXdr())?.liveUntilLedger, restored.ledger + TTL_LEDGERS - 1);

      const extendData = new SorobanDataBuilder().setReadOnly([deviceKey()]).build();
      const operation = Operation.extendFootprintTtl({ extendTo: 1_000 });
      const extended = n.apply(signed(n.prepare(owner, operation, { sorobanData: extendData }), owner));
      assert.equal(codesOf(extended.resultXdr), "txSuccess/extendFootprintTtl/extendFootprintTtlSuccess");
      assert.deepEqual(entryTypes(extended, "ledgerEntryUpdated"), ["ttl"]);
      assert.equal(n.network.entry(deviceKey().toXdr())?.liveUntilLedger, extended.ledger + 1_000);
    });

    test("fails a restore that cannot pay its rent: restoreFootprintInsufficientRefundableFee", () => {
      n.invoke(owner, calls.register());
      closeLedgers(TTL_LEDGERS + 1);
      const restore = (resourceFee: bigint) => {
        const data = new SorobanDataBuilder().setReadWrite([deviceKey()]).setResources(0, 1_000, 1_000);
        const sorobanData = data.setResourceFee(resourceFee).build();
        return signed(n.build(owner, [Operation.restoreFootprint({})], { sorobanData }), owner);
      };
      const refused = n.submit(restore(1n));
      assert.ok(refused.status === "ERROR");
      const [, , leastFee] = scValToNative(
        xdr.DiagnosticEvent.fromXdr(refused.diagnosticEventsXdr[0]!).event.body.v0.data,
      );
      const applied = n.apply(restore(leastFee));
      assert.equal(codesOf(applied.resultXdr), "txFailed/restoreFootprint/restoreFootprintInsufficientRefundableFee");
    });

    test("hides an expired temporary entry from contracts at once, and evicts it after a delay", () => {
      n.invoke(owner, calls.register());
      n.invoke(owner, calls.registerAgent());
      n.invoke(owner, calls.fund(500n));
      const authorized = n.invoke(agent, calls.authorize(5n, 1n));
      const payment = temporaryKey(authorized);
      const expiry = authorized.ledger + TTL_LEDGERS - 1;
      assert.equal(n.network.entry(payment)?.liveUntilLedger, expiry);
      const pending = () => {
        const draft = n.build(owner, [calls.pendingBalance()]);
        const simulated = n.network.simulate(draft.toEnvelope().toXdr(), {});
        assert.ok(simulated.ok && simulated.result);
        return scValToNative(xdr.ScVal.fromXdr(simulated.result.valueXdr));
      };
      assert.equal(pending(), 5n);

      closeLedgers(TTL_LEDGERS);
      assert.equal(pending(), 0n);
      assert.equal(n.network.entry(payment)?.liveUntilLedger, expiry);
      closeLedgers(expiry + EVICTION_DELAY_LEDGERS - n.network.latestLedger().sequence - 1);
      assert.notEqual(n.network.entry(payment), undefined);
      const evicting = n.close();
      assert.equal(n.network.entry(payment), undefined);
      const meta = xdr.LedgerCloseMeta.fromXdr(evicting.metadataXdr);
      assert.ok(meta.type === "v2");
      assert.deepEqual(meta.v2.evictedKeys.map((key) => key.type), ["contractData", "ttl"]);
      assert.deepEqual(meta.v2.evictedKeys[0]!.toXdr(), payment);

      const later = temporaryKey(n.invoke(agent, calls.authorize(5n, 2n)));
      n.network.snapshot("before");
      n.network.advance({ ledgers: 1_000 });
      assert.equal(n.network.entry(later), undefined);
      n.network.revert("before");
      assert.notEqual(n.network.entry(later), undefined);
      n.network.advance({ ledgers: 100_000 });
      assert.equal(n.network.entry(later), undefined, "one advance evicts the entries that expire in it");
      assert.equal(n.network.entry(deviceKey().toXdr())?.liveUntilLedger, 0, "and archives the others");
      assert.equal(n.invoke(owner, calls.defund(1n)).successful, true, "a write restores them");
    });
  });
}
