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

/** The idempotency of one gateway, on a clock whose waits end at once. */
async function stage(answer?: "changed" | "full") {
  let nowMs = START_MS;
  const opened = await openStore("memory:", { now: () => nowMs });
  const store = answer === undefined ? opened : bentStore(opened, { intents: { set: () => Promise.resolve(answer) } });
  let versions = 0;
  const asked: string[] = [];
  const reported = { full: 0 };
  const idempotency = createIdempotency({
    intents: store.intents,
    transactions: {
      account: () => (asked.push("account"), Promise.resolve({ ledger: 20, sequence: 5n, closedAt: 0 })),
      lookUp: () => (asked.push("look up"), Promise.resolve({ status: "applied", hash: "#1", ledger: 19 })),
    },
    clock: { wait: (ms) => Promise.resolve(void (nowMs += ms)) },
    networkSeconds: () => nowMs / 1_000,
    newVersion: () => `v${++versions}`,
    onFull: () => void reported.full++,
  });
  return {
    store,
    idempotency,
    asked,
    reported,
    pass: (ms: number) => void (nowMs += ms),
    passedMs: () => nowMs - START_MS,
  };
}

async function intentIn(store: Store) {
  const kept = await store.intents.get({ ...NAME, kind: "transaction" });
  return kept && toTransactionIntent(kept);
}

test("idempotency reads the account and looks up envelopes only if the rule needs them, and stores an outcome", async () => {
  const { store, idempotency, asked } = await stage();
  const fresh = await idempotency.judge(NAME, undefined, "G");
  assert.deepEqual([fresh!.verdict, asked], [{ kind: "fresh" }, []]);
  assert.equal(await idempotency.commit({ name: NAME, seen: undefined }, INTENT), true);
  const seen = await intentIn(store);
  const done = await idempotency.judge(NAME, seen, "G");
  assert.deepEqual([done!.verdict.kind, asked], ["outcome", ["account", "look up"]]);
  // Another caller committed first, so this one must judge again.
  assert.equal(await idempotency.judge(NAME, seen, "G"), undefined);
  const again = await intentIn(store);
  assert.deepEqual(again!.outcome, { hash: "#1", ledger: 19 });
  asked.length = 0;
  assert.equal((await idempotency.judge(NAME, again, "G"))!.verdict.kind, "outcome");
  assert.deepEqual(asked, []);
});

test("the store records a use of an intent at most once a day", async () => {
  const { store, idempotency, pass } = await stage();
  await idempotency.commit({ name: NAME, seen: undefined }, INTENT);
  for (const [afterMs, version] of [[DAY_MS, "v1"], [1_000, "v2"], [DAY_MS, "v2"], [DAY_MS, "v3"]] as const) {
    pass(afterMs);
    await idempotency.noteUse({ name: NAME, seen: await intentIn(store) });
    assert.equal((await intentIn(store))!.version, version);
  }
});

test("a caller whose commits always lose gets 409 after 20 tries in 1 to 10 s", async () => {
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

test("an intent beyond the limit gets 429, and idempotency reports it once", async () => {
  const { idempotency, reported } = await stage("full");
  await assert.rejects(idempotency.commit({ name: NAME, seen: undefined }, INTENT), { status: 429 });
  assert.equal(reported.full, 1);
});
