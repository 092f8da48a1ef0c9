import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../lib/store/store.ts";
import { sampleEvent, samplePosition, sampleState, sampleUndecoded } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import {
  commitEvents,
  fanOut,
  leaseAll,
  sampleAttempt,
  sampleDelivery,
  sampleSubscription,
  settlement,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

/** Later than any sample closed. */
const LATER = "2026-12-01T00:00:00.000Z";

export function retentionContract({ store, openAgain, isPersistent }: Subject): void {
  const held = async () =>
    (await store().readEvents({ limit: 1_000 })).map(({ id }) => Number(id.slice("event-".length)));
  /** Forgets until nothing goes any more; answers how many went. */
  async function prune(closedBefore = LATER): Promise<number> {
    let all = 0;
    for (let went = 1; went > 0;) {
      went = await store().pruneEvents(closedBefore);
      assert.ok(went <= 100, `${went} in one commit`);
      all += went;
    }
    return all;
  }

  test("pruneEvents forgets nothing before fan-out has begun, then what it has passed", async () => {
    await commitEvents(store(), 1, 9);
    assert.equal(await prune(), 0);
    await store().commitFanOut({
      expected: undefined,
      cursor: { position: samplePosition(4), subscriptionId: "wh_1", lastDueAtMs: 1 },
      deliveries: [],
    });
    assert.equal(await prune(), 3);
    assert.deepEqual(await held(), [4, 5, 6, 7, 8, 9]);
    await fanOut(store(), [], samplePosition(6));
    assert.equal(await prune(), 3);
    assert.deepEqual(await held(), [7, 8, 9]);
  });

  test("pruneEvents forgets what closed before the time, under every filter, and leaves undecoded events", async () => {
    const fields: Partial<StoredEvent> = { type: "payment.authorized", deviceHash: "d1", merchant: "GM" };
    const closedAt = (n: number) => ({ ...fields, ledgerClosedAt: `2026-11-01T00:00:0${n}Z` });
    const events = [1, 2, 3, 4].map((n) => sampleEvent(n, closedAt(n)));
    await store().commitEvents({ events: [sampleUndecoded(0), ...events], state: sampleState(1_004) });
    await fanOut(store(), [], samplePosition(9));
    assert.equal(await prune("2026-11-01T00:00:03.000Z"), 2);
    for (const filter of [{}, { deviceHash: "d1" }, { merchant: "GM" }, { deviceHash: "d1", merchant: "GM" }]) {
      for (const types of [undefined, ["payment.authorized"]]) {
        assert.deepEqual(await store().readEvents({ limit: 9, types, ...filter }), events.slice(2));
      }
    }
    assert.equal((await store().undecodedEvents({ limit: 9 })).length, 1);
  });

  test("pruneEvents keeps what a pending delivery needs, until it is gone", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 8);
    await fanOut(store(), ["wh_1", "wh_2"].flatMap((id) => [2, 4, 6, 8].map((n) => sampleDelivery(id, n))));
    assert.equal(await prune(), 4);
    assert.deepEqual(await held(), [2, 4, 6, 8]);
    const leases = await leaseAll(store());
    await store().settle([2, 4, 6, 8].map((n) => settlement(leases.get("wh_1")!, n, "delivered")));
    const outcomes = ["delivered", "retry", "retry", "ended"] as const;
    await store().settle(outcomes.map((outcome, index) => settlement(leases.get("wh_2")!, 2 * index + 2, outcome)));
    assert.equal(await prune(), 2);
    assert.deepEqual(await held(), [4, 6]);
    await store().settle([settlement(leases.get("wh_2")!, 6, "delivered", { id: "at_again", number: 2 })]);
    assert.equal(await prune(), 1);
    assert.equal(
      (await store().dueDeliveries({ subscriptionId: "wh_2", nowMs: START_MS + 10_000, limit: 9 })).length,
      1,
    );
    await store().deleteSubscription("wh_2");
    while (await store().purgeDeleted());
    assert.equal(await prune(), 1);
  });

  test("a dead delivery created before the time goes with its event, a later one keeps it", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await commitEvents(store(), 1, 5);
    const createdAtMs = Date.parse("2026-11-20T00:00:00Z");
    await fanOut(store(), [
      ...[1, 2, 3].map((n) => sampleDelivery("wh_1", n)),
      sampleDelivery("wh_2", 1),
      sampleDelivery("wh_2", 4, { createdAtMs }),
      sampleDelivery("wh_3", 5),
    ]);
    const leases = await leaseAll(store());
    const dead = (id: string, n: number) => settlement(leases.get(id)!, n, "dead");
    await store().settle([dead("wh_1", 1), dead("wh_1", 2), dead("wh_2", 1), dead("wh_2", 4), dead("wh_3", 5)]);
    await store().deleteSubscription("wh_3");
    // Of the third event the delivery is pending.
    assert.equal(await prune("2026-11-10T00:00:00Z"), 3);
    assert.deepEqual(await held(), [3, 4]);
    assert.deepEqual(await store().backlog("wh_1"), { pending: 1, dead: 0, oldestCreatedAtMs: START_MS });
    assert.deepEqual(await store().backlog("wh_2"), { pending: 0, dead: 1, oldestCreatedAtMs: null });
    assert.equal((await store().backlog()).dead, 1);
    assert.equal((await store().listAttempts("wh_1", { limit: 9 })).length, 2, "how it was tried is kept");
    assert.equal(await prune(), 1);
    assert.equal((await store().backlog()).dead, 0);
    while (await store().purgeDeleted());
    assert.deepEqual(await held(), [3]);
  });

  test("an event with very many dead deliveries goes after them, and each is counted once", async () => {
    const names = Array.from({ length: 450 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
    for (const name of names) await store().insertSubscription(sampleSubscription(name), 1_000);
    await commitEvents(store(), 1, 3);
    for (const some of [names.slice(0, 200), names.slice(200, 400), names.slice(400)]) {
      await fanOut(store(), some.map((name) => sampleDelivery(name, 2, { dueAtMs: null })));
    }
    await fanOut(store(), [], samplePosition(3));
    assert.equal((await store().backlog()).dead, 450);
    const other = isPersistent ? await openAgain() : store();
    const went = await Promise.all([store().pruneEvents(LATER), other.pruneEvents(LATER)]);
    assert.equal(went.reduce((sum, count) => sum + count) + await prune(), 3);
    assert.deepEqual(await held(), []);
    for (const name of [undefined, names[0]!, names[449]!]) assert.equal((await store().backlog(name)).dead, 0);
  });

  test("prunedUpTo is the last event that was forgotten, undefined before, and does not go back", async () => {
    assert.equal(await store().prunedUpTo(), undefined);
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 9);
    await fanOut(store(), [sampleDelivery("wh_1", 2)]);
    await fanOut(store(), [], samplePosition(5));
    assert.equal(await prune("2026-01-01T00:00:00Z"), 0);
    assert.equal(await store().prunedUpTo(), undefined);
    assert.equal(await prune(), 4);
    assert.equal(await store().prunedUpTo(), samplePosition(5));
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 2, "delivered")]);
    assert.equal(await prune(), 1);
    assert.equal(await store().prunedUpTo(), samplePosition(5));
  });

  test("pruneEvents keeps what is left of a replay, and what it has made deliveries of", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 1, 9);
    await fanOut(store(), [], samplePosition(9));
    const replay = {
      id: "re_1",
      subscriptionId: "wh_1",
      afterPosition: samplePosition(2),
      upToPosition: samplePosition(6),
      position: samplePosition(2),
      deliveries: 4,
      createdAtMs: START_MS,
    };
    await store().insertReplay(replay);
    assert.equal(await prune(), 5);
    assert.deepEqual(await held(), [3, 4, 5, 6]);
    const step = { id: "re_1", expectedPosition: samplePosition(2), position: samplePosition(4), done: false };
    await store().commitReplay({ ...step, deliveries: [sampleDelivery("wh_1", 4)] });
    assert.equal(await prune(), 1);
    assert.deepEqual(await held(), [4, 5, 6]);
    await store().commitReplay({ ...step, expectedPosition: samplePosition(4), done: true, deliveries: [] });
    assert.equal(await prune(), 2);
    assert.deepEqual(await held(), [4]);
  });

  test("pruneEvents forgets a long history in steps of at most 100, passing over what is needed", async () => {
    await subscribe(store(), "wh_1");
    await commitEvents(store(), 0, 999);
    for (let n = 0; n < 300; n += 100) {
      await fanOut(store(), Array.from({ length: 100 }, (_, index) => sampleDelivery("wh_1", n + index)));
    }
    await fanOut(store(), [], samplePosition(949));
    assert.equal(await prune(), 650);
    assert.deepEqual(await held(), [...Array(300).keys(), ...Array.from({ length: 50 }, (_, n) => 950 + n)]);
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 7, "delivered"), settlement(lease, 250, "ended")]);
    assert.equal(await prune(), 2);
  });

  test("pages of the history stay whole while events are forgotten", async () => {
    await commitEvents(store(), 0, 499);
    await fanOut(store(), [], samplePosition(399));
    const other = isPersistent ? await openAgain() : store();
    let isDone = false;
    const pruning = (async () => {
      while (await other.pruneEvents(LATER) > 0);
    })().finally(() => isDone = true);
    while (!isDone) {
      const page = await store().readEvents({ limit: 1_000, types: ["escrow.funded"] });
      const first = 500 - page.length;
      assert.deepEqual(page, Array.from({ length: page.length }, (_, n) => sampleEvent(first + n)));
    }
    await pruning;
    assert.equal((await held()).length, 100);
  });

  test("pruneAttempts forgets those made before the time, 200 at a call, and says how many", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    for (let n = 0; n < 250; n++) await store().recordAttempt(sampleAttempt(n % 5 ? "wh_1" : "wh_2", n));
    assert.equal(await store().pruneAttempts(START_MS + 230), 200);
    assert.equal(await store().pruneAttempts(START_MS + 230), 30);
    assert.equal(await store().pruneAttempts(START_MS + 230), 0);
    const left = [
      ...await store().listAttempts("wh_1", { limit: 200 }),
      ...await store().listAttempts("wh_2", { limit: 200 }),
    ];
    assert.deepEqual(left.map(({ atMs }) => atMs - START_MS).sort(), Array.from({ length: 20 }, (_, n) => 230 + n));
  });
}
