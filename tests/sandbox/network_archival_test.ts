// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Address, Keypair, Operation, scValToNative, SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import { bootstrapSandbox, rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { EVICTION_DELAY_LEDGERS } from "../../lib/sandbox/ledger/protocol.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import { type NetworkImage, recorder, restored } from "./network_image.ts";
import {
  address,
  apply,
  build,
  bytes,
  call,
  codesOf,
  contractCode,
  i128,
  invoke,
  prepare,
  signed,
  startNetwork,
  submit,
  u64,
} from "./sandbox_network.ts";

const PERSISTENT_LEDGERS = 40;
const TEMPORARY_LEDGERS = 20;

/** Times to live so short that a test can see them pass. */
function shortLived(entryXdr: Uint8Array): Uint8Array {
  const entry = xdr.LedgerEntry.fromXdr(entryXdr);
  assert.ok(entry.data.type === "configSetting");
  const setting = entry.data.configSetting;
  if (setting.type !== "configSettingStateArchival") return entryXdr;
  const changed = new xdr.StateArchivalSettings({
    ...setting.stateArchivalSettings,
    minPersistentTtl: PERSISTENT_LEDGERS,
    minTemporaryTtl: TEMPORARY_LEDGERS,
  });
  const data = xdr.LedgerEntryData.configSetting(xdr.ConfigSettingEntry.configSettingStateArchival(changed));
  return new xdr.LedgerEntry({ ...entry, data }).toXdr();
}

/** A network with these settings, the contracts and the accounts. */
let setUp: NetworkImage;
before(async () => {
  const { stateFile, image } = recorder();
  const { network } = await startNetwork({ adjustSettings: shortLived, stateFile });
  bootstrapSandbox(network, { contracts: contractCode() });
  setUp = image();
});

/** Ways of so many ledgers to pass: they have to come to the same. */
const WAYS: Record<string, (network: SandboxNetwork, count: number) => void> = {
  "closed one by one": (network, count) => {
    for (let i = 0; i < count; i++) network.closeLedger();
  },
  "advanced over": (network, count) => void (count > 0 && network.advance({ ledgers: count })),
};

for (const [way, pass] of Object.entries(WAYS)) {
  describe(`entries that reach the end of their time (ledgers ${way})`, () => {
    const card = sha256(new TextEncoder().encode("card"));
    let network: SandboxNetwork;
    let sandbox: Sandbox;
    let owner: Keypair, agent: Keypair, merchant: Keypair;

    beforeEach(async () => {
      ({ network } = await startNetwork({ stateFile: restored(setUp) }));
      sandbox = rememberedSandbox(network)!;
      owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
      agent = Keypair.fromSecret(sandbox.accounts.agent.secret);
      merchant = Keypair.fromSecret(sandbox.accounts.merchant.secret);
    });

    const register = () =>
      call(
        sandbox.contracts.deviceRegistry,
        "register",
        address(owner.publicKey()),
        bytes(card),
        address(agent.publicKey()),
      );
    const getOwner = () => call(sandbox.contracts.deviceRegistry, "get_owner", bytes(card));
    const deviceKey = () =>
      xdr.LedgerKey.contractData(
        new xdr.LedgerKeyContractData({
          contract: new Address(sandbox.contracts.deviceRegistry).toScAddress(),
          key: xdr.ScVal.scvVec([xdr.ScVal.scvSymbol("Device"), bytes(card)]),
          durability: xdr.ContractDataDurability.persistent,
        }),
      );
    /** The temporary entry a transaction created. */
    const temporaryKey = (applied: AppliedTransaction) => {
      for (const change of changesOf(applied)) {
        if (change.type !== "ledgerEntryCreated" || change.created.data.type !== "contractData") continue;
        const { contract, key, durability } = change.created.data.contractData;
        if (durability.name !== "temporary") continue;
        return xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key, durability })).toXdr();
      }
      throw new Error("no temporary entry was created");
    };
    const closeLedgers = (count: number) => pass(network, count);
    const changesOf = (applied: AppliedTransaction) => {
      const meta = xdr.TransactionMeta.fromXdr(applied.resultMetaXdr);
      assert.ok(meta.type === "v4");
      return meta.v4.operations[0]!.changes;
    };
    const entryTypes = (applied: AppliedTransaction, type: xdr.LedgerEntryChange["type"]) =>
      changesOf(applied).flatMap((c) =>
        c.type === type && c.value instanceof xdr.LedgerEntry ? [c.value.data.type] : []
      );

    test("a created entry comes with its TTL entry in the metadata", () => {
      const registered = invoke(network, owner, register());
      const created = entryTypes(registered, "ledgerEntryCreated");
      assert.equal(created.filter((type) => type === "ttl").length, created.filter((t) => t === "contractData").length);
      const held = network.entry(deviceKey().toXdr());
      assert.equal(held?.liveUntilLedger, registered.ledger + PERSISTENT_LEDGERS - 1);
      assert.equal(held?.lastModifiedLedger, registered.ledger);
    });

    test("an archived entry can still be read, with its end in the past, then with 0", () => {
      const { ledger } = invoke(network, owner, register());
      closeLedgers(PERSISTENT_LEDGERS);
      assert.equal(network.entry(deviceKey().toXdr())?.liveUntilLedger, ledger + PERSISTENT_LEDGERS - 1);
      closeLedgers(EVICTION_DELAY_LEDGERS);
      assert.equal(network.entry(deviceKey().toXdr())?.liveUntilLedger, 0);
    });

    test("an invocation restores what its footprint marks as archived, and says so in the metadata", () => {
      invoke(network, owner, register());
      closeLedgers(PERSISTENT_LEDGERS + 1);
      const applied = invoke(network, owner, getOwner());
      assert.equal(codesOf(applied.resultXdr), "txSuccess/invokeHostFunction/invokeHostFunctionSuccess");
      const restored = entryTypes(applied, "ledgerEntryRestored");
      assert.ok(restored.includes("contractData") && restored.includes("contractCode") && restored.includes("ttl"));
      const { liveUntilLedger } = network.entry(deviceKey().toXdr())!;
      assert.equal(liveUntilLedger, applied.ledger + PERSISTENT_LEDGERS - 1);
    });

    test("an invocation that does not mark an archived entry fails: entryArchived", () => {
      invoke(network, owner, register());
      const draft = prepare(network, owner, getOwner());
      closeLedgers(PERSISTENT_LEDGERS + 1);
      const applied = apply(network, signed(draft, owner));
      assert.equal(codesOf(applied.resultXdr), "txFailed/invokeHostFunction/invokeHostFunctionEntryArchived");
    });

    test("RestoreFootprint brings an archived entry back, ExtendFootprintTtl keeps it longer", () => {
      invoke(network, owner, register());
      closeLedgers(PERSISTENT_LEDGERS + 1);
      const restoreData = new SorobanDataBuilder().setReadWrite([deviceKey()]).build();
      const restored = apply(
        network,
        signed(prepare(network, owner, Operation.restoreFootprint({}), { sorobanData: restoreData }), owner),
      );
      assert.equal(codesOf(restored.resultXdr), "txSuccess/restoreFootprint/restoreFootprintSuccess");
      assert.deepEqual(entryTypes(restored, "ledgerEntryRestored").sort(), ["contractData", "ttl"]);
      assert.equal(network.entry(deviceKey().toXdr())?.liveUntilLedger, restored.ledger + PERSISTENT_LEDGERS - 1);

      const extendData = new SorobanDataBuilder().setReadOnly([deviceKey()]).build();
      const operation = Operation.extendFootprintTtl({ extendTo: 1_000 });
      const extended = apply(network, signed(prepare(network, owner, operation, { sorobanData: extendData }), owner));
      assert.equal(codesOf(extended.resultXdr), "txSuccess/extendFootprintTtl/extendFootprintTtlSuccess");
      assert.deepEqual(entryTypes(extended, "ledgerEntryUpdated"), ["ttl"]);
      assert.equal(network.entry(deviceKey().toXdr())?.liveUntilLedger, extended.ledger + 1_000);
    });

    test("a restore without the rent it owes fails: insufficientRefundableFee", () => {
      invoke(network, owner, register());
      closeLedgers(PERSISTENT_LEDGERS + 1);
      const restore = (resourceFee: bigint) => {
        const data = new SorobanDataBuilder().setReadWrite([deviceKey()]).setResources(0, 1_000, 1_000);
        const sorobanData = data.setResourceFee(resourceFee).build();
        return signed(build(network, owner, [Operation.restoreFootprint({})], { sorobanData }), owner);
      };
      const refused = submit(network, restore(1n));
      assert.ok(refused.status === "ERROR");
      const [, , leastFee] = scValToNative(
        xdr.DiagnosticEvent.fromXdr(refused.diagnosticEventsXdr[0]!).event.body.v0.data,
      );
      const applied = apply(network, restore(leastFee));
      assert.equal(
        codesOf(applied.resultXdr),
        "txFailed/restoreFootprint/restoreFootprintInsufficientRefundableFee",
      );
    });

    test("an expired temporary entry stays listed until it is evicted, then it is gone; contracts miss it at once", () => {
      const { agentRegistry, paymentEscrow } = sandbox.contracts;
      const asset = address(sandbox.asset);
      const [ownerArg, agentArg] = [address(owner.publicKey()), address(agent.publicKey())];
      invoke(network, owner, register());
      const policy = [ownerArg, bytes(card), agentArg, i128(0n), asset, u64(0n)];
      invoke(network, owner, call(agentRegistry, "register_agent", ...policy));
      invoke(network, owner, call(paymentEscrow, "fund_escrow", asset, ownerArg, bytes(card), i128(500n)));
      const terms = [agentArg, bytes(card), address(merchant.publicKey()), asset, i128(5n), u64(1n)];
      const authorized = invoke(network, agent, call(paymentEscrow, "authorize", ...terms));
      const payment = temporaryKey(authorized);
      const expiry = authorized.ledger + TEMPORARY_LEDGERS - 1;
      assert.equal(network.entry(payment)?.liveUntilLedger, expiry);
      const pending = () => {
        const draft = build(network, owner, [call(paymentEscrow, "pending_balance", address(merchant.publicKey()))]);
        const simulated = network.simulate(draft.toEnvelope().toXdr(), {});
        assert.ok(simulated.ok && simulated.result);
        return scValToNative(xdr.ScVal.fromXdr(simulated.result.valueXdr));
      };
      assert.equal(pending(), 5n);

      closeLedgers(TEMPORARY_LEDGERS);
      assert.equal(pending(), 0n);
      assert.equal(network.entry(payment)?.liveUntilLedger, expiry);
      closeLedgers(expiry + EVICTION_DELAY_LEDGERS - network.latestLedger().sequence - 1);
      assert.notEqual(network.entry(payment), undefined);
      const evicting = network.closeLedger();
      assert.equal(network.entry(payment), undefined);
      const meta = xdr.LedgerCloseMeta.fromXdr(evicting.metadataXdr);
      assert.ok(meta.type === "v2");
      assert.deepEqual(meta.v2.evictedKeys.map((key) => key.type), ["contractData", "ttl"]);
      assert.deepEqual(meta.v2.evictedKeys[0]!.toXdr(), payment);

      const again = [...terms.slice(0, 5), u64(2n)];
      const later = temporaryKey(invoke(network, agent, call(paymentEscrow, "authorize", ...again)));
      network.snapshot("before");
      network.advance({ ledgers: 1_000 });
      assert.equal(network.entry(later), undefined);
      network.revert("before");
      assert.notEqual(network.entry(later), undefined);
      network.advance({ ledgers: 100_000 });
      assert.equal(network.entry(later), undefined, "a leap evicts what expired in it");
      assert.equal(network.entry(deviceKey().toXdr())?.liveUntilLedger, 0, "and archives the rest");
      const defund = call(paymentEscrow, "defund_escrow", asset, bytes(card), i128(1n));
      assert.equal(invoke(network, owner, defund).successful, true, "which a write brings back");
    });
  });
}
