// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Store, StoreError } from "../../lib/store/store.ts";
import type { Card } from "../faults/intents_stage.ts";
import type { NodeFaults } from "../faults/node_faults.ts";
import { refusedAs } from "../stellar/transactions/submit_stage.ts";
import { bentStore } from "../store/bent_store.ts";
import { forTier } from "../tier.ts";
import { cutAfterSubmit, startIntentCalls } from "./intents_stage.ts";

const calls = await startIntentCalls(9);
const { stage, gateway, other, newCard, pass, ask, asked } = calls;
const { prepared, submitted, outcomeOf, gatewayWith, payment, signed, applyElsewhere } = calls;
after(() => stage.close());

/** A store that fails at the first write of a lost answer. */
function awayOnce(store: Store): Store {
  let isAway = true;
  return bentStore(store, {
    sharedState: {
      async change(name, change) {
        if (!isAway || !name.startsWith("unresolved")) return await store.sharedState.change(name, change);
        isAway = false;
        throw new StoreError("unavailable", "the connection was cut");
      },
    },
  });
}

/** A store without failure, and one that fails at the first write of a lost answer. */
const STORES = { "": undefined, ", although the store failed once": awayOnce };

for (const [although, on] of Object.entries(STORES)) {
  test(`prepare warns after a caller disconnected before the answer to its submit${although}`, async () => {
    const card = newCard();
    const of = await gatewayWith(undefined, on);
    const { body: { xdr, hash } } = await prepared(card, {});
    const leaving = new AbortController();
    const submit = ask("/v1/transactions/submit", signed(xdr, card.owner), { of, signal: leaving.signal });
    leaving.abort();
    await stage.time.until(submit);
    await pass(1);
    await assertWarned(card, hash);
  });

  test(`prepare warns after a caller disconnected before the answer about its transaction's outcome${although}`, async () => {
    const card = newCard();
    let isCut = false;
    let slowMs = 0;
    const faults: NodeFaults = async (init, answer) => {
      const { method } = JSON.parse(String(init.body));
      if (method === "getTransaction" && slowMs > 0) await stage.time.wait(slowMs);
      if (!isCut) isCut = method === "sendTransaction" && (await answer()).ok;
      return isCut ? await Promise.reject(new TypeError("connection reset")) : await answer();
    };
    const { gateway: of } = await stage.time.until(stage.live(Infinity, faults, on));
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
    await assertWarned(card, hash);
  });
}

/** Asserts that prepare warns until a caller has received the outcome. */
async function assertWarned(card: Card, hash: string): Promise<void> {
  const { body } = await prepared(card, { of: other });
  assert.match(body.warning ?? "no warning", new RegExp(`${hash}, .* was applied in ledger`));
  assert.equal((await outcomeOf(hash)).body.status, "success");
  assert.equal((await prepared(card, { of: other })).body.warning, undefined);
}

test("prepare warns of a submit of the same operation that was applied before prepare read the account", async () => {
  const card = newCard();
  const first = await prepared(card, {});
  let isArmed = false;
  const faults: NodeFaults = async (init, answer) => {
    if (isArmed && JSON.parse(String(init.body)).method === "getLedgerEntries") {
      isArmed = false;
      // Its caller disconnects and then calls prepare.
      const leaving = new AbortController();
      const submit = ask("/v1/transactions/submit", signed(first.body.xdr, card.owner), { signal: leaving.signal });
      leaving.abort();
      assert.equal((await submit).status, 200);
    }
    return await answer();
  };
  const of = await gatewayWith(faults);
  isArmed = true;
  const { body } = await prepared(card, { of });
  assert.equal(isArmed, false);
  assert.match(body.warning ?? "no warning", new RegExp(`${first.body.hash}, .* was applied in ledger`));
});

test("a contract's refusal names an applied transaction of the same operation whose outcome no caller received", async () => {
  const card = newCard();
  const allOfIt = payment(card, "10000000000");
  const prepare = (of = gateway) => asked("/v1/transactions/prepare", allOfIt, { of });
  const cut = await gatewayWith(cutAfterSubmit());
  const { body: { xdr, hash } } = await prepare();
  const lost = await asked("/v1/transactions/submit", signed(xdr, card.agent), { of: cut });
  assert.equal(lost.status, 502);
  await pass(6);
  const { status, body: { error } } = await prepare(other);
  const { contractError, reason, retry, message } = error;
  assert.deepEqual([status, contractError, reason, retry], [
    422,
    "InsufficientBalance",
    "insufficient_escrow",
    "never",
  ]);
  assert.match(message, new RegExp(`; .*${hash}, .* was applied in ledger \\d+: ask GET /v1/transactions/${hash} `));
  // After a caller received the outcome, the refusal no longer names the transaction.
  assert.equal((await outcomeOf(hash)).body.status, "success");
  assert.doesNotMatch((await prepare()).body.error.message, new RegExp(hash));
});

test("prepare without a key warns of a transaction that was rejected under a key and then applied from an earlier copy", async () => {
  const card = newCard();
  const { closeTime, sequence: latestLedger } = stage.network.latestLedger();
  let sends = 0;
  const faults: NodeFaults = async (init, answer) => {
    const { id, method } = JSON.parse(String(init.body));
    if (method !== "sendTransaction") return await answer();
    if (++sends === 1) throw new TypeError("connection reset");
    const stamp = { latestLedger, latestLedgerCloseTime: String(closeTime) };
    const result = { ...refusedAs("txInsufficientFee"), hash: "ab".repeat(32), ...stamp };
    return Response.json({ jsonrpc: "2.0", id, result });
  };
  const of = await gatewayWith(faults);
  const { body: { xdr, hash } } = await prepared(card, { key: "copied" });
  const refused = await submitted(card, xdr, { key: "copied", of });
  assert.equal(refused.body.error.retry, "prepare_again", refused.text);
  await applyElsewhere(card, xdr);
  const { body } = await prepared(card, {});
  assert.match(body.warning ?? "no warning", new RegExp(`${hash}, .* was applied in ledger`));
  assert.equal((await outcomeOf(hash)).body.status, "success");
  assert.equal((await prepared(card, {})).body.warning, undefined);
});

/** Between these steps a submit is sent, confirmed and answered. */
const [FIRST_STEP, LAST_STEP] = [120, 190];
/** The short form kills at every sixth step. */
const STRIDE = forTier({ test: 6, all: 1 });

test("prepare warns of an applied submit whose gateway was killed before it answered, at any step", async () => {
  const card = newCard();
  let killed = 0;
  for (let steps = FIRST_STEP; steps <= LAST_STEP; steps += STRIDE) {
    const amount = String(steps);
    const { body: { xdr, hash } } = await prepared(card, {}, amount);
    // As on a shared store, where other gateways see its ledger before the caller gets the answer.
    const { gateway: of, life } = await stage.time.until(
      stage.live(steps, undefined, (own) => Object.create(own, { isShared: { value: true } })),
    );
    const submit = ask("/v1/transactions/submit", signed(xdr, card.owner), { of });
    let isAnswered = false;
    void submit.then(() => isAnswered = true);
    await stage.time.until(Promise.race([submit, life.over]));
    await pass(8);
    if (isAnswered) continue;
    const { body } = await prepared(card, { of: other }, amount);
    const status = await stage.time.until(ask(`/v1/transactions/${hash}`, undefined, { method: "GET", of: other }));
    if (status.body.status !== "success") continue;
    killed += 1;
    assert.match(body.warning ?? "no warning", new RegExp(hash), `killed after ${steps} steps`);
  }
  assert.ok(killed > 0);
});
