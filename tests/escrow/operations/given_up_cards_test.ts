// needs: neutral
import type { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Operation } from "../../../lib/escrow/operations/operations.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
let gateway: GatewayView;
before(() => {
  gateway = sandbox.gateway();
});

/** Does the operation, and returns the warning of its prepare. */
const act = async (signer: Keypair, operation: Operation) => (await gateway.act(signer, operation)).prepared.warning;

describe("a revocation of a card", () => {
  test("gets the warning that its money goes to the next owner, who can take it", async () => {
    const { owner, agent, asset } = sandbox;
    const stranger = await sandbox.account();
    const policy = { agent: agent.publicKey(), asset, maxAmount: "0" };
    await act(owner, { kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
    await act(owner, { kind: "registerAgent", deviceHash: CARD, ...policy });
    await act(owner, { kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
    assert.equal(
      await act(owner, { kind: "revokeDevice", deviceHash: CARD }),
      "the card's escrow still holds 100. After the revocation any wallet can register the card and take that out, and its " +
        `agent ${agent.publicKey()} can still pay with it. Do revokeAgent and sweepEscrow first`,
    );
    await act(stranger, { kind: "registerDevice", deviceHash: CARD, agent: stranger.publicKey() });
    await act(stranger, { kind: "defundEscrow", deviceHash: CARD, asset, amount: "100" });
    assert.equal((await gateway.escrow.reads.device(CARD)).escrowBalance, "0");
  });

  test("gets no warning when its escrow is empty", async () => {
    const stranger = (await gateway.escrow.reads.card(CARD)).value.device!.owner;
    const revoke = { kind: "revokeDevice" as const, deviceHash: CARD };
    const { warning } = await gateway.escrow.transactions.prepare({ source: stranger, operation: revoke });
    assert.equal(warning, undefined);
  });
});

describe("a registration of a card", () => {
  test("gets a warning about a stranger's agent, but not about the owner's own", async () => {
    const { owner, agent, asset } = sandbox;
    const stranger = await sandbox.account();
    for (const [digit, before] of [["1", stranger], ["2", agent]] as const) {
      const deviceHash = digit.repeat(64);
      const policy = { deviceHash, agent: before.publicKey(), asset, maxAmount: "0" };
      await act(stranger, { kind: "registerAgent", ...policy });
      assert.equal(
        await act(owner, { kind: "registerDevice", deviceHash, agent: agent.publicKey() }),
        before === agent
          ? undefined
          : `the card already has an agent, ${stranger.publicKey()}, that can pay with the money in its escrow. Do ` +
            "revokeAgent before fundEscrow",
      );
    }
  });
});
