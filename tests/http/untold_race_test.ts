import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NodeFaults } from "../faults/node_faults.ts";
import { startIntentCalls } from "./intents_stage.ts";

const { stage, other, newCard, pass, ask, asked, prepared, submitted, signed } = await startIntentCalls(2);
after(() => stage.close());

const methodOf = (init: RequestInit) => JSON.parse(String(init.body)).method;

test("who prepares again while the first is on its way is warned of it, if it was applied before the account was read", async () => {
  const card = newCard();
  const first = await prepared(card, {});
  let isArmed = false;
  const faults: NodeFaults = async (init, answer) => {
    if (isArmed && methodOf(init) === "getLedgerEntries") {
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

test("who left before he was told what became of it is warned when he prepares it again", async () => {
  const card = newCard();
  let isCut = false;
  let slowMs = 0;
  const faults: NodeFaults = async (init, answer) => {
    if (methodOf(init) === "getTransaction" && slowMs > 0) await stage.time.wait(slowMs);
    if (!isCut) isCut = methodOf(init) === "sendTransaction" && (await answer()).ok;
    return isCut ? await Promise.reject(new TypeError("connection reset")) : await answer();
  };
  const { gateway: of } = await stage.time.until(stage.live(Infinity, faults));
  const { body: { xdr, hash } } = await prepared(card, {});
  assert.equal((await submitted(card, xdr, { of })).status, 502);
  await pass(6);
  [isCut, slowMs] = [false, 3_000];
  const leaving = new AbortController();
  const status = ask(`/v1/transactions/${hash}`, undefined, { method: "GET", of, signal: leaving.signal });
  await pass(1);
  leaving.abort();
  assert.equal((await stage.time.until(status)).body.status, "success");
  await pass(1);
  const { body } = await prepared(card, { of: other });
  assert.match(body.warning ?? "no warning", new RegExp(`${hash}, .* was applied in ledger`));
  assert.equal((await asked(`/v1/transactions/${hash}`, undefined, { method: "GET" })).body.status, "success");
  assert.equal((await prepared(card, { of: other })).body.warning, undefined);
});
