// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { deviceKey, instanceKey, nonceKey } from "../../../lib/escrow/reads/storage_keys.ts";
import { fault } from "../../stellar/transactions/submit_stage.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
before(async () => {
  const { owner, agent, asset } = sandbox;
  const gateway = sandbox.gateway();
  await gateway.act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
  const policy = { deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0" };
  await gateway.act(owner, { kind: "registerAgent", ...policy });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
});

/** A gateway before whose eyes the contracts are upgraded to code that keeps these entries elsewhere. */
function upgradable(...moved: string[]): { gateway: GatewayView; upgrade(): Promise<void> } {
  let isUpgraded = false;
  const instances = Object.values(sandbox.contracts).map(instanceKey);
  const gateway = sandbox.gateway({
    fetch: async (url, init) => {
      const body = await (await sandbox.fetch(url, init)).json();
      if (!isUpgraded || JSON.parse(String(init.body)).method !== "getLedgerEntries") return Response.json(body);
      const entries = body.result.entries as { key: string; xdr: string }[];
      body.result.entries = entries.filter(({ key }) => !moved.includes(key))
        .map((entry) => instances.includes(entry.key) ? { ...entry, xdr: withOtherCode(entry.xdr) } : entry);
      return Response.json(body);
    },
  });
  return {
    gateway,
    async upgrade() {
      isUpgraded = true;
      sandbox.network.closeLedger();
      await gateway.rpc.getLatestLedger();
    },
  };
}

function withOtherCode(entryXdr: string): string {
  const data = xdr.LedgerEntryData.fromXdr(entryXdr, "base64");
  if (data.type !== "contractData" || data.contractData.val.type !== "scvContractInstance") return entryXdr;
  const { ext, contract, key, durability, val: { instance: { storage } } } = data.contractData;
  const executable = xdr.ContractExecutable.contractExecutableWasm(new Uint8Array(32).fill(9));
  const val = xdr.ScVal.scvContractInstance(new xdr.ScContractInstance({ executable, storage }));
  const changed = new xdr.ContractDataEntry({ ext, contract, key, durability, val });
  return xdr.LedgerEntryData.contractData(changed).toXdr("base64");
}

describe("prepare notices contracts with a new storage layout, without a read before", () => {
  test("a stranger cannot act for a card whose owner is stored elsewhere", async () => {
    const { gateway, upgrade } = upgradable(deviceKey(sandbox.contracts.deviceRegistry, CARD));
    await gateway.escrow.reads.card(CARD);
    await upgrade();
    const source = (await sandbox.account()).publicKey();
    const theft = gateway.escrow.transactions.prepare({ source, operation: { kind: "revokeAgent", deviceHash: CARD } });
    assert.match((await fault(theft)).message, /, the registered owner of card /);
  });

  test("a payment gets a nonce above the last one, which is stored elsewhere", async () => {
    const { agent, merchant, asset, contracts } = sandbox;
    const { gateway, upgrade } = upgradable(
      deviceKey(contracts.deviceRegistry, CARD),
      nonceKey(contracts.paymentEscrow, CARD, agent.publicKey()),
    );
    const payment = { deviceHash: CARD, merchant: merchant.publicKey(), asset, amount: "1" };
    await gateway.escrow.reads.card(CARD);
    await gateway.act(agent, { kind: "authorize", ...payment, nonce: "500" });
    await upgrade();
    await gateway.act(agent, { kind: "authorize", ...payment });
  });
});
