import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import {
  MAX_ENVELOPE_BYTES,
  MAX_INTENT_ENVELOPES,
  type TransactionIntent,
  type TransactionIntentName,
} from "../../lib/store/transaction_intent.ts";
import type { Subject } from "./store_contract.ts";

const MINUTE_MS = 60_000;

const named = (key: string, keyId = "key1"): TransactionIntentName => ({ keyId, key });

/** As large as one may be, but for its envelope. */
export function sampleTransactionIntent(fields: Partial<TransactionIntent> = {}): TransactionIntent {
  return {
    request: "ab".repeat(32),
    sequence: "9223372036854775807",
    envelope: new Uint8Array([0, 1, 2, 255]),
    isRejected: false,
    envelopes: Array.from({ length: MAX_INTENT_ENVELOPES }, (_, n) => ({
      hash: String(n).padStart(64, "0"),
      validUntil: 1_900_000_000 + n,
      ...(n % 2 ? {} : { sinceLedger: n }),
    })),
    ...fields,
  };
}

interface Writing {
  seen?: string;
  version?: string;
  mostOfKey?: number;
  mostInAll?: number;
  atMs?: number;
}

async function write(store: Store, name: TransactionIntentName, intent: TransactionIntent, writing: Writing = {}) {
  const { seen, version = "v1", mostOfKey = 100, mostInAll = 100, atMs } = writing;
  return await store.intents.setTransaction({ name, seen, version, intent, mostOfKey, mostInAll, atMs });
}

/** The intent alone, without version and time. */
async function kept(store: Store, name: TransactionIntentName): Promise<TransactionIntent | undefined> {
  const found = await store.intents.transaction(name);
  if (found === undefined) return undefined;
  const { version: _, usedAtMs: __, ...intent } = found;
  return intent;
}

export function transactionIntentContract({ store, anotherHandle, now, pass }: Subject): void {
  test("a transaction's intent comes back unchanged, whatever its fields", async () => {
    assert.equal(await store().intents.transaction(named("a")), undefined);
    const intents = [
      sampleTransactionIntent(),
      sampleTransactionIntent({ warning: "Süd ☃", isRejected: true }),
      sampleTransactionIntent({ envelopes: [], envelope: new Uint8Array() }),
      sampleTransactionIntent({ outcome: { hash: "cd".repeat(32), ledger: 4_294_967_295 } }),
    ];
    for (const [n, intent] of intents.entries()) {
      assert.equal(await write(store(), named(`a${n}`), intent), "written");
      assert.deepEqual(await kept(await anotherHandle(), named(`a${n}`)), intent);
    }
  });

  test("a transaction's intent takes an envelope of any length, also as a replacement of a longer one", async () => {
    let seen: string | undefined;
    for (const length of [MAX_ENVELOPE_BYTES, 50_000, 50_001, 100_001, 3, 0, MAX_ENVELOPE_BYTES]) {
      const intent = sampleTransactionIntent({ envelope: new Uint8Array(length).map((_, n) => n % 251) });
      const version = `length ${length} after ${seen}`.slice(0, 60);
      assert.equal(await write(store(), named("a"), intent, { seen, version }), "written");
      assert.deepEqual(await kept(store(), named("a")), intent, `${length} bytes`);
      seen = version;
    }
  });

  test("setTransaction rejects an intent beyond its bounds", async () => {
    const tooLong = sampleTransactionIntent({ envelope: new Uint8Array(MAX_ENVELOPE_BYTES + 1) });
    await assert.rejects(write(store(), named("a"), tooLong), RangeError);
    const [one] = sampleTransactionIntent().envelopes;
    const tooMany = sampleTransactionIntent({ envelopes: Array(MAX_INTENT_ENVELOPES + 1).fill(one) });
    await assert.rejects(write(store(), named("a"), tooMany), RangeError);
    await assert.rejects(write(store(), named("a b"), sampleTransactionIntent()), RangeError);
    assert.equal(await store().intents.transaction(named("a")), undefined);
  });

  test("setTransaction does not write an intent that was changed, made or deleted since it was seen", async () => {
    const [first, second] = [sampleTransactionIntent(), sampleTransactionIntent({ sequence: "7" })];
    assert.equal(await write(store(), named("a"), first, { seen: "v0" }), "changed");
    assert.equal(await write(store(), named("a"), first, { version: "v1" }), "written");
    assert.equal(await write(store(), named("a"), second), "changed");
    assert.equal(await write(await anotherHandle(), named("a"), second, { seen: "v1", version: "v2" }), "written");
    assert.equal(await write(store(), named("a"), first, { seen: "v1", version: "v3" }), "changed");
    assert.deepEqual(await kept(store(), named("a")), second);
    assert.equal((await store().intents.transaction(named("a")))!.version, "v2");
  });

  test("of simultaneous writes of a transaction's intent one succeeds", async () => {
    const other = await anotherHandle();
    for (const seen of [undefined, "first"]) {
      const all = Array.from({ length: 8 }, (_, n) => {
        const version = seen === undefined ? "first" : `v${n}`;
        return write(n % 2 ? store() : other, named("a"), sampleTransactionIntent({ sequence: String(n) }), {
          seen,
          version,
        });
      });
      const answers = await Promise.all(all);
      assert.deepEqual(answers.toSorted(), [...Array(7).fill("changed"), "written"]);
      const { sequence } = (await kept(store(), named("a")))!;
      assert.equal(sequence, String(answers.indexOf("written")));
    }
  });

  test("transactions' intents differ by API key and header, and from those of webhooks", async () => {
    const names = [named("a"), named("A"), named("a", "key2"), named("!".repeat(255))];
    for (const [n, name] of names.entries()) {
      await write(store(), name, sampleTransactionIntent({ sequence: String(n) }));
    }
    for (const [n, name] of names.entries()) assert.equal((await kept(store(), name))!.sequence, String(n));
    assert.equal(await store().intents.get({ ...named("a"), kind: "webhook" }), undefined);
  });

  test("transactions' intents count with the others, of a key and in all", async () => {
    const two = { mostOfKey: 2, mostInAll: 3 };
    const claiming = { seen: undefined, id: "i".repeat(22), request: "r", durationMs: MINUTE_MS, ...two };
    assert.equal(await write(store(), named("a"), sampleTransactionIntent(), two), "written");
    await store().intents.claim({ name: { ...named("a"), kind: "webhook" }, ...claiming });
    assert.equal(await write(store(), named("b"), sampleTransactionIntent(), two), "full");
    assert.equal(await write(store(), named("a"), sampleTransactionIntent(), { seen: "v1", ...two }), "written");
    assert.equal(await write(store(), named("a", "key2"), sampleTransactionIntent(), two), "written");
    assert.equal(await write(store(), named("b", "key2"), sampleTransactionIntent(), two), "full");
    assert.equal(await store().intents.claim({ name: { ...named("b", "key2"), kind: "replay" }, ...claiming }), "full");
    pass(MINUTE_MS);
    assert.equal(await store().intents.prune(now()), 3);
    assert.equal(await write(store(), named("b"), sampleTransactionIntent(), two), "written");
  });

  test("prune deletes whole intents of transactions last written before the time, 500 at a call", async () => {
    const most = { mostOfKey: 1e6, mostInAll: 1e6 };
    const intent = sampleTransactionIntent({ envelopes: [] });
    await Promise.all(Array.from({ length: 505 }, (_, n) => write(store(), named(`old-${n}`), intent, most)));
    const long = sampleTransactionIntent({ envelope: new Uint8Array(120_000).fill(7) });
    await write(store(), named("long"), long, most);
    pass(MINUTE_MS);
    await write(store(), named("old-1"), intent, { seen: "v1", version: "v2" });
    await write(store(), named("old-2"), intent, { seen: "v0", version: "v2" });
    assert.equal(await store().intents.prune(now()), 500);
    assert.equal(await store().intents.prune(now()), 5);
    assert.equal(await store().intents.prune(now()), 0);
    assert.deepEqual(await kept(store(), named("old-1")), intent);
    assert.equal(await store().intents.transaction(named("old-2")), undefined);
    await write(store(), named("long"), intent, { mostOfKey: 2, mostInAll: 2 });
    assert.deepEqual(await kept(store(), named("long")), intent);
  });

  test("the network's time counts for a transaction's intent while the store's clock is days behind", async () => {
    const atMs = now() + 40 * 1_440 * MINUTE_MS;
    await write(store(), named("a"), sampleTransactionIntent(), { atMs });
    await write(store(), named("a"), sampleTransactionIntent(), { seen: "v1", version: "v2" });
    assert.equal((await store().intents.transaction(named("a")))!.usedAtMs, atMs);
    assert.equal(await store().intents.prune(atMs), 0);
    assert.equal(await store().intents.prune(atMs + 1), 1);
  });
}
