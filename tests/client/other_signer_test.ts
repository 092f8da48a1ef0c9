// needs: neutral
import { Keypair, Operation } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashCard } from "../../lib/client/client.ts";
import { build, signed, submit } from "../sandbox/sandbox_network.ts";
import { startStage } from "./client_stage.ts";

test("a key that is another signer of the account writes for it, and one that is none doesn't", async () => {
  const stage = await startStage();
  try {
    const { owner, agent } = stage.accounts;
    const own = Keypair.fromSecret(owner.secret);
    const [signer, stranger] = [Keypair.random(), Keypair.random()];
    const addSigner = Operation.setOptions({ signer: { ed25519PublicKey: signer.publicKey(), weight: 1 } });
    submit(stage.on.network, signed(build(stage.on.network, own, [addSigner]), own));
    stage.on.network.closeLedger();

    const deviceHash = await hashCard("a card of two signers");
    const register = { kind: "registerDevice", deviceHash, agent: agent.address } as const;
    const refused = await stage.client().write(register, stranger, { source: owner.address });
    assert.ok(!refused.ok && refused.transactionError === "txBadAuth", JSON.stringify(refused));
    const written = await stage.client().write(register, signer, { source: owner.address });
    assert.ok(written.ok, JSON.stringify(written));
  } finally {
    await stage.stop();
  }
});
