// needs: neutral
import { Asset, type Keypair, Operation as Classic } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import type { Operation } from "../../../lib/escrow/operations/operations.ts";
import { applyNow } from "../../sandbox/past_the_gateway.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
let gateway: GatewayView;
/** A contract of an issued asset, of which the escrow holds nothing. */
let junk: string;
before(async () => {
  gateway = sandbox.gateway();
  const { owner, agent, asset, network } = sandbox;
  const issued = new Asset("JUNK", owner.publicKey());
  applyNow(network, owner, Classic.createStellarAssetContract({ asset: issued }));
  junk = issued.contractId(network.passphrase);
  await gateway.act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
  await gateway.act(owner, {
    kind: "registerAgent",
    deviceHash: CARD,
    agent: agent.publicKey(),
    asset,
    maxAmount: "0",
  });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
});

async function refused(who: Keypair, operation: Operation) {
  const error = await gateway.escrow.transactions.prepare({ source: who.publicKey(), operation })
    .then(() => assert.fail("it was not refused"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error?.stack ?? error));
  const { contractError, param, message } = error;
  return { contractError, param, message: message.slice(message.indexOf(" refused: ") + " refused: ".length) };
}

describe("a refusal has the numbers and the field at fault", () => {
  test("when a defunding is above the card's escrow", async () => {
    const { owner, asset } = sandbox;
    assert.deepEqual(await refused(owner, { kind: "defundEscrow", deviceHash: CARD, asset, amount: "101" }), {
      contractError: "InsufficientBalance",
      param: "operation.amount",
      message: "payment_escrow error #2 (InsufficientBalance): 101 is above the 100 that the card's escrow holds",
    });
  });

  test("when a payment's nonce is not above the last one", async () => {
    const { agent, asset, merchant } = sandbox;
    const payment = {
      kind: "authorize" as const,
      deviceHash: CARD,
      merchant: merchant.publicKey(),
      asset,
      amount: "1",
    };
    await gateway.act(agent, { ...payment, nonce: "7" });
    for (const nonce of ["7", "3"]) {
      assert.deepEqual(await refused(agent, { ...payment, nonce }), {
        contractError: "DuplicateAuth",
        param: "operation.nonce",
        message:
          `payment_escrow error #6 (DuplicateAuth): ${nonce} is not above 7, the last nonce of this card and agent`,
      });
    }
  });

  test("when the owner has less than the funding", async () => {
    const { owner, asset } = sandbox;
    const amount = "999999999999999999";
    assert.deepEqual(await refused(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount }), {
      contractError: "BalanceError",
      param: "operation.amount",
      message:
        `asset contract ${asset} error #10 (BalanceError): the source holds less of the asset than that; an account ` +
        "cannot spend its lumen reserve",
    });
  });
});

describe("a refusal names the escrow contract as the account with too small a balance", () => {
  const words = () =>
    `asset contract ${junk} error #10 (BalanceError): the escrow contract, which pays it, holds less of this asset than that`;

  test("when a merchant claims an asset without payments", async () => {
    assert.deepEqual(await refused(sandbox.merchant, { kind: "claim", asset: junk }), {
      contractError: "BalanceError",
      param: undefined,
      message: words(),
    });
  });

  test("when an owner defunds such an asset", async () => {
    const { owner, agent } = sandbox;
    const taken = await refused(owner, { kind: "defundEscrow", deviceHash: CARD, asset: junk, amount: "1" });
    assert.deepEqual([taken.param, taken.message], [undefined, words()]);
    await gateway.act(owner, { kind: "revokeAgent", deviceHash: CARD });
    const swept = await refused(owner, {
      kind: "sweepEscrow",
      deviceHash: CARD,
      asset: junk,
      agent: agent.publicKey(),
    });
    assert.equal(swept.message, words());
  });
});

describe("a policy for a contract that is not a token", () => {
  test("is refused, and a policy for a built-in asset is accepted", async () => {
    const { owner, agent, contracts } = sandbox;
    const policy = {
      kind: "registerAgent" as const,
      deviceHash: "ee".repeat(32),
      agent: agent.publicKey(),
      maxAmount: "0",
    };
    for (const asset of [contracts.paymentEscrow, contracts.deviceRegistry]) {
      const { param, message } = await refused(owner, { ...policy, asset });
      assert.equal(param, "operation.asset");
      assert.ok(message.endsWith(`must be a token, a contract with decimals(); got ${asset}`), message);
    }
    await gateway.escrow.transactions.prepare({ source: owner.publicKey(), operation: { ...policy, asset: junk } });
  });
});
