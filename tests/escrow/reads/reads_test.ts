// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import {
  addressVal,
  deviceKey,
  hashVal,
  pendingPaymentKey,
  policyKey,
  walletDeviceCountKey,
} from "../../../lib/escrow/reads/storage_keys.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);
const UNKNOWN = "cd".repeat(32);
const NOWHERE = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

const sandbox = sandboxOfFile();
const hashes = Array.from({ length: 12 }, (_, i) => i.toString(16).padStart(64, "0"));

before(() => {
  const { owner, agent, merchant, contracts, asset } = sandbox;
  const [ownerVal, agentVal, merchantVal] = [owner, agent, merchant].map((who) => addressVal(who.publicKey()));
  for (const hash of [CARD, ...hashes]) {
    sandbox.invoke(owner, contracts.deviceRegistry, "register", ownerVal!, hashVal(hash), agentVal!);
  }
  const policy = [ownerVal!, hashVal(CARD), agentVal!, i128(0n), addressVal(asset), u64(0n)];
  sandbox.invoke(owner, contracts.agentRegistry, "register_agent", ...policy);
  sandbox.invoke(
    owner,
    contracts.paymentEscrow,
    "fund_escrow",
    addressVal(asset),
    ownerVal!,
    hashVal(CARD),
    i128(500n),
  );
  for (const [nonce, amount] of [[1n, 100n], [2n, 30n]] as const) {
    const payment = [agentVal!, hashVal(CARD), merchantVal!, addressVal(asset), i128(amount), u64(nonce)];
    sandbox.invoke(agent, contracts.paymentEscrow, "authorize", ...payment);
  }
});

/** A gateway whose node answers with something else than it should. */
function tampered(
  change: (answer: { method: string; result: Record<string, unknown> }) => void | Promise<void>,
): GatewayView {
  return sandbox.gateway({
    fetch: async (url, init) => {
      const body = await (await sandbox.fetch(url, init)).json();
      if (body.result !== undefined) {
        await change({ method: JSON.parse(String(init.body)).method, result: body.result });
      }
      return Response.json(body);
    },
  });
}

/** Takes entries out of a node's answers. */
function hiding(...keys: string[]) {
  return tampered(({ method, result }) => {
    if (method !== "getLedgerEntries") return;
    result.entries = (result.entries as { key: string }[]).filter(({ key }) => !keys.includes(key));
  });
}

async function code(answer: unknown): Promise<string> {
  const error = await Promise.resolve(answer).then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error));
  return `${error.code}: ${error.message}`;
}

function expectedDevice() {
  return {
    deviceHash: CARD,
    owner: sandbox.owner.publicKey(),
    policy: { agent: sandbox.agent.publicKey(), maxAmount: "0", asset: sandbox.asset, expiresAt: null },
    escrowBalance: "370",
  };
}

/** The same answers whichever way they are read. */
function suite(name: string, open: () => GatewayView | Promise<GatewayView>) {
  describe(`reads by ${name}`, () => {
    let gateway: GatewayView;
    before(async () => {
      gateway = await open();
    });

    test("a device with its policy and its balance", async () => {
      assert.deepEqual(await gateway.escrow.reads.device(CARD), expectedDevice());
    });

    test("a device without a policy and without a balance", async () => {
      const device = await gateway.escrow.reads.device(hashes[3]!);
      assert.deepEqual(device.policy, { agent: null, maxAmount: null, asset: null, expiresAt: null });
      assert.equal(device.escrowBalance, "0");
    });

    test("device_not_found and agent_not_found", async () => {
      const { reads } = gateway.escrow;
      assert.equal(await code(reads.device(UNKNOWN)), `device_not_found: the device registry does not know ${UNKNOWN}`);
      assert.equal(await code(reads.policy(UNKNOWN)), `agent_not_found: no agent is registered for ${UNKNOWN}`);
    });

    test("a policy alone", async () => {
      assert.deepEqual(await gateway.escrow.reads.policy(CARD), expectedDevice().policy);
    });

    test("a wallet's devices in the registry's order, and an empty list for a stranger", async () => {
      const { reads } = gateway.escrow;
      assert.deepEqual(await reads.walletDevices(sandbox.owner.publicKey()), [CARD, ...hashes]);
      assert.deepEqual(await reads.walletDevices(sandbox.merchant.publicKey()), []);
      assert.deepEqual(await reads.walletDevices(sandbox.asset), []);
    });

    test("a merchant's pending payments, also for a merchant without any", async () => {
      const { reads } = gateway.escrow;
      assert.equal((await reads.pending(sandbox.merchant.publicKey())).pending, "130");
      assert.equal((await reads.pending(sandbox.owner.publicKey())).pending, "0");
    });
  });
}

suite("ledger entries", () => sandbox.gateway());

suite("calls", async () => {
  const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
  const { owner, merchant } = sandbox;
  const gateway = hiding(
    deviceKey(deviceRegistry, CARD),
    policyKey(agentRegistry, CARD),
    walletDeviceCountKey(deviceRegistry, owner.publicKey()),
    pendingPaymentKey(paymentEscrow, merchant.publicKey(), 1),
  );
  const { reads } = gateway.escrow;
  await Promise.all([reads.device(CARD), reads.policy(CARD)]);
  await Promise.all([reads.walletDevices(owner.publicKey()), reads.pending(merchant.publicKey())]);
  assert.deepEqual(reads.ways(), { device: "calls", policy: "calls", walletDevices: "calls", pending: "calls" });
  assert.equal(gateway.problems.length, 4);
  assert.match(gateway.problems[0]!, /^\w+: .*reads now call the functions$/);
  return gateway;
});

describe("choosing between the two ways", () => {
  test("the first read of a kind uses both ways, later ones entries alone", async () => {
    const gateway = sandbox.gateway();
    const simulated = () => sandbox.counts.get("simulateTransaction") ?? 0;
    const before = simulated();
    await gateway.escrow.reads.device(CARD);
    assert.equal(simulated() - before, 3);
    await gateway.escrow.reads.device(hashes[0]!);
    assert.equal(simulated() - before, 3);
    assert.equal(gateway.escrow.reads.ways().device, "entries");
  });

  test("an unreadable entry is a difference", async () => {
    const gateway = tampered(({ method, result }) => {
      if (method !== "getLedgerEntries") return;
      const key = policyKey(sandbox.contracts.agentRegistry, CARD);
      for (const entry of result.entries as { key: string; xdr: string }[]) {
        if (entry.key === key) entry.xdr = withValue(entry.xdr, xdr.ScVal.scvVoid());
      }
    });
    assert.deepEqual(await gateway.escrow.reads.policy(CARD), expectedDevice().policy);
    assert.equal(gateway.escrow.reads.ways().policy, "calls");
  });

  test("new code of a contract starts another comparison", async () => {
    let upgraded = false;
    const gateway = tampered(({ method, result }) => {
      if (method !== "getLedgerEntries" || !upgraded) return;
      const entries = result.entries as { key: string; xdr: string }[];
      result.entries = entries.map((entry) => ({ ...entry, xdr: withOtherCode(entry.xdr) }))
        .filter(({ key }) => key !== policyKey(sandbox.contracts.agentRegistry, CARD));
    });
    await gateway.escrow.reads.policy(CARD);
    assert.equal(gateway.escrow.reads.ways().policy, "entries");
    upgraded = true;
    sandbox.network.closeLedger();
    await gateway.rpc.getLatestLedger();
    assert.deepEqual(await gateway.escrow.reads.policy(CARD), expectedDevice().policy);
    assert.equal(gateway.escrow.reads.ways().policy, "calls");
  });

  test("a failed comparison changes nothing", async () => {
    const gateway = tampered(({ method, result }) => {
      if (method === "simulateTransaction") result.transactionData = result.error = undefined;
    });
    assert.deepEqual(await gateway.escrow.reads.device(CARD), expectedDevice());
    assert.equal(gateway.escrow.reads.ways().device, "not_compared");
    assert.match(gateway.problems[0]!, /could not be compared/);
  });

  test("answers of different ledgers are not compared", async () => {
    let simulations = 0;
    const gateway = tampered(async ({ method, result }) => {
      if (method !== "simulateTransaction") return;
      simulations += 1;
      // The entries have been answered by then: the simulation is a ledger ahead of them.
      await new Promise((resolve) => setTimeout(resolve, 20));
      result.latestLedger = sandbox.network.closeLedger().sequence;
    });
    assert.deepEqual(await gateway.escrow.reads.policy(CARD), expectedDevice().policy);
    assert.equal(gateway.escrow.reads.ways().policy, "not_compared");
    assert.equal(simulations, 3);
    assert.match(gateway.problems[0]!, /no two answers were of the same ledger in 3 tries/);
  });
});

describe("the conditions of reads", () => {
  test("a missing contract is named", async () => {
    const gateway = sandbox.gateway({ contracts: { ...sandbox.contracts, deviceRegistry: NOWHERE } });
    const words = `upstream_error: device_registry ${NOWHERE} does not exist on this network`;
    assert.equal(await code(gateway.escrow.reads.device(CARD)), words);
    assert.equal(await code(gateway.escrow.reads.walletDevices(sandbox.owner.publicKey())), words);
    assert.equal((await gateway.escrow.reads.pending(sandbox.merchant.publicKey())).pending, "130");
    const source = sandbox.owner.publicKey();
    const operation = { kind: "registerDevice" as const, deviceHash: UNKNOWN, agent: source };
    assert.equal(await code(gateway.escrow.transactions.prepare({ source, operation })), words);
  });

  test("a cached answer is returned at once, as the same object, until the next ledger", async () => {
    const gateway = sandbox.gateway();
    const { reads } = gateway.escrow;
    const first = await reads.device(CARD);
    assert.equal(reads.device(CARD), first);
    sandbox.network.closeLedger();
    await gateway.rpc.getLatestLedger();
    assert.ok(reads.device(CARD) instanceof Promise);
  });

  test("a wallet of many devices takes few calls", async () => {
    const gateway = sandbox.gateway();
    await gateway.escrow.reads.walletDevices(sandbox.owner.publicKey());
    sandbox.network.closeLedger();
    await gateway.rpc.getLatestLedger();
    // Besides, a moment later, the ledger that was shown is confirmed.
    const asked = () => [...sandbox.counts].reduce((sum, [method, n]) => method === "getHealth" ? sum : sum + n, 0);
    const before = asked();
    await gateway.escrow.reads.walletDevices(sandbox.owner.publicKey());
    assert.equal(asked() - before, 2);
    // Its size is one entry, which that read has cached.
    assert.equal(await gateway.escrow.reads.walletSize(sandbox.owner.publicKey()), hashes.length + 1);
    assert.equal(asked() - before, 2);
  });

  test("a pending payment counts as long as it lives", async () => {
    const key = pendingPaymentKey(sandbox.contracts.paymentEscrow, sandbox.merchant.publicKey(), 1);
    const gateway = tampered(({ method, result }) => {
      if (method !== "getLedgerEntries") return;
      for (const entry of result.entries as { key: string; liveUntilLedgerSeq: number }[]) {
        if (entry.key === key) entry.liveUntilLedgerSeq = (result.latestLedger as number) - 1;
      }
    });
    // The contract says 130, so the two ways differ; what counts here is what the entries alone would have said.
    assert.equal((await gateway.escrow.reads.pending(sandbox.merchant.publicKey())).pending, "130");
    assert.equal(gateway.escrow.reads.ways().pending, "calls");
  });

  test("a payment in its last ledger is no difference between the two ways", async () => {
    const gateway = tampered(({ method, result }) => {
      if (method === "simulateTransaction") result.results = [{ xdr: i128(0n).toXdr("base64"), auth: [] }];
      if (method !== "getLedgerEntries") return;
      for (const entry of result.entries as { liveUntilLedgerSeq?: unknown }[]) {
        entry.liveUntilLedgerSeq = result.latestLedger;
      }
    });
    assert.equal((await gateway.escrow.reads.pending(sandbox.merchant.publicKey())).pending, "130");
    assert.equal(gateway.escrow.reads.ways().pending, "not_compared");
  });

  test("an archived entry is still owned", async () => {
    const gateway = tampered(({ method, result }) => {
      if (method !== "getLedgerEntries") return;
      for (const entry of result.entries as { liveUntilLedgerSeq?: number }[]) entry.liveUntilLedgerSeq = 0;
    });
    assert.deepEqual(await gateway.escrow.reads.device(CARD), expectedDevice());
    assert.equal(gateway.escrow.reads.ways().device, "entries");
  });
});

function contractData(entryXdr: string): xdr.ContractDataEntry | undefined {
  const data = xdr.LedgerEntryData.fromXdr(entryXdr, "base64");
  return data.type === "contractData" ? data.contractData : undefined;
}

function withValue(entryXdr: string, val: xdr.ScVal): string {
  const { ext, contract, key, durability } = contractData(entryXdr)!;
  const changed = new xdr.ContractDataEntry({ ext, contract, key, durability, val });
  return xdr.LedgerEntryData.contractData(changed).toXdr("base64");
}

function withOtherCode(entryXdr: string): string {
  const held = contractData(entryXdr);
  if (held?.val.type !== "scvContractInstance") return entryXdr;
  const executable = xdr.ContractExecutable.contractExecutableWasm(new Uint8Array(32).fill(9));
  const instance = new xdr.ScContractInstance({ executable, storage: held.val.instance.storage });
  return withValue(entryXdr, xdr.ScVal.scvContractInstance(instance));
}
