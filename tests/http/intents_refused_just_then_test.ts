// needs: once
import { TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { assertDone, startIntentCalls } from "./intents_stage.ts";

const { stage, newCard, pass, asked, signed } = await startIntentCalls(1);
after(() => stage.close());

test("what is refused because the one that was turned down is applied just then is told as done", async () => {
  const card = newCard();
  const turnedDown: { xdr?: string } = {};
  let isArmed = false;
  const faults: NodeFaults = (init, ask) => {
    if (isArmed && JSON.parse(String(init.body)).method === "simulateTransaction") {
      isArmed = false;
      // Another node had it.
      const { xdr } = signed(turnedDown.xdr!, card.owner);
      stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
      stage.network.closeLedger();
    }
    return ask();
  };
  const { gateway: of } = await stage.time.until(stage.live(Infinity, faults));
  const { deviceHash, owner, agent } = card;
  const body = { source: owner.publicKey(), operation: { kind: "revokeDevice", deviceHash } };
  const prepare = () => asked("/v1/transactions/prepare", body, { key: "refused-just-then", of });
  const first = await prepare();
  turnedDown.xdr = first.body.xdr;
  await asked("/v1/transactions/submit", signed(first.body.xdr, agent), { key: "refused-just-then", of });
  await pass(6);
  isArmed = true;
  const again = await prepare();
  assert.equal(isArmed, false);
  assertDone(again, first);
});
