import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease, Store } from "../../lib/store/store.ts";
import { append, sampleEvent, sampleState, sampleUndecoded, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { subscribe } from "./webhook_samples.ts";

const MINUTE_MS = 60_000;

function acquire(store: Store, name: string, holder: string, durationMs = MINUTE_MS): Promise<Lease | undefined> {
  return store.leases.acquire({ name, holder, durationMs });
}

export function leaseContract({ store, anotherHandle, pass, isShared }: Subject): void {
  test("one of several simultaneous callers acquires a lease, and no other caller while it lasts", async () => {
    const other = await anotherHandle();
    const wanting = Array.from({ length: 8 }, (_, n) => acquire(n % 2 ? store() : other, "watcher", `holder ${n}`));
    const [lease, ...more] = (await Promise.all(wanting)).filter((one) => one !== undefined);
    assert.equal(lease!.name, "watcher");
    assert.deepEqual(more, []);
    pass(MINUTE_MS - 1);
    assert.equal(await acquire(other, "watcher", "late"), undefined);
    assert.ok(await acquire(other, "another name", "late") !== undefined);
  });

  test("the term rises with every acquisition: after expiry, after a release, and by the same holder", async () => {
    const first = (await acquire(store(), "watcher", "a"))!;
    const own = (await acquire(store(), "watcher", "a"))!;
    pass(MINUTE_MS);
    const second = (await acquire(store(), "watcher", "b"))!;
    await store().leases.release([second]);
    const third = (await acquire(store(), "watcher", "c"))!;
    const terms = [first, own, second, third].map(({ term }) => term);
    assert.deepEqual(terms.toSorted((a, b) => a - b), terms);
    assert.equal(new Set(terms).size, 4);
  });

  test("renew prolongs the caller's leases, also expired ones, and returns them", async () => {
    const mine = async (name: string) => (await acquire(store(), name, "me"))!;
    const [a, b, c] = [await mine("a"), await mine("b"), await mine("c")];
    await store().leases.release([c]);
    pass(MINUTE_MS);
    await acquire(store(), "b", "other");
    assert.deepEqual(await store().leases.renew([a, b, c], MINUTE_MS), [a]);
    pass(MINUTE_MS - 1);
    assert.equal(await acquire(store(), "a", "other"), undefined);
    pass(1);
    assert.ok(await acquire(store(), "a", "other") !== undefined);
    assert.deepEqual(await store().leases.renew([a], MINUTE_MS), []);
    assert.deepEqual(await store().leases.renew([], MINUTE_MS), []);
  });

  test("release releases the caller's leases, and skips a lost one", async () => {
    const lost = (await acquire(store(), "a", "me"))!;
    const kept = (await acquire(store(), "b", "me"))!;
    pass(MINUTE_MS);
    const theirs = (await acquire(store(), "a", "other"))!;
    await store().leases.release([lost, kept]);
    assert.deepEqual(await store().leases.renew([theirs], MINUTE_MS), [theirs]);
    assert.ok(await acquire(store(), "b", "other") !== undefined);
  });

  test("the store fences every write under a lost or released lease", async () => {
    const other = await anotherHandle();
    await subscribe(store(), "wh_1");
    await append(store(), sampleEvent(1), sampleUndecoded(2));
    const name = "the one";
    const lost = (await acquire(store(), name, "me"))!;
    pass(MINUTE_MS);
    await acquire(other, name, "other");
    const returned = (await acquire(store(), "another", "me"))!;
    await store().leases.release([returned]);
    for (const lease of [lost, returned, { name: "unknown", term: 1 }, { ...lost, term: lost.term + 7 }]) {
      const isFenced = storeError("fenced", lease.name, store().location);
      const state = sampleState(9_999);
      await assert.rejects(store().events.append({ lease, events: [sampleEvent(3)], state }), isFenced);
      await assert.rejects(store().deliveries.settle({ leases: [lease], settlements: [] }), isFenced);
    }
    assert.equal((await store().events.bounds()).last, 1);
    assert.deepEqual(await store().events.watcherState(), sampleState(1_001));
    assert.equal((await store().events.undecoded({ limit: 9 })).length, 1);
  });

  test("an expired lease stays with its holder until another holder acquires it", async () => {
    const lease = (await acquire(store(), "watcher", "me"))!;
    pass(10 * MINUTE_MS);
    const step = { lease, events: [sampleEvent(1)], state: sampleState(1_001) };
    assert.equal((await store().events.append(step)).length, 1);
  });

  test("a lease whose end is too far ahead for its duration has expired, because the clock was set back", async () => {
    const lease = (await acquire(store(), "watcher", "me"))!;
    pass(-60 * MINUTE_MS);
    assert.ok(await acquire(store(), "watcher", "other") !== undefined);
    assert.deepEqual(await store().leases.renew([lease], MINUTE_MS), []);
    pass(60 * MINUTE_MS);
  });

  test("a lease whose end is at most ten minutes too far ahead is valid, because clocks differ", async () => {
    for (const [name, durationMs] of [["short", MINUTE_MS], ["long", 60 * MINUTE_MS]] as const) {
      await acquire(store(), name, "me", durationMs);
      pass(-10 * MINUTE_MS);
      assert.equal(await acquire(store(), name, "other", durationMs), undefined, name);
      pass(-1);
      assert.ok(await acquire(store(), name, "other", durationMs) !== undefined, name);
      pass(10 * MINUTE_MS + 1);
    }
  });

  test("a shared store takes no lock, and ends no lease", { skip: !isShared }, async () => {
    assert.equal(store().isShared, true);
    const other = await anotherHandle();
    const theirs = (await acquire(other, "watcher", "the other"))!;
    await other.holdForServing();
    await store().holdForServing();
    assert.equal(await acquire(store(), "watcher", "me"), undefined);
    assert.deepEqual(await other.leases.renew([theirs], MINUTE_MS), [theirs]);
  });

  test("the lock holder of a store acquires every lease, and a former lock holder's leases end", {
    skip: isShared,
  }, async () => {
    assert.equal(store().isShared, false);
    const other = await anotherHandle();
    const theirs = (await acquire(other, "watcher", "the killed one"))!;
    assert.equal(await acquire(store(), "watcher", "me"), undefined);
    await store().holdForServing();
    assert.deepEqual(await other.leases.renew([theirs], MINUTE_MS), []);
    const mine = (await acquire(store(), "watcher", "me"))!;
    assert.ok(mine.term > theirs.term);
    await store().holdForServing();
    assert.deepEqual(await store().leases.renew([mine], MINUTE_MS), [mine], "held already: nothing ends");
    assert.ok((await acquire(store(), "watcher", "another of this process"))!.term > mine.term);
  });
}
