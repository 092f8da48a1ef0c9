import assert from "node:assert/strict";
import { test } from "node:test";
import type { Intent, IntentName, KeptIntent, NewIntent } from "../../lib/store/intent.ts";
import { MAX_ENVELOPE_BYTES, MAX_STATE_BYTES } from "../../lib/store/intent.ts";
import type { Store } from "../../lib/store/store.ts";
import type { Subject } from "./store_contract.ts";
import { sampleReplay, sampleSubscription, subscribe } from "./webhook_samples.ts";

const MINUTE_MS = 60_000;
const REQUEST = "ab".repeat(32);

const named = (key: string, fields: Partial<IntentName> = {}): IntentName => {
  return { keyId: "key1", kind: "transaction", key, ...fields };
};

type Writing = Partial<Omit<NewIntent, "name" | "intent"> & Intent & { seen: string }>;

const newIntent = (name: IntentName, { request = REQUEST, state = {}, envelope, ...step }: Writing = {}): NewIntent => {
  const intent = { request, state, ...(envelope === undefined ? {} : { envelope }) };
  return { name, version: "v1", intent, mostOfKey: 100, mostInAll: 100, ...step };
};

async function write(store: Store, name: IntentName, writing: Writing = {}) {
  return await store.intents.set({ seen: writing.seen, ...newIntent(name, writing) });
}

/** The intent alone, without version and time. */
async function kept(store: Store, name: IntentName): Promise<Intent | undefined> {
  const found = await store.intents.get(name);
  if (found === undefined) return undefined;
  const { version: _, usedAtMs: __, ...intent } = found;
  return intent;
}

export function intentContract({ store, anotherHandle, now, pass }: Subject): void {
  test("an intent with any fields comes back unchanged", async () => {
    assert.equal(await store().intents.get(named("a")), undefined);
    const state = { warning: "Süd ☃", isRejected: true, many: Array(100).fill({ hash: REQUEST, n: 2 ** 53 - 1 }) };
    const intents: Intent[] = [
      { request: REQUEST, state, envelope: new Uint8Array([0, 1, 2, 255]) },
      { request: REQUEST, state: "wh_1" },
      { request: REQUEST, state: null, envelope: new Uint8Array() },
      { request: REQUEST, state: "é".repeat(29_000), envelope: new Uint8Array(MAX_ENVELOPE_BYTES).fill(7) },
    ];
    for (const [n, intent] of intents.entries()) {
      assert.equal(await write(store(), named(`a${n}`), intent), "written");
      assert.deepEqual(await kept(await anotherHandle(), named(`a${n}`)), intent);
    }
  });

  test("an intent takes an envelope of any length, also as a replacement of a longer one", async () => {
    let seen: string | undefined;
    for (const length of [MAX_ENVELOPE_BYTES, 50_000, undefined, 50_001, 100_001, 3, 0, MAX_ENVELOPE_BYTES]) {
      const envelope = length === undefined ? {} : { envelope: new Uint8Array(length).map((_, n) => n % 251) };
      const intent = { request: REQUEST, state: length ?? null, ...envelope };
      const version = `length ${length} after ${seen}`.slice(0, 60);
      assert.equal(await write(store(), named("a"), { ...intent, seen, version }), "written");
      assert.deepEqual(await kept(store(), named("a")), intent, `${length} bytes`);
      seen = version;
    }
  });

  test("an intent beyond its bounds is rejected", async () => {
    const isRangeError = (step: Writing, key = "a") => assert.rejects(write(store(), named(key), step), RangeError);
    await isRangeError({ envelope: new Uint8Array(MAX_ENVELOPE_BYTES + 1) });
    await isRangeError({ state: "é".repeat(MAX_STATE_BYTES / 2) });
    await isRangeError({}, "a b");
    assert.equal(await store().intents.get(named("a")), undefined);
  });

  test("a write of an intent that was changed, created or deleted since its read writes nothing", async () => {
    assert.equal(await write(store(), named("a"), { state: 1, seen: "v0" }), "changed");
    assert.equal(await write(store(), named("a"), { state: 1 }), "written");
    assert.equal(await write(store(), named("a"), { state: 2 }), "changed");
    assert.equal(await write(await anotherHandle(), named("a"), { state: 2, seen: "v1", version: "v2" }), "written");
    assert.equal(await write(store(), named("a"), { state: 1, seen: "v1", version: "v3" }), "changed");
    const { version, state } = (await store().intents.get(named("a")))!;
    assert.deepEqual([version, state], ["v2", 2]);
  });

  test("one of several simultaneous writes of an intent succeeds", async () => {
    const other = await anotherHandle();
    for (const seen of [undefined, "first"]) {
      const all = Array.from({ length: 8 }, (_, n) => {
        const version = seen === undefined ? "first" : `v${n}`;
        return write(n % 2 ? store() : other, named("a"), { state: n, seen, version });
      });
      const answers = await Promise.all(all);
      assert.deepEqual(answers.toSorted(), [...Array(7).fill("changed"), "written"]);
      assert.equal((await kept(store(), named("a")))!.state, answers.indexOf("written"));
    }
  });

  test("intents differ by API key, kind and header", async () => {
    const names = [
      named("a"),
      named("A"),
      named("a", { keyId: "key2" }),
      named("a", { kind: "webhook" }),
      named("a", { kind: "replay" }),
      named("!".repeat(255)),
    ];
    for (const [n, name] of names.entries()) await write(store(), name, { state: n });
    for (const [n, name] of names.entries()) assert.equal((await kept(store(), name))!.state, n);
  });

  test("a new intent is refused when its key or the store has its maximum", async () => {
    const two = { mostOfKey: 2, mostInAll: 3 };
    const ofAnother = { keyId: "key2" };
    assert.equal(await write(store(), named("a"), two), "written");
    assert.equal(await write(store(), named("a", { kind: "webhook" }), two), "written");
    assert.equal(await write(store(), named("b"), two), "full");
    assert.equal(await write(store(), named("a"), { seen: "v1", ...two }), "written");
    assert.equal(await write(store(), named("a", ofAnother), two), "written");
    assert.equal(await write(store(), named("b", ofAnother), two), "full");
    assert.equal(await write(store(), named("a", ofAnother), two), "changed", "it exists already");
    assert.equal(await store().intents.get(named("b", ofAnother)), undefined);
    pass(MINUTE_MS);
    assert.equal(await store().intents.prune(now()), 3);
    assert.equal(await write(store(), named("b"), two), "written");
  });

  test("a subscription and its intent are written together or not at all", async () => {
    const other = await anotherHandle();
    const name = named("a", { kind: "webhook" });
    const insert = (of: Store, id: string, fields: Writing = {}) =>
      of.subscriptions.insert(sampleSubscription(id), 2, newIntent(name, { state: id, ...fields }));
    assert.equal(await insert(store(), "wh_1", { mostOfKey: 0 }), "full");
    assert.equal(await store().subscriptions.get("wh_1"), undefined);
    const made = await Promise.all(["wh_1", "wh_2", "wh_3"].map((id, n) => insert(n % 2 ? store() : other, id)));
    assert.deepEqual(made.toSorted(), ["changed", "changed", "written"]);
    const [one, ...more] = await store().subscriptions.list({ limit: 9 });
    assert.deepEqual([(await kept(store(), name))!.state, more], [one!.id, []]);
    await store().subscriptions.delete(one!.id);
    assert.equal(await insert(store(), one!.id), "changed", "it is not made again after its deletion");
    await subscribe(store(), "wh_8", "wh_9");
    const another = named("b", { kind: "webhook" });
    await assert.rejects(store().subscriptions.insert(sampleSubscription("wh_4"), 2, newIntent(another)));
    assert.equal(await store().intents.get(another), undefined);
  });

  test("a replay and its intent are written together or not at all", async () => {
    await subscribe(store(), "wh_1");
    const name = named("a", { kind: "replay" });
    const insert = (id: string, webhook: string, of = name) =>
      store().deliveries.insertReplay(sampleReplay(id, webhook), newIntent(of, { state: id }));
    assert.equal(await insert("rp_0", "wh_gone"), "missing");
    assert.equal(await store().intents.get(name), undefined);
    assert.equal(await insert("rp_1", "wh_1"), "written");
    const version = await store().subscriptions.version();
    assert.equal(await insert("rp_2", "wh_1"), "changed");
    assert.equal(await store().subscriptions.version(), version);
    assert.equal((await store().deliveries.consumer("wh_1"))!.replay!.id, "rp_1");
    assert.equal((await kept(store(), name))!.state, "rp_1");
    const another = named("b", { kind: "replay" });
    await assert.rejects(insert("rp_3", "wh_1", another));
    assert.equal(await store().intents.get(another), undefined);
  });

  test("prune deletes whole intents last written before the time, 500 at a call", async () => {
    const most = { mostOfKey: 1e6, mostInAll: 1e6 };
    await Promise.all(
      Array.from({ length: 505 }, (_, n) => write(store(), named(`old-${n}`, { keyId: `key${n % 2}` }), most)),
    );
    await write(store(), named("long"), { envelope: new Uint8Array(120_000).fill(7), ...most });
    pass(MINUTE_MS);
    await write(store(), named("old-1"), { seen: "v1", version: "v2" });
    await write(store(), named("old-3"), { seen: "v0", version: "v2" });
    assert.equal(await store().intents.prune(now()), 500);
    assert.equal(await store().intents.prune(now()), 5);
    assert.equal(await store().intents.prune(now()), 0);
    assert.equal((await store().intents.get(named("old-1")))!.version, "v2");
    assert.equal(await store().intents.get(named("old-3")), undefined);
    const short = { request: REQUEST, state: {}, envelope: new Uint8Array([1]) };
    assert.equal(await write(store(), named("long"), { ...short, mostOfKey: 2, mostInAll: 2 }), "written");
    assert.deepEqual(await kept(store(), named("long")), short);
    assert.equal(await write(store(), named("more"), { mostOfKey: 2, mostInAll: 2 }), "full");
  });

  test("an intent's life follows the network's time while the store's clock is days behind, and no later use shortens it", async () => {
    const atMs = now() + 40 * 1_440 * MINUTE_MS;
    await write(store(), named("a"), { atMs });
    await write(store(), named("a"), { seen: "v1", version: "v2" });
    assert.equal((await store().intents.get(named("a")))!.usedAtMs, atMs);
    assert.equal(await store().intents.prune(atMs), 0);
    assert.equal(await store().intents.prune(atMs + 1), 1);
  });

  test("the store lists every intent unchanged", async () => {
    const { intents } = store();
    for (const n of [0, 1, 2, 3, 4]) {
      const name = named(`o${n}`, { keyId: `k${n % 2}`, kind: n % 3 === 0 ? "webhook" : "transaction" });
      const envelope = n === 0 ? undefined : new Uint8Array(n === 1 ? 140_000 : n).fill(n);
      await write(store(), name, { state: `é${n}`, envelope, version: `v${n}` });
    }
    const found: (IntentName & KeptIntent)[] = [];
    for (let page = await intents.list({ limit: 2 }); page.length > 0;) {
      assert.ok(page.length <= 2);
      found.push(...page);
      page = await intents.list({ after: found.at(-1), limit: 2 });
    }
    assert.deepEqual(found.map(({ version }) => version).sort(), ["v0", "v1", "v2", "v3", "v4"]);
    for (const { keyId, kind, key, ...one } of found) assert.deepEqual(one, await intents.get({ keyId, kind, key }));
  });
}
