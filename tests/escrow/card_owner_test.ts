// needs: neutral
import {
  Account,
  type Keypair,
  Operation as ContractOperation,
  SorobanDataBuilder,
  TransactionBuilder,
  type xdr,
} from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Operation } from "../../lib/escrow/operations/operations.ts";
import { addressVal, hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { fault } from "../stellar/transactions/submit_stage.ts";
import { type GatewayView, type Sandbox, sandboxOfFile, signed } from "./sandbox.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);
const NOBODYS = "cd".repeat(32);

const sandbox = sandboxOfFile();
let gateway: GatewayView;
let stranger: Keypair;

/** The six operations that are the owner's, and the calls that they are when somebody acts. */
function ownersOperations(actor: string): [Operation, keyof Sandbox["contracts"], string, xdr.ScVal[]][] {
  const { asset } = sandbox;
  const [card, wallet, token] = [hashVal(CARD), addressVal(actor), addressVal(asset)];
  return [
    [
      { kind: "registerAgent", deviceHash: CARD, agent: actor, asset, maxAmount: "0" },
      "agentRegistry",
      "register_agent",
      [wallet, card, wallet, i128(0), token, u64(0)],
    ],
    [{ kind: "revokeAgent", deviceHash: CARD }, "agentRegistry", "revoke_agent", [wallet, card]],
    [
      { kind: "fundEscrow", deviceHash: CARD, asset, amount: "5" },
      "paymentEscrow",
      "fund_escrow",
      [token, wallet, card, i128(5)],
    ],
    [
      { kind: "defundEscrow", deviceHash: CARD, asset, amount: "5" },
      "paymentEscrow",
      "defund_escrow",
      [token, card, i128(5)],
    ],
    [
      { kind: "sweepEscrow", deviceHash: CARD, asset, agent: actor },
      "paymentEscrow",
      "sweep_on_revoke",
      [token, card, wallet],
    ],
    [{ kind: "revokeDevice", deviceHash: CARD }, "deviceRegistry", "revoke", [wallet, card]],
  ];
}

/** A signed envelope of a call that may not simulate. */
function unsimulated(source: Keypair, contract: string, name: string, args: xdr.ScVal[]): string {
  const transaction = new TransactionBuilder(new Account(source.publicKey(), "1"), {
    fee: "1000",
    networkPassphrase: sandbox.network.passphrase,
    timebounds: { minTime: 0, maxTime: Math.floor(sandbox.nowMs() / 1_000) + 300 },
  }).addOperation(ContractOperation.invokeContractFunction({ contract, function: name, args }))
    .setSorobanData(new SorobanDataBuilder().build()).build();
  transaction.sign(source);
  return transaction.toXdr();
}

before(async () => {
  gateway = sandbox.gateway();
  stranger = await sandbox.account();
  const { owner, agent, asset } = sandbox;
  await gateway.act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
});

describe("only a card's registered owner acts for it", () => {
  test("prepare refuses a stranger's six operations and names the owner", async () => {
    const source = stranger.publicKey();
    for (const [operation] of ownersOperations(source)) {
      const error = await fault(gateway.escrow.transactions.prepare({ source, operation }));
      assert.deepEqual([error.code, error.param, error.message], [
        "invalid_request",
        "source",
        `source must be ${sandbox.owner.publicKey()}, the registered owner of card ${CARD}; got ${source}`,
      ], operation.kind);
    }
  });

  test("the check shares the call that reads the source account", async () => {
    const { owner } = sandbox;
    sandbox.counts.clear();
    const operation = { kind: "fundEscrow" as const, deviceHash: CARD, asset: sandbox.asset, amount: "1" };
    const { xdr } = await gateway.escrow.transactions.prepare({ source: owner.publicKey(), operation });
    assert.equal(sandbox.counts.get("getLedgerEntries"), 1);
    sandbox.counts.clear();
    await gateway.escrow.transactions.submit(signed(xdr, sandbox.network.passphrase, owner));
    assert.equal(sandbox.counts.get("getLedgerEntries"), 1);
    await gateway.act(owner, { kind: "defundEscrow", deviceHash: CARD, asset: sandbox.asset, amount: "1" });
  });

  test("submit refuses envelopes made elsewhere, fee bumps included, and sends nothing", async () => {
    const { owner, contracts, network } = sandbox;
    // A stranger signs only those calls that the contracts accept; the others do not simulate.
    for (const [{ kind }, contract, name, args] of ownersOperations(stranger.publicKey()).slice(0, 3)) {
      if (kind === "revokeAgent") continue;
      const envelope = sandbox.envelope(stranger, contracts[contract], name, ...args);
      const inner = TransactionBuilder.fromXdr(envelope, network.passphrase);
      const bump = TransactionBuilder.buildFeeBumpTransaction(owner, "100000000", inner as never, network.passphrase);
      bump.sign(owner);
      sandbox.counts.clear();
      for (const sent of [envelope, bump.toXdr()]) {
        const error = await fault(gateway.escrow.transactions.submit(sent));
        assert.deepEqual([error.code, error.param, error.message], [
          "invalid_request",
          "xdr",
          `xdr must act for ${owner.publicKey()}, the registered owner of card ${CARD}; got ${stranger.publicKey()}`,
        ]);
      }
      assert.equal(sandbox.counts.get("sendTransaction"), undefined);
    }
  });

  test("submit refuses a stranger's envelope before it costs a fee, also where the contract checks the owner", async () => {
    const { contracts } = sandbox;
    for (const [, contract, name, args] of ownersOperations(stranger.publicKey()).slice(3)) {
      const envelope = unsimulated(stranger, contracts[contract], name, args);
      const error = await fault(gateway.escrow.transactions.submit(envelope));
      assert.match(error.message, new RegExp(`^xdr must act for ${sandbox.owner.publicKey()}, the registered owner`));
    }
  });

  test("submit refuses arguments that do not fit the function", async () => {
    const { owner, contracts } = sandbox;
    const swapped = [hashVal(CARD), addressVal(owner.publicKey())];
    const envelope = unsimulated(owner, contracts.agentRegistry, "revoke_agent", swapped);
    const error = await fault(gateway.escrow.transactions.submit(envelope));
    assert.equal(error.message, "xdr must call revoke_agent with (Address, BytesN<32>), got other arguments");
    const none = unsimulated(owner, contracts.agentRegistry, "revoke_agent", []);
    assert.equal((await fault(gateway.escrow.transactions.submit(none))).message, error.message);
  });

  test("the owner may act, and a former owner's envelope gets its first answer again", async () => {
    const { owner, agent, asset, network } = sandbox;
    const source = owner.publicKey();
    const policy = { deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0" };
    const prepared = await gateway.escrow.transactions.prepare({
      source,
      operation: { kind: "registerAgent", ...policy },
    });
    const envelope = signed(prepared.xdr, network.passphrase, owner);
    const confirmed = await gateway.escrow.transactions.submit(envelope);
    await gateway.act(owner, { kind: "revokeAgent", deviceHash: CARD });
    await gateway.act(owner, { kind: "sweepEscrow", deviceHash: CARD, asset, agent: agent.publicKey() });
    await gateway.act(owner, { kind: "revokeDevice", deviceHash: CARD });
    await gateway.act(stranger, { kind: "registerDevice", deviceHash: CARD, agent: stranger.publicKey() });
    assert.deepEqual(await gateway.escrow.transactions.submit(envelope), confirmed);
    const again = await fault(
      gateway.escrow.transactions.prepare({ source, operation: { kind: "registerAgent", ...policy } }),
    );
    assert.match(again.message, new RegExp(`^source must be ${stranger.publicKey()}`));
  });

  test("the contract refuses an unregistered card", async () => {
    const { owner, asset } = sandbox;
    const source = owner.publicKey();
    const said = async (operation: Operation) =>
      (await fault(gateway.escrow.transactions.prepare({ source, operation }))).contractError;
    assert.equal(await said({ kind: "revokeAgent", deviceHash: NOBODYS }), "AgentNotFound");
    assert.equal(await said({ kind: "revokeDevice", deviceHash: NOBODYS }), "DeviceNotFound");
    assert.equal(
      await said({ kind: "fundEscrow", deviceHash: NOBODYS, asset, amount: "1" }),
      "DeviceNotRegistered",
    );
  });
});

test("the gateway does not fund a revoked card, even where the contract would", async () => {
  const { owner, agent, asset, network, contracts } = sandbox;
  const deviceHash = "0d".repeat(32);
  await gateway.act(owner, { kind: "registerDevice", deviceHash, agent: agent.publicKey() });
  const funding = {
    source: owner.publicKey(),
    operation: { kind: "fundEscrow" as const, deviceHash, asset, amount: "5" },
  };
  let simulated: { result: object } | undefined;
  // Contracts from before `DeviceNotRegistered` answer of an unknown card as these do of a registered one.
  const older = sandbox.gateway({
    async fetch(url, init) {
      const { id, method } = JSON.parse(String(init.body));
      if (method !== "simulateTransaction") return await sandbox.fetch(url, init);
      simulated ??= await (await sandbox.fetch(url, init)).json();
      const latestLedger = network.latestLedger().sequence;
      return Response.json({ ...simulated, id, result: { ...simulated!.result, latestLedger } });
    },
  });
  const { xdr } = await older.escrow.transactions.prepare(funding);
  sandbox.invoke(owner, contracts.deviceRegistry, "revoke", addressVal(owner.publicKey()), hashVal(deviceHash));
  sandbox.counts.clear();
  const envelope = signed(xdr, network.passphrase, owner);
  for (
    const [param, refused] of [
      ["operation.deviceHash", older.escrow.transactions.prepare(funding)],
      ["xdr", gateway.escrow.transactions.submit(envelope)],
    ] as const
  ) {
    const error = await fault(refused);
    assert.deepEqual([error.code, error.contractError, error.param], [
      "contract_refused",
      "DeviceNotRegistered",
      param,
    ]);
  }
  assert.equal(sandbox.counts.get("sendTransaction"), undefined);
});

test("a confirmed funding of a since revoked card gets its first answer again", async () => {
  const { owner, agent, asset, network, contracts } = sandbox;
  const deviceHash = "0e".repeat(32);
  await gateway.act(owner, { kind: "registerDevice", deviceHash, agent: agent.publicKey() });
  const operation = { kind: "fundEscrow" as const, deviceHash, asset, amount: "5" };
  const { xdr } = await gateway.escrow.transactions.prepare({ source: owner.publicKey(), operation });
  const envelope = signed(xdr, network.passphrase, owner);
  const confirmed = await gateway.escrow.transactions.submit(envelope);
  sandbox.invoke(owner, contracts.deviceRegistry, "revoke", addressVal(owner.publicKey()), hashVal(deviceHash));
  // Another gateway, which sent nothing itself.
  assert.deepEqual(await sandbox.gateway().escrow.transactions.submit(envelope), confirmed);
});

describe("the theft of a stranger's card", () => {
  const VICTIM = "0f".repeat(32);

  test("the gateway refuses it", async () => {
    const { owner, agent, asset } = sandbox;
    const thief = stranger.publicKey();
    await gateway.act(owner, { kind: "registerDevice", deviceHash: VICTIM, agent: agent.publicKey() });
    await gateway.act(owner, { kind: "fundEscrow", deviceHash: VICTIM, asset, amount: "100" });
    const himself = { kind: "registerAgent" as const, deviceHash: VICTIM, agent: thief, asset, maxAmount: "0" };
    const first = await fault(gateway.act(stranger, himself));
    assert.match(first.message, new RegExp(`^source must be ${owner.publicKey()}`));
    const payment = { kind: "authorize" as const, deviceHash: VICTIM, merchant: thief, asset, amount: "100" };
    assert.equal((await fault(gateway.act(stranger, payment))).contractError, "AgentNotAuthorized");
    const device = await gateway.escrow.reads.device(VICTIM);
    assert.equal(device.escrowBalance, "100");
  });

  test("the contracts accept it past the gateway, as the docs state", async () => {
    const { contracts, asset } = sandbox;
    const [thief, card, token] = [addressVal(stranger.publicKey()), hashVal(VICTIM), addressVal(asset)];
    sandbox.invoke(stranger, contracts.agentRegistry, "register_agent", thief, card, thief, i128(0), token, u64(0));
    sandbox.invoke(stranger, contracts.paymentEscrow, "authorize", thief, card, thief, token, i128(100), u64(1));
    sandbox.invoke(stranger, contracts.paymentEscrow, "claim", token, thief);
    const device = await sandbox.gateway().escrow.reads.device(VICTIM);
    assert.equal(device.escrowBalance, "0");
  });
});
