// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Keypair, nativeToScVal, StrKey } from "@stellar/stellar-sdk";
import { GatewayError } from "../../lib/errors.ts";
import type { Operation } from "../../lib/escrow/operations/operations.ts";
import { addressVal, hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { type GatewayView, sandboxOfFile, signed } from "./sandbox.ts";

const CARD = "ab".repeat(32);
const UNKNOWN = "cd".repeat(32);

const sandbox = sandboxOfFile();
let gateway: GatewayView;
before(() => {
  gateway = sandbox.gateway();
});

const act = (who: Keypair, operation: Operation) => gateway.act(who, operation);

async function refusal(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(() => assert.fail("it was not refused"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error?.stack ?? error));
  return error;
}

async function refused(who: Keypair, operation: Operation): Promise<{ code: string; name?: string; message: string }> {
  const { code, contractError, message } = await refusal(act(who, operation));
  return { code, name: contractError, message };
}

// One story: each test goes on where the one before ended.
describe("the life of a card", () => {
  test("an unregistered card is not found, and cannot be funded", async () => {
    const { reads } = gateway.escrow;
    assert.equal((await refusal(Promise.resolve(reads.device(CARD)))).code, "device_not_found");
    assert.equal((await refusal(Promise.resolve(reads.policy(CARD)))).code, "agent_not_found");
    assert.deepEqual(await reads.walletDevices(sandbox.owner.publicKey()), []);
    const { asset } = sandbox;
    assert.deepEqual(await refused(sandbox.owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "5" }), {
      code: "contract_refused",
      name: "DeviceNotRegistered",
      message:
        `payment_escrow.fund_escrow refused: card ${CARD} is not registered (DeviceNotRegistered). Register it first, else ` +
        "any wallet can register it and take the money out",
    });
  });

  test("its owner registers it, and the next read returns it", async () => {
    const agent = sandbox.agent.publicKey();
    await act(sandbox.owner, { kind: "registerDevice", deviceHash: CARD, agent });
    assert.deepEqual(await gateway.escrow.reads.device(CARD), {
      deviceHash: CARD,
      owner: sandbox.owner.publicKey(),
      policy: { agent: null, maxAmount: null, asset: null, expiresAt: null },
      escrowBalance: "0",
    });
    assert.deepEqual(await gateway.escrow.reads.walletDevices(sandbox.owner.publicKey()), [CARD]);
    const again = await refused(sandbox.owner, { kind: "registerDevice", deviceHash: CARD, agent });
    assert.equal(again.message, "device_registry.register refused: device_registry error #4 (AlreadyRegistered)");
  });

  test("an agent is registered with a policy, and prepare returns the policy's final values", async () => {
    const { asset } = sandbox;
    const agent = sandbox.agent.publicKey();
    const policy = { deviceHash: CARD, agent, asset, maxAmount: "50" };
    const past = Math.floor(sandbox.nowMs() / 1000) - 1;
    const late = await refused(sandbox.owner, { kind: "registerAgent", ...policy, expiresAt: past });
    assert.equal(late.name, "InvalidPolicy");
    const { prepared } = await act(sandbox.owner, { kind: "registerAgent", ...policy });
    assert.deepEqual(prepared.operation, { kind: "registerAgent", ...policy, expiresAt: null });
    assert.deepEqual(await gateway.escrow.reads.policy(CARD), { agent, maxAmount: "50", asset, expiresAt: null });
  });

  test("its escrow is funded, and a refusal of the asset contract keeps its error name", async () => {
    const { asset, owner } = sandbox;
    await act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
    const poor = await refused(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "999999999999999999" });
    assert.deepEqual([poor.code, poor.name], ["contract_refused", "BalanceError"]);
    assert.equal(
      poor.message,
      `payment_escrow.fund_escrow refused: asset contract ${asset} error #10 (BalanceError): the source holds less of the ` +
        "asset than that; an account cannot spend its lumen reserve",
    );
    const nothing = sandbox.contracts.deviceRegistry;
    const wrong = await refused(owner, { kind: "fundEscrow", deviceHash: CARD, asset: nothing, amount: "1" });
    assert.deepEqual([wrong.code, wrong.message], [
      "invalid_request",
      `operation.asset must be ${asset}, the asset that the policy of card ${CARD} names; got ${nothing}`,
    ]);
    const open = "ee".repeat(32);
    await act(owner, { kind: "registerDevice", deviceHash: open, agent: owner.publicKey() });
    const unfit = await refused(owner, { kind: "fundEscrow", deviceHash: open, asset: nothing, amount: "1" });
    assert.equal(unfit.message, `device_registry ${nothing} has no function transfer`);
  });

  test("the agent authorises payments, each with the next nonce", async () => {
    const { asset, agent } = sandbox;
    const merchant = sandbox.merchant.publicKey();
    const payment = { kind: "authorize" as const, deviceHash: CARD, merchant, asset };
    const tooMuch = await refusal(act(agent, { ...payment, amount: "51" }));
    assert.deepEqual([tooMuch.contractError, tooMuch.reason, tooMuch.param, tooMuch.retry], [
      "AgentNotAuthorized",
      "amount_exceeds_limit",
      "operation.amount",
      "never",
    ]);
    assert.equal(
      tooMuch.message,
      "payment_escrow.authorize refused: payment_escrow error #3 (AgentNotAuthorized): 51 is above the policy's 50",
    );
    const first = await act(agent, { ...payment, amount: "30" });
    // The refused one had the first.
    assert.deepEqual(first.prepared.operation, { ...payment, amount: "30", nonce: "2" });
    const second = await act(agent, { ...payment, amount: "20" });
    assert.deepEqual(second.prepared.operation, { ...payment, amount: "20", nonce: "3" });
    assert.deepEqual(await refused(agent, { ...payment, amount: "1", nonce: "3" }), {
      code: "contract_refused",
      name: "DuplicateAuth",
      message:
        "payment_escrow.authorize refused: payment_escrow error #6 (DuplicateAuth): 3 is not above 3, the last nonce of this " +
        "card and agent",
    });
    await act(agent, { ...payment, amount: "50", nonce: "1000" });
    const broke = await refusal(act(agent, { ...payment, amount: "1" }));
    assert.deepEqual([broke.contractError, broke.reason], ["InsufficientBalance", "insufficient_escrow"]);
    assert.match(broke.message, /: 1 is above the 0 that the card's escrow holds$/);
    assert.equal((await gateway.escrow.reads.pending(merchant)).pending, "100");
  });

  test("two payments prepared at the same time get different nonces", async () => {
    const operation = {
      kind: "authorize" as const,
      deviceHash: CARD,
      merchant: sandbox.merchant.publicKey(),
      asset: sandbox.asset,
      amount: "1",
    };
    await act(sandbox.owner, { kind: "fundEscrow", deviceHash: CARD, asset: sandbox.asset, amount: "1" });
    const source = sandbox.agent.publicKey();
    const both = await Promise.all([1, 2].map(() => gateway.escrow.transactions.prepare({ source, operation })));
    const nonces = both.map((prepared) => prepared.operation.kind === "authorize" ? prepared.operation.nonce : "");
    assert.deepEqual(nonces.sort(), ["1002", "1003"]);
  });

  test("the merchant claims all payments once", async () => {
    const { merchant, asset } = sandbox;
    await act(merchant, { kind: "claim", asset });
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "0");
    assert.equal((await refused(merchant, { kind: "claim", asset })).name, "NothingToClaim");
  });

  test("only the owner can defund, and a refusal names the owner", async () => {
    const { owner, agent, asset } = sandbox;
    const { code, message } = await refused(agent, { kind: "defundEscrow", deviceHash: CARD, asset, amount: "1" });
    assert.equal(code, "invalid_request");
    assert.equal(
      message,
      `source must be ${owner.publicKey()}, the registered owner of card ${CARD}; got ${agent.publicKey()}`,
    );
    assert.deepEqual(await refused(owner, { kind: "defundEscrow", deviceHash: UNKNOWN, asset, amount: "1" }), {
      code: "contract_refused",
      name: "DeviceNotFound",
      message: "payment_escrow.defund_escrow refused: device_registry error #2 (DeviceNotFound)",
    });
    await act(owner, { kind: "defundEscrow", deviceHash: CARD, asset, amount: "1" });
  });

  test("submit and status report a refusal in the ledger as prepare reports it", async () => {
    const { owner, agent, asset, network } = sandbox;
    await act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "7" });
    const payment = { deviceHash: CARD, merchant: sandbox.merchant.publicKey(), asset, amount: "7" };
    const source = agent.publicKey();
    const prepared = await gateway.escrow.transactions.prepare({
      source,
      operation: { kind: "authorize", ...payment },
    });
    await act(owner, { kind: "defundEscrow", deviceHash: CARD, asset, amount: "5" });
    const envelope = signed(prepared.xdr, network.passphrase, agent);
    const first = await refusal(gateway.escrow.transactions.submit(envelope));
    assert.deepEqual([first.code, first.contractError], ["contract_refused", "InsufficientBalance"]);
    assert.equal(
      first.message,
      "payment_escrow.authorize refused: payment_escrow error #2 (InsufficientBalance): " +
        "7 is above the 2 that the card's escrow holds",
    );
    assert.deepEqual([first.reason, first.param, first.retry], ["insufficient_escrow", undefined, "never"]);
    const again = await refusal(gateway.escrow.transactions.submit(envelope));
    assert.equal(again.message, first.message);
    const status = await gateway.escrow.transactions.status(prepared.hash);
    assert.deepEqual([status.status, status.error], ["failed", first.message]);
    assert.ok(status.ledger! > 0);
  });

  test("a confirmed envelope that is submitted again gets the same answer", async () => {
    const { owner, asset } = sandbox;
    const operation = { kind: "defundEscrow" as const, deviceHash: CARD, asset, amount: "1" };
    const { prepared, confirmed } = await act(owner, operation);
    const envelope = signed(prepared.xdr, sandbox.network.passphrase, owner);
    assert.deepEqual(await gateway.escrow.transactions.submit(envelope), confirmed);
    assert.deepEqual(await sandbox.gateway().escrow.transactions.submit(envelope), confirmed);
    const status = await gateway.escrow.transactions.status(prepared.hash);
    assert.deepEqual(status, { hash: prepared.hash, status: "success", ledger: confirmed.ledger });
  });

  test("of two envelopes with one sequence number, the rejected one gets retry prepare_again", async () => {
    const { owner, asset, network } = sandbox;
    const operation = { kind: "fundEscrow" as const, deviceHash: CARD, asset, amount: "1" };
    const source = owner.publicKey();
    const first = await gateway.escrow.transactions.prepare({ source, operation });
    const second = await gateway.escrow.transactions.prepare({ source, operation: { ...operation, amount: "2" } });
    await gateway.escrow.transactions.submit(signed(first.xdr, network.passphrase, owner));
    const lost = await refusal(gateway.escrow.transactions.submit(signed(second.xdr, network.passphrase, owner)));
    assert.equal(lost.code, "invalid_request");
    assert.deepEqual([lost.transactionError, lost.retry], ["txBadSeq", "prepare_again"]);
    assert.match(lost.message, /rejected: txBadSeq \(.*prepare again\)/);
  });

  test("the owner sweeps the rest after revoking the agent", async () => {
    const { owner, agent, asset } = sandbox;
    const sweep = { kind: "sweepEscrow" as const, deviceHash: CARD, asset, agent: agent.publicKey() };
    assert.equal((await refused(owner, sweep)).name, "AgentStillActive");
    await act(owner, { kind: "revokeAgent", deviceHash: CARD });
    assert.equal((await refused(owner, { kind: "revokeAgent", deviceHash: CARD })).name, "AgentNotFound");
    await act(owner, sweep);
    const device = await gateway.escrow.reads.device(CARD);
    assert.equal(device.escrowBalance, "0");
  });

  test("the policy of a revoked card can still be read", async () => {
    const { owner, agent, asset } = sandbox;
    const policy = { deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0", expiresAt: 1_900_000_000 };
    await act(owner, { kind: "registerAgent", ...policy });
    await act(owner, { kind: "revokeDevice", deviceHash: CARD });
    assert.deepEqual(await gateway.escrow.reads.policy(CARD), {
      agent: agent.publicKey(),
      maxAmount: "0",
      asset,
      expiresAt: 1_900_000_000,
    });
    assert.equal((await refusal(Promise.resolve(gateway.escrow.reads.device(CARD)))).code, "device_not_found");
  });

  test("an end above the JSON number range is not rounded", async () => {
    const { owner, agent, asset, contracts } = sandbox;
    const [wallet, other] = [owner.publicKey(), "dd".repeat(32)];
    const agentVal = addressVal(agent.publicKey());
    const end = nativeToScVal(18446744073709551615n, { type: "u64" });
    const cap = nativeToScVal(0n, { type: "i128" });
    const policy = [addressVal(wallet), hashVal(other), agentVal, cap, addressVal(asset), end];
    sandbox.invoke(owner, contracts.agentRegistry, "register_agent", ...policy);
    assert.deepEqual(await sandbox.gateway().escrow.reads.policy(other), {
      agent: agent.publicKey(),
      maxAmount: "0",
      asset,
      expiresAt: null,
      note: "expires at 18446744073709551615, which is more than a JSON number holds",
    });
  });

  test("an asset that does not exist is refused in a policy", async () => {
    const { owner, agent } = sandbox;
    const nowhere = StrKey.encodeContract(new Uint8Array(32).fill(9));
    const policy = { deviceHash: "ee".repeat(32), agent: agent.publicKey(), asset: nowhere, maxAmount: "0" };
    const error = await refusal(act(owner, { kind: "registerAgent", ...policy }));
    assert.deepEqual([error.code, error.param, error.message], [
      "invalid_request",
      "operation.asset",
      `operation.asset must be a contract that exists on this network; got ${nowhere}`,
    ]);
  });

  test("the error for a missing account asks the client to fund it first", async () => {
    const source = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
    const operation = { kind: "registerDevice" as const, deviceHash: UNKNOWN, agent: source };
    const { code, message } = await refusal(gateway.escrow.transactions.prepare({ source, operation }));
    assert.deepEqual([code, message], [
      "not_found",
      `source ${source} does not exist on this network; it has to be funded first`,
    ]);
  });

  test("an unknown hash is not found", async () => {
    const { code } = await refusal(gateway.escrow.transactions.status("ef".repeat(32)));
    assert.equal(code, "not_found");
  });

  test("reads by entries and by calls never differed", () => {
    assert.deepEqual(gateway.escrow.reads.ways(), {
      device: "entries",
      policy: "entries",
      walletDevices: "entries",
      pending: "entries",
    });
    assert.deepEqual(gateway.problems, []);
  });
});
