// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { checkContracts } from "../../../lib/escrow/contracts/contract_check.ts";
import { checkInterfaces } from "../../../lib/escrow/contracts/interface_check.ts";
import { contractCode } from "../../sandbox/sandbox_network.ts";
import { deployExternalEscrow, type ExternalEscrow, keepsTag } from "../code_owner.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";

const CARD = "c5".repeat(32);

const sandbox = sandboxOfFile();
let external: ExternalEscrow;
let gateway: GatewayView;
before(async () => {
  const deployer = await sandbox.account();
  external = deployExternalEscrow(sandbox.network, deployer, sandbox.contracts);
  gateway = sandbox.gateway({ contracts: external.contracts });
});

describe("an escrow whose code another contract chooses", () => {
  test("passes the check, which names its code and its owner", async () => {
    const [, , escrow] = await checkInterfaces({ rpc: gateway.rpc, contracts: external.contracts });
    const [, , plain] = await checkInterfaces({ rpc: gateway.rpc, contracts: sandbox.contracts });
    const { paymentEscrow: id } = external.contracts;
    const { owner, tag } = { owner: external.codeOwner, tag: external.tag };
    assert.deepEqual(escrow, { ...plain, id, external: { owner, tag } });
    for (const { problem } of await checkContracts({ rpc: gateway.rpc, contracts: external.contracts })) {
      assert.equal(problem, undefined);
    }
  });

  test("is funded, paid from and read like any other", async () => {
    const { owner, agent, merchant, asset } = sandbox;
    await gateway.act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
    const policy = { deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0" };
    await gateway.act(owner, { kind: "registerAgent", ...policy });
    await gateway.act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "90" });
    const payment = { deviceHash: CARD, merchant: merchant.publicKey(), asset, amount: "40" };
    await gateway.act(agent, { kind: "authorize", ...payment });
    assert.equal((await gateway.escrow.reads.device(CARD)).escrowBalance, "50");
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "40");
    assert.deepEqual(gateway.escrow.reads.ways().device, "entries");
  });

  test("needs one more entry in the same call, and no further call", async () => {
    const asked: number[] = [];
    const counted = sandbox.gateway({
      contracts: external.contracts,
      fetch: (url, init) => {
        const { method, params } = JSON.parse(String(init.body));
        if (method === "getLedgerEntries") asked.push(params.keys.length);
        return sandbox.fetch(url, init);
      },
    });
    const policy = async () => {
      sandbox.network.closeLedger();
      await counted.rpc.getLatestLedger();
      asked.length = 0;
      await counted.escrow.reads.policy(CARD);
      return asked;
    };
    await policy();
    // The policy, three instances, and the entry with the code's hash.
    assert.deepEqual(await policy(), [5]);
  });

  test("fails the check when the reference leads to other code, and the finding names the code", async () => {
    const { ways, pending } = gateway.escrow.reads;
    assert.equal(ways().pending, "entries");
    external.choose(contractCode().deviceRegistry);
    try {
      await gateway.rpc.getLatestLedger();
      await pending(sandbox.merchant.publicKey());
      // The functions of the other code cannot be compared with the storage.
      assert.equal(ways().pending, "not_compared");
      const [, , escrow] = await checkContracts({ rpc: gateway.rpc, contracts: external.contracts });
      const { paymentEscrow } = external.contracts;
      assert.equal(escrow!.problem, `${paymentEscrow} is the device registry, not the payment escrow`);
    } finally {
      external.choose(contractCode().paymentEscrow);
    }
  });

  test("fails the check when the reference leads nowhere, and the finding names the reference", async () => {
    const { paymentEscrow: id } = external.contracts;
    const rpc: Pick<GatewayView["rpc"], "getLedgerEntries"> = {
      async getLedgerEntries(keys) {
        const answer = await gateway.rpc.getLedgerEntries(keys);
        return { ...answer, entries: answer.entries.filter(({ key }) => !keepsTag(key)) };
      },
    };
    const [, , escrow] = await checkContracts({ rpc, contracts: external.contracts });
    const why = `contract ${external.codeOwner} keeps no hash of one under the tag "${external.tag}"`;
    assert.equal(escrow!.problem, `${id} has no code: ${why}`);
  });
});
