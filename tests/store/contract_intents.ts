import assert from "node:assert/strict";
import { test } from "node:test";
import type { Intent, IntentClaim, IntentName } from "../../lib/store/intent.ts";
import type { Store } from "../../lib/store/store.ts";
import { storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { sampleReplay, sampleSubscription, subscribe } from "./webhook_samples.ts";

const MINUTE_MS = 60_000;
const REQUEST = "ab".repeat(32);

const named = (key: string, fields: Partial<IntentName> = {}): IntentName => {
  return { keyId: "key1", kind: "webhook", key, ...fields };
};
const idOf = (n: number) => String(n).padStart(22, "0");

interface Claiming {
  id?: string;
  request?: string;
  durationMs?: number;
  mostOfKey?: number;
  mostInAll?: number;
  atMs?: number;
}

/** Claims an intent as it is seen just before. */
async function claim(store: Store, name: IntentName, claiming: Claiming = {}) {
  return await claimAs(store, name, await store.intents.get(name), claiming);
}

async function claimAs(
  store: Store,
  name: IntentName,
  seen: Pick<Intent, "id" | "term"> | undefined,
  { id = idOf(1), request = REQUEST, durationMs = MINUTE_MS, mostOfKey = 100, mostInAll = 100, atMs }: Claiming = {},
) {
  return await store.intents.claim({ name, seen, id, request, durationMs, mostOfKey, mostInAll, atMs });
}

async function claimed(store: Store, name: IntentName, claiming: Claiming = {}): Promise<IntentClaim> {
  const answer = await claim(store, name, claiming);
  assert.ok(typeof answer === "object", `got ${JSON.stringify(answer)}`);
  return answer;
}

/** Claimed and completed. */
async function completed(store: Store, name: IntentName, result = "{}"): Promise<void> {
  await store.intents.complete(await claimed(store, name), { request: REQUEST, result });
}

/** Checks that the counts are exact. */
const roomFor = async (store: Store, name: IntentName, most: number) =>
  await claimAs(store, name, undefined, { mostOfKey: most, mostInAll: most });

export function intentContract({ store, anotherHandle, now, pass, isPersistent }: Subject): void {
  test("a claim also holds against a clock that is some milliseconds behind", async () => {
    await claimed(store(), named("a"));
    pass(-5);
    assert.equal((await store().intents.get(named("a")))!.claimedForMs, MINUTE_MS);
    assert.equal(await claim(store(), named("a"), { id: idOf(2) }), "taken");
  });

  test("the first claim makes an intent, and there is none before", async () => {
    assert.equal(await store().intents.get(named("a")), undefined);
    assert.deepEqual(await claimed(store(), named("a")), { ...named("a"), id: idOf(1), term: 1 });
    const made = { id: idOf(1), term: 1, request: REQUEST, claimedForMs: MINUTE_MS };
    assert.deepEqual(await store().intents.get(named("a")), made);
    pass(MINUTE_MS - 1);
    assert.equal((await store().intents.get(named("a")))!.claimedForMs, 1);
  });

  test("intents differ by API key, kind and header", async () => {
    const names = [
      named("a"),
      named("A"),
      named("a", { keyId: "key2" }),
      named("a", { kind: "replay" }),
      named("!".repeat(255)),
    ];
    for (const [n, name] of names.entries()) await claimed(store(), name, { id: idOf(n) });
    for (const [n, name] of names.entries()) assert.equal((await store().intents.get(name))!.id, idOf(n));
  });

  test("of simultaneous claims one wins, and all others fail while it lasts", async () => {
    const other = await anotherHandle();
    const all = Array.from(
      { length: 8 },
      (_, n) => claimAs(n % 2 ? store() : other, named("a"), undefined, { id: idOf(n) }),
    );
    const answers = await Promise.all(all);
    const [first, ...more] = answers.filter((answer) => typeof answer === "object");
    assert.deepEqual(more, []);
    assert.equal(answers.filter((answer) => answer === "taken").length, 7);
    assert.equal((await other.intents.get(named("a")))!.id, first!.id);
    pass(MINUTE_MS - 1);
    assert.equal(await claim(other, named("a")), "taken");
    pass(1);
    const again = await claimed(other, named("a"), { id: idOf(99), request: "cd".repeat(32) });
    assert.deepEqual(again, { ...named("a"), id: first!.id, term: 2 });
    assert.equal((await store().intents.get(named("a")))!.request, REQUEST, "it keeps its own");
  });

  test("an intent that changed since it was seen cannot be claimed", async () => {
    const first = await claimed(store(), named("a"));
    const seen = (await store().intents.get(named("a")))!;
    await store().intents.complete(first, { request: REQUEST, result: "1" });
    const second = await claimed(store(), named("a"));
    await store().intents.complete(second, { request: REQUEST, result: "2" });
    assert.equal(await claimAs(store(), named("a"), seen), "taken");
    assert.equal(await claimAs(store(), named("a"), undefined), "taken");
    assert.equal(await claimAs(store(), named("b"), seen), "taken");
  });

  test("an intent that was completed since it was seen cannot be claimed, even if its claim had expired", async () => {
    const slow = await claimed(store(), named("a"));
    pass(10 * MINUTE_MS);
    const seen = (await store().intents.get(named("a")))!;
    assert.equal(seen.claimedForMs, 0);
    await store().intents.complete(slow, { request: REQUEST, result: "slow" });
    assert.equal(await claimAs(await anotherHandle(), named("a"), seen), "taken");
    assert.equal((await store().intents.get(named("a")))!.result, "slow");
  });

  test("complete writes request and result and ends the claim; the next claim keeps them", async () => {
    const claim = await claimed(store(), named("a"));
    const result = `{"passphrase":"Süd ☃","text":"${"x".repeat(59_000)}"}`;
    await store().intents.complete(claim, { request: "cd".repeat(32), result });
    const done = { id: idOf(1), term: 2, request: "cd".repeat(32), claimedForMs: 0, result };
    assert.deepEqual(await store().intents.get(named("a")), done);
    await claimed(store(), named("a"));
    assert.deepEqual(await store().intents.get(named("a")), { ...done, term: 3, claimedForMs: MINUTE_MS });
  });

  test("an expired claim may complete until another caller has claimed", async () => {
    const slow = await claimed(store(), named("a"));
    pass(10 * MINUTE_MS);
    await store().intents.complete(slow, { request: REQUEST, result: "slow" });
    assert.equal((await store().intents.get(named("a")))!.result, "slow");
  });

  test("a lost claim is fenced, and writes nothing: another caller claimed the intent, or made it again after its deletion", async () => {
    const lost = await claimed(store(), named("a"));
    pass(MINUTE_MS);
    const theirs = await claimed(await anotherHandle(), named("a"));
    const isFenced = storeError("fenced", store().location);
    await assert.rejects(store().intents.complete(lost, { request: REQUEST, result: "lost" }), isFenced);
    await store().intents.release(lost);
    assert.equal((await store().intents.get(named("a")))!.claimedForMs, MINUTE_MS);
    await store().intents.release(theirs);
    await assert.rejects(store().intents.complete(theirs, { request: REQUEST, result: "gone" }), isFenced);
    const anew = await claimed(store(), named("a"), { id: idOf(2) });
    assert.equal(anew.term, lost.term);
    await assert.rejects(store().intents.complete(lost, { request: REQUEST, result: "lost" }), isFenced);
    await store().intents.release(lost);
    await store().intents.complete(anew, { request: REQUEST, result: "mine" });
    assert.equal((await store().intents.get(named("a")))!.result, "mine");
  });

  test("subscriptions.insert under a lost claim is fenced, and writes nothing, also for an existing subscription", async () => {
    const lost = await claimed(store(), named("a", { kind: "webhook" }));
    pass(MINUTE_MS);
    const newest = await claimed(await anotherHandle(), named("a", { kind: "webhook" }));
    const subscription = sampleSubscription("wh_1");
    const version = await store().subscriptions.version();
    const isFenced = storeError("fenced", store().location);
    await assert.rejects(store().subscriptions.insert(subscription, 9, lost), isFenced);
    assert.equal(await store().subscriptions.version(), version);
    await store().subscriptions.insert(subscription, 9, newest);
    assert.deepEqual(await store().subscriptions.get("wh_1"), subscription);
    await assert.rejects(store().subscriptions.insert(subscription, 9, lost), isFenced);
    await store().intents.complete(newest, { request: REQUEST, result: "wh_1" });
    await store().subscriptions.delete("wh_1");
    await assert.rejects(store().subscriptions.insert(subscription, 9, lost), isFenced);
    assert.equal(await store().subscriptions.get("wh_1"), undefined);
    await store().intents.release(await claimed(store(), named("b", { kind: "webhook" })));
    await assert.rejects(
      store().subscriptions.insert(subscription, 9, { ...named("b", { kind: "webhook" }), id: idOf(1), term: 1 }),
      isFenced,
    );
  });

  test("release deletes an intent without a result, and keeps one with a result", async () => {
    await store().intents.release(await claimed(store(), named("a")));
    assert.equal(await store().intents.get(named("a")), undefined);
    await completed(store(), named("b"), "kept");
    await store().intents.release(await claimed(store(), named("b")));
    const { result, claimedForMs } = (await store().intents.get(named("b")))!;
    assert.deepEqual([result, claimedForMs], ["kept", 0]);
    await claimed(store(), named("b"));
  });

  test("a new intent is rejected when a key, or the store, has the most it may have", async () => {
    const two = { mostOfKey: 2, mostInAll: 3 };
    await claimed(store(), named("a"), two);
    await claimed(store(), named("b"), two);
    assert.equal(await claim(store(), named("c"), two), "full");
    await claimed(store(), named("a", { keyId: "key2" }), two);
    assert.equal(await claim(store(), named("b", { keyId: "key2" }), two), "full");
    assert.equal(await store().intents.get(named("b", { keyId: "key2" })), undefined);
    pass(MINUTE_MS);
    const again = await claimed(store(), named("a"), { mostOfKey: 0, mostInAll: 0 });
    await store().intents.release(again);
    await claimed(store(), named("c"), two);
  });

  test("prune deletes intents last claimed or completed before the time, 500 at a call, and returns their number", async () => {
    const start = await Promise.all(
      Array.from({ length: 612 }, (_, n) =>
        claimAs(store(), named(`old-${n}`, { keyId: `key${n % 2}` }), undefined, {
          id: idOf(n),
          mostOfKey: 1e6,
          mostInAll: 1e6,
        })),
    );
    assert.ok(start.every((answer) => typeof answer === "object"));
    pass(MINUTE_MS);
    await completed(store(), named("old-1"));
    const made = await claimed(store(), named("never-completed"), { mostOfKey: 1e6, mostInAll: 1e6 });
    const nowMs = now();
    assert.equal(await store().intents.prune(nowMs), 500);
    assert.equal(await store().intents.prune(nowMs), 111);
    assert.equal(await store().intents.prune(nowMs), 0);
    assert.equal((await store().intents.get(named("old-1")))!.result, "{}");
    assert.equal(await store().intents.get(named("old-3")), undefined);
    await store().intents.complete(made, { request: REQUEST, result: "late" });
    assert.equal(await roomFor(store(), named("one-more"), 2), "full");
    assert.ok(typeof await roomFor(store(), named("one-more"), 3) === "object");
  });

  test("the network's time counts for an intent completed while the store's clock was days behind", async () => {
    const claim = await claimed(store(), named("behind"));
    const atMs = now() + 40 * 1_440 * MINUTE_MS;
    await store().intents.complete(claim, { request: REQUEST, result: "{}", atMs });
    assert.equal(await store().intents.prune(atMs), 0);
    assert.equal(await store().intents.prune(atMs + 1), 1);
  });

  test("the network's time counts for an intent claimed while the store's clock was days behind", async () => {
    const atMs = now() + 40 * 1_440 * MINUTE_MS;
    await claimed(store(), named("made"), { atMs });
    await completed(store(), named("again"));
    await claimed(store(), named("again"), { atMs });
    assert.equal(await store().intents.prune(atMs), 0);
    assert.equal(await store().intents.prune(atMs + 1), 2);
  });

  test("a use by a clock that is days behind does not shorten an intent's life", async () => {
    const atMs = now() + 40 * 1_440 * MINUTE_MS;
    await store().intents.complete(await claimed(store(), named("a")), { request: REQUEST, result: "{}", atMs });
    const again = await claimed(store(), named("a"));
    assert.equal(await store().intents.prune(atMs), 0);
    await store().intents.complete(again, { request: REQUEST, result: "{}" });
    assert.equal(await store().intents.prune(atMs), 0);
    assert.equal(await store().intents.prune(atMs + 1), 1);
  });

  test("prune keeps an intent that is claimed again", async () => {
    await claimed(store(), named("a"));
    pass(MINUTE_MS);
    const again = await claimed(store(), named("a"));
    assert.equal(await store().intents.prune(now()), 0);
    await store().intents.complete(again, { request: REQUEST, result: "mine" });
    assert.equal(await store().intents.prune(now()), 0);
    assert.equal((await store().intents.get(named("a")))!.result, "mine");
  });

  test("nonces continue after the used one, and none is issued twice while it may be used", async () => {
    const other = await anotherHandle();
    const next = (used: string, of = store()) =>
      of.intents.nextNonce({ deviceHash: "d", agent: "a", used, validForMs: MINUTE_MS });
    assert.equal(await next("0"), "1");
    assert.equal(await next("41"), "42");
    const many = await Promise.all(Array.from({ length: 20 }, (_, n) => next("42", n % 2 ? other : store())));
    assert.deepEqual(new Set(many).size, 20);
    assert.deepEqual(many.map(BigInt).toSorted((a, b) => Number(a - b)).at(-1), 62n);
    assert.equal(await next("60"), "63");
    const ofAnother = { deviceHash: "e", agent: "a", used: "7", validForMs: MINUTE_MS };
    assert.equal(await store().intents.nextNonce(ofAnother), "8");
    assert.equal(await store().intents.nextNonce({ ...ofAnother, agent: "b" }), "8");
    pass(MINUTE_MS);
    assert.equal(await next("60"), "61");
  });

  test("nonces end at 64 bits, and stay exact up to there", async () => {
    const next = (used: bigint) =>
      store().intents.nextNonce({ deviceHash: "d", agent: "a", used: used.toString(), validForMs: MINUTE_MS });
    assert.equal(await next(2n ** 64n - 3n), String(2n ** 64n - 2n));
    assert.equal(await next(2n ** 64n - 3n), String(2n ** 64n - 1n));
    assert.equal(await next(2n ** 64n - 3n), String(2n ** 64n - 1n));
  });

  test("prune deletes expired nonces, with the intents 500 at a call", async () => {
    const next = (n: number) =>
      store().intents.nextNonce({ deviceHash: `d${n}`, agent: "a", used: "0", validForMs: MINUTE_MS });
    for (let n = 0; n < 3; n++) await next(n);
    pass(MINUTE_MS - 1);
    await next(0);
    await completed(store(), named("a"));
    pass(1);
    assert.equal(await store().intents.prune(now()), 3);
    assert.equal(await store().intents.prune(now()), 0);
    assert.equal(await next(0), "3");
    assert.equal(await next(1), "1");
  });

  test("deliveries.insertReplay under a lost claim is fenced, and writes nothing", async () => {
    await subscribe(store(), "wh_1");
    const lost = await claimed(store(), named("a", { kind: "replay" }));
    pass(MINUTE_MS);
    const newest = await claimed(await anotherHandle(), named("a", { kind: "replay" }));
    const version = await store().subscriptions.version();
    const isFenced = storeError("fenced", store().location);
    const replayOf = async () => (await store().deliveries.consumer("wh_1"))!.replay;
    await assert.rejects(store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"), lost), isFenced);
    assert.deepEqual([await replayOf(), await store().subscriptions.version()], [null, version]);
    assert.equal(await store().deliveries.insertReplay(sampleReplay("rp_2", "wh_1"), newest), true);
    await assert.rejects(store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"), lost), isFenced);
    await store().intents.complete(newest, { request: REQUEST, result: "rp_2" });
    await assert.rejects(store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"), newest), isFenced);
    assert.equal((await replayOf())!.id, "rp_2");
  });

  test("the claims of a former lock holder are over once the store is locked for serving", async () => {
    if (!isPersistent || store().isShared) return;
    const other = await anotherHandle();
    const theirs = await claimed(other, named("a"));
    assert.equal(await claim(store(), named("a")), "taken");
    await store().holdForServing();
    const mine = await claimed(store(), named("a"));
    const isFenced = storeError("fenced", "webhook");
    await assert.rejects(other.intents.complete(theirs, { request: REQUEST, result: "theirs" }), isFenced);
    assert.equal(await claim(store(), named("a")), "taken", "one's own keeps others off");
    await store().intents.complete(mine, { request: REQUEST, result: "mine" });
  });
}
