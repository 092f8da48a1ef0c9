// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { startIntentCalls } from "./intents_stage.ts";

const { stage, newCard, ask, prepared, signed } = await startIntentCalls(2);
after(() => stage.close());

test("who prepares again while the first is on its way is warned of it, if it was applied before the account was read", async () => {
  const card = newCard();
  const first = await prepared(card, {});
  let isArmed = false;
  const faults: NodeFaults = async (init, answer) => {
    if (isArmed && JSON.parse(String(init.body)).method === "getLedgerEntries") {
      isArmed = false;
      // Its caller has left, and asks here.
      const leaving = new AbortController();
      const submit = ask("/v1/transactions/submit", signed(first.body.xdr, card.owner), { signal: leaving.signal });
      leaving.abort();
      assert.equal((await submit).status, 200);
    }
    return await answer();
  };
  const { gateway: of } = await stage.time.until(stage.live(Infinity, faults));
  isArmed = true;
  const { body } = await prepared(card, { of });
  assert.equal(isArmed, false);
  assert.match(body.warning ?? "no warning", new RegExp(`${first.body.hash}, .* was applied in ledger`));
});
