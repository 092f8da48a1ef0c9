// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { refusedAs } from "../stellar/transactions/submit_stage.ts";
import { startIntentCalls } from "./intents_stage.ts";

const { stage, newCard, asked, prepared, submitted, applyElsewhere } = await startIntentCalls(1);
after(() => stage.close());

test("who prepares without a key is warned of what was turned down under one, and applied by a copy that had been sent before", async () => {
  const card = newCard();
  const { closeTime, sequence: latestLedger } = stage.network.latestLedger();
  let sends = 0;
  const faults: NodeFaults = async (init, answer) => {
    const { id, method } = JSON.parse(String(init.body));
    if (method !== "sendTransaction") return await answer();
    if (++sends === 1) throw new TypeError("connection reset");
    const result = {
      ...refusedAs("txInsufficientFee"),
      hash: "ab".repeat(32),
      latestLedger,
      latestLedgerCloseTime: String(closeTime),
    };
    return Response.json({ jsonrpc: "2.0", id, result });
  };
  const { gateway: of } = await stage.time.until(stage.live(Infinity, faults));
  const { body: { xdr, hash } } = await prepared(card, { key: "copied" });
  const refused = await submitted(card, xdr, { key: "copied", of });
  assert.equal(refused.body.error.retry, "prepare_again", refused.text);
  await applyElsewhere(card, xdr);
  const { body } = await prepared(card, {});
  assert.match(body.warning ?? "no warning", new RegExp(`${hash}, .* was applied in ledger`));
  assert.equal((await asked(`/v1/transactions/${hash}`, undefined, { method: "GET" })).body.status, "success");
  assert.equal((await prepared(card, {})).body.warning, undefined);
});
