// needs: once
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Store, StoreError } from "../../lib/store/store.ts";
import type { Card } from "../faults/intents_stage.ts";
import type { NodeFaults } from "../faults/node_faults.ts";
import { bentStore } from "../store/bent_store.ts";
import { startIntentCalls } from "./intents_stage.ts";

const { stage, other, newCard, pass, ask, asked, prepared, submitted, signed } = await startIntentCalls(4);
after(() => stage.close());

/** It is away for the one moment in which it is to be written down that an answer was lost. */
function awayOnce(store: Store): Store {
  let isAway = true;
  return bentStore(store, {
    registers: {
      async change(name, change) {
        if (!isAway || !name.startsWith("lost answers")) return await store.registers.change(name, change);
        isAway = false;
        throw new StoreError("unavailable", "the connection was cut");
      },
    },
  });
}

/** Whether a store is there all the time, or was away for just that moment. */
const STORES = { "": undefined, " although the store was away for a moment": awayOnce };

for (const [although, on] of Object.entries(STORES)) {
  test(`who left before his submit was answered is warned${although}`, async () => {
    const card = newCard();
    const { gateway: of } = await stage.time.until(stage.live(Infinity, undefined, on));
    const { body: { xdr, hash } } = await prepared(card, {});
    const leaving = new AbortController();
    const submit = ask("/v1/transactions/submit", signed(xdr, card.owner), { of, signal: leaving.signal });
    leaving.abort();
    await stage.time.until(submit);
    await pass(1);
    await assertWarned(card, hash);
  });

  test(`who left before he was told what became of it is warned${although}`, async () => {
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

/** When he prepares it again, until he has asked what became of it. */
async function assertWarned(card: Card, hash: string): Promise<void> {
  const { body } = await prepared(card, { of: other });
  assert.match(body.warning ?? "no warning", new RegExp(`${hash}, .* was applied in ledger`));
  assert.equal((await asked(`/v1/transactions/${hash}`, undefined, { method: "GET" })).body.status, "success");
  assert.equal((await prepared(card, { of: other })).body.warning, undefined);
}
