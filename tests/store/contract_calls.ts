import assert from "node:assert/strict";
import { test } from "node:test";
import { BOUNDS } from "../../lib/store/bounds.ts";
import type { Store } from "../../lib/store/store.ts";
import {
  append,
  poisoned,
  sampleEvent,
  sampleKey,
  sampleState,
  sampleUndecoded,
  storeError,
  watcherLease,
} from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  endedOf,
  sampleAttempt,
  sampleFailed,
  sampleSubscription,
  settle,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";

/** The contract of every call of any noun. */
export function callContract({ store, location, anotherHandle }: Subject): void {
  test("location names the scheme and an absolute path, or a URL without credentials", () => {
    assert.equal(store().location, location());
  });

  test("a store has its own id of 12 letters and digits, the same for every handle", async () => {
    assert.match(store().id, /^[0-9A-Za-z]{12}$/);
    assert.equal((await anotherHandle()).id, store().id);
  });

  test("holdForServing can be called again by its holder", async () => {
    await store().holdForServing();
    await Promise.all([store().holdForServing(), store().holdForServing()]);
  });

  test("a closed store rejects every call as unavailable, and a second close does nothing", async () => {
    const closed = store();
    await closed.holdForServing();
    await closed.close();
    await closed.close();
    const isClosed = storeError("unavailable", "closed", closed.location);
    await assert.rejects(closed.holdForServing(), isClosed);
    const calls = callsOfAll(closed);
    for (const call of calls) await assert.rejects(call(), isClosed);
  });

  test("close waits for calls under way", async () => {
    const outcomes = Promise.allSettled([
      store().keys.insert(sampleKey("a")),
      store().submissions.record({ hash: "ab", validUntil: 1, submittedAtMs: 1 }),
      store().buckets.prune(1),
    ]);
    await store().close();
    assert.deepEqual((await outcomes).map(({ status }) => status), ["fulfilled", "fulfilled", "fulfilled"]);
  });

  test("an observer gets each call's duration and kind of failure until another observer replaces it", async () => {
    const observed: [string, number, string | undefined][] = [];
    store().observe({ called: (...call) => void observed.push([call[0], call[1], call[2]]) });
    await store().keys.insert(sampleKey("a"));
    await assert.rejects(store().keys.insert(sampleKey("a")));
    await store().deliveries.consumer("wh_1");
    assert.deepEqual(observed.map(([method, , failure]) => [method, failure]), [
      ["keys.insert", undefined],
      ["keys.insert", "exists"],
      ["deliveries.consumer", undefined],
    ]);
    for (const [, durationMs] of observed) assert.ok(durationMs >= 0 && durationMs < 60_000);
    const later: string[] = [];
    store().observe({ called: (method) => void later.push(method) });
    await store().keys.version();
    assert.deepEqual([observed.length, later], [3, ["keys.version"]]);
  });

  test("a call that exceeds a bound is a RangeError, and does not reach the store or its observer", async () => {
    const observed: string[] = [];
    const [lease] = await workerLeases(store(), "wh_1");
    store().observe({ called: (method) => void observed.push(method) });
    const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
    const { keys, buckets, submissions, references, leases, events, subscriptions, deliveries, intents } = store();
    const { sharedState, payments, transactions } = store();
    const step = (attempts: number, failed: number, delivered: number) => ({
      leases: [lease!],
      settlements: [{
        subscriptionId: "wh_1",
        attempts: many(attempts, sampleAttempt(1)),
        failed: many(failed, sampleFailed(1, "dead")),
        delivered: many(delivered, 1),
      }],
    });
    const beyond: [number, () => Promise<unknown>][] = [
      [500, () => keys.touch(many(501, { id: "a", lastUsedAt: "" }))],
      [1_000, () => references.find(many(1_001, "ab"))],
      [1_000, () => transactions.find(many(1_001, "ab"))],
      [500, () => references.delete(many(501, { hash: "ab", keyId: "k", reference: "r", preparedAtMs: 1 }))],
      [500, () => buckets.save(many(501, { keyId: "a", tokens: 1, updatedAtMs: 1 }))],
      [10, () => leases.renew(many(11, lease!), 1)],
      [10, () => leases.release(many(11, lease!))],
      [100, () => events.append({ lease: lease!, events: many(101, sampleEvent(1)), state: sampleState(1) })],
      [100, () => events.forget({ upTo: 0, undelivered: many(101, { subscriptionId: "wh_1", cursor: 0, events: 1 }) })],
      [100, () => subscriptions.setSecrets({ secrets: many(101, { ...sampleSubscription("a"), expectedSecret: "" }) })],
    ];
    for (const [most, call] of beyond) {
      await assert.rejects(call(), (error: unknown) => {
        return error instanceof RangeError && error.message.startsWith(`a call must have at most ${most} items`);
      });
    }
    for (const [attempts, failed, delivered] of [[900, 0, 0], [0, 225, 0], [0, 150, 100]] as const) {
      const writes = 1 + attempts + 4 * failed + 3 * delivered;
      const message = `settlements must have at most 900 writes; got ${writes}`;
      await assert.rejects(deliveries.settle(step(attempts, failed, delivered)), new RangeError(message));
    }
    const query = { after: 0, upTo: 0, inFlight: [], nowMs: 0 };
    await assert.rejects(
      deliveries.next(sampleSubscription("wh_1"), { ...query, limit: 1 }),
      new RangeError("limit must be at least 2; got 1"),
    );
    const limited: [number, (limit: number) => Promise<unknown>][] = [
      [1_000, (limit) => keys.list({ limit })],
      [1_000, (limit) => events.read({ filter: {}, order: "asc", limit })],
      [10_000, (limit) => events.count({ filter: {}, limit })],
      [100, (limit) => events.undecoded({ limit })],
      [1_000, (limit) => subscriptions.list({ limit })],
      [500, (limit) => deliveries.consumers({ limit })],
      [200, (limit) => deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit })],
      [200, (limit) => deliveries.next(sampleSubscription("wh_1"), { ...query, limit })],
      [200, (limit) => deliveries.attempts("wh_1", { limit })],
      [500, (limit) => submissions.withoutOutcome({ limit })],
      [500, (limit) => submissions.list({ limit })],
      [500, (limit) => references.list({ limit })],
      [1_000, (limit) => references.ofReference({ keyId: "k", reference: "r", order: "asc", limit })],
      [1_000, (limit) => references.keysOf({ reference: "r", limit })],
      [1_000, (limit) => transactions.list({ keyId: "k", filter: {}, order: "asc", limit })],
      [1_000, (limit) => transactions.all({ limit })],
      [500, (limit) => intents.list({ limit })],
      [500, (limit) => sharedState.list({ limit })],
      [1_000, (limit) => payments.list({ filter: {}, order: "asc", limit })],
      [1_000, (limit) => payments.due({ for: "end", upToLedger: 1, limit })],
      [1_000, (limit) => payments.owing({ limit })],
    ];
    for (const [most, call] of limited) {
      for (const limit of [0, -1, 1.5, most + 1, NaN]) {
        const message = `limit must be an integer from 1 to ${most}; got ${limit}`;
        await assert.rejects(call(limit), new RangeError(message));
      }
    }
    assert.deepEqual(observed, []);
    for (const [most, call] of limited) await call(most);
    assert.equal(observed.length, limited.length);
  });

  test("settle needs the lease of every partition concerned, and a due time only in the state retrying", async () => {
    await subscribe(store(), "wh_1");
    await append(store(), sampleEvent(1));
    const leases = await workerLeases(store(), "wh_1");
    const one = { subscriptionId: "wh_1", attempts: [] };
    await assert.rejects(store().deliveries.settle({ leases: [], settlements: [one] }), RangeError);
    for (const failed of [sampleFailed(1, "retrying", { dueAtMs: null }), sampleFailed(1, "dead", { dueAtMs: 5 })]) {
      const settling = store().deliveries.settle({ leases, settlements: [{ ...one, failed: [failed] }] });
      await assert.rejects(settling, RangeError);
    }
    assert.equal((await store().deliveries.consumer("wh_1"))!.progress.retrying, 0);
  });

  test("a write that rejects has written nothing", async () => {
    await subscribe(store(), "wh_1");
    await append(store(), sampleEvent(1), sampleUndecoded(2));
    const lease = await watcherLease(store());
    const state = sampleState(1_077);
    const bucket = { keyId: "a", tokens: 1, updatedAtMs: 1 };
    const steps: (() => Promise<unknown>)[] = [
      () => store().events.append({ lease, events: [sampleEvent(2), poisoned(sampleEvent(3), "txHash")], state }),
      () =>
        settle(store(), {
          ...{ subscriptionId: "wh_1", cursor: 1, failed: [sampleFailed(1, "dead")] },
          attempts: [sampleAttempt(1), poisoned(sampleAttempt(2), "error")],
        }),
      () => store().buckets.save([bucket, poisoned({ ...bucket, keyId: "b" }, "tokens")]),
      () => store().subscriptions.insert(poisoned(sampleSubscription("wh_2"), "createdAt"), 10),
      () => store().keys.insert(poisoned(sampleKey("b"), "createdAt")),
    ];
    const kept = async () => [
      await store().events.read({ filter: {}, order: "asc", limit: 9 }),
      await store().events.watcherState(),
      await store().events.undecoded({ limit: 9 }),
      await store().deliveries.consumers({ limit: 9 }),
      await endedOf(store(), { subscriptionId: "wh_1", limit: 9 }),
      await store().deliveries.attempts("wh_1", { limit: 9 }),
      await store().buckets.load(),
      await store().keys.list({ limit: 9 }),
      await store().keys.version(),
      await store().subscriptions.version(),
    ];
    const before = await kept();
    for (const step of steps) await assert.rejects(step(), /poisoned/);
    assert.deepEqual(await kept(), before);
  });
}

/** A call of every method there is, with arguments that are within its bounds. */
function callsOfAll(store: Store): (() => Promise<unknown>)[] {
  const nouns = store as unknown as Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>;
  const NONE = { leases: [], settlements: [], events: [], secrets: [], undelivered: [], rows: [] };
  const ANYTHING = { limit: 2, inFlight: [], upTo: 0, key: "k", name: { key: "k" }, intent: { state: 1 }, ...NONE };
  const lists = ["touch", "save", "renew", "release"];
  return Object.entries(BOUNDS).flatMap(([noun, methods]) =>
    Object.keys(methods).map((method) => () => nouns[noun]![method]!(lists.includes(method) ? [] : ANYTHING, ANYTHING))
  );
}
