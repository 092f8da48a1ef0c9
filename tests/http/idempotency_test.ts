// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdempotency } from "../../lib/http/intents/idempotency.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { toTransactionIntent, type TransactionIntent } from "../../lib/store/transaction_intent.ts";
import { bentStore } from "../store/bent_store.ts";
import { START_MS } from "../webhooks/parts.ts";

const NAME = { keyId: "key1", key: "order-7" };
const DAY_MS = 86_400_000;
const INTENT: TransactionIntent = {
  ...{ request: "ab".repeat(32), sequence: "5", envelope: new Uint8Array([1]), isRejected: false },
  envelopes: [{ hash: "#1", validUntil: 500, sinceLedger: 10 }],
};

/** One gateway's intents, on a clock that waits for nobody. */
async function stage(answer?: "changed" | "full") {
  let nowMs = START_MS;
  const opened = await openStore("memory:", { now: () => nowMs });
  const store = answer === undefined ? opened : bentStore(opened, { intents: { set: () => Promise.resolve(answer) } });
  let versions = 0;
  const asked: string[] = [];
  const told = { full: 0 };
  const idempotency = createIdempotency({
    intents: store.intents,
    transactions: {
      account: () => (asked.push("account"), Promise.resolve({ ledger: 20, sequence: 5n, closedAt: 0 })),
      lookUp: () => (asked.push("look up"), Promise.resolve({ status: "applied", hash: "#1", ledger: 19 })),
    },
    clock: { wait: (ms) => Promise.resolve(void (nowMs += ms)) },
    networkSeconds: () => nowMs / 1_000,
    newVersion: () => `v${++versions}`,
    onFull: () => void told.full++,
  });
  return {
    store,
    idempotency,
    asked,
    told,
    pass: (ms: number) => void (nowMs += ms),
    passedMs: () => nowMs - START_MS,
  };
}

async function intentIn(store: Store) {
  const kept = await store.intents.get({ ...NAME, kind: "transaction" });
  return kept && toTransactionIntent(kept);
}

test("the account is read and envelopes are looked up only as far as the rule needs, and an outcome is written", async () => {
  const { store, idempotency, asked } = await stage();
  const fresh = await idempotency.judge(NAME, undefined, "G");
  assert.deepEqual([fresh!.verdict, asked], [{ kind: "fresh" }, []]);
  assert.equal(await idempotency.commit({ name: NAME, seen: undefined }, INTENT), true);
  const seen = await intentIn(store);
  const done = await idempotency.judge(NAME, seen, "G");
  assert.deepEqual([done!.verdict.kind, asked], ["outcome", ["account", "look up"]]);
  // Another was first: that is to be looked at again.
  assert.equal(await idempotency.judge(NAME, seen, "G"), undefined);
  const again = await intentIn(store);
  assert.deepEqual(again!.outcome, { hash: "#1", ledger: 19 });
  asked.length = 0;
  assert.equal((await idempotency.judge(NAME, again, "G"))!.verdict.kind, "outcome");
  assert.deepEqual(asked, []);
});

test("an intent that is used is noted so once a day, and kept seven days from there", async () => {
  const { store, idempotency, pass } = await stage();
  await idempotency.commit({ name: NAME, seen: undefined }, INTENT);
  for (const [afterMs, version] of [[DAY_MS, "v1"], [1_000, "v2"], [DAY_MS, "v2"], [DAY_MS, "v3"]] as const) {
    pass(afterMs);
    await idempotency.noteUse({ name: NAME, seen: await intentIn(store) });
    assert.equal((await intentIn(store))!.version, version);
  }
});

test("who is never the first tries for some seconds, and is answered 409", async () => {
  const { idempotency, passedMs } = await stage("changed");
  let tries = 0;
  const attempt = async () => {
    tries += 1;
    assert.equal(await idempotency.commit({ name: NAME, seen: undefined }, INTENT), false);
    return undefined;
  };
  await assert.rejects(idempotency.repeat(NAME, attempt), { status: 409, retry: "same", param: "Idempotency-Key" });
  assert.ok(tries === 20 && passedMs() > 1_000 && passedMs() < 10_000, `${tries} tries in ${passedMs()} ms`);
});

test("one intent too many is answered 429, and told", async () => {
  const { idempotency, told } = await stage("full");
  await assert.rejects(idempotency.commit({ name: NAME, seen: undefined }, INTENT), { status: 429 });
  assert.equal(told.full, 1);
});
