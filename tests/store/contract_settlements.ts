import assert from "node:assert/strict";
import { test } from "node:test";
import type { Subject } from "./store_contract.ts";
import {
  commitEvents,
  fanOut,
  leaseAll,
  poisoned,
  sampleAttempt,
  sampleDelivery,
  sampleSubscription,
  settlement,
  START_MS,
  subscribe,
} from "./webhook_samples.ts";

export function settlementContract({ store, openAgain, isPersistent }: Subject): void {
  /** Leases of subscriptions that are owed the events 1 to 5 each. */
  async function owed(...ids: string[]) {
    await subscribe(store(), ...ids);
    await commitEvents(store(), 1, 5);
    await fanOut(store(), ids.flatMap((id) => [1, 2, 3, 4, 5].map((n) => sampleDelivery(id, n))));
    return await leaseAll(store());
  }
  const pending = async (subscriptionId: string) =>
    (await store().dueDeliveries({ subscriptionId, nowMs: START_MS + 99_000, limit: 200 }))
      .map(({ delivery }) => delivery);

  test("settle removes what was delivered or ended, postpones what is tried again, and keeps the dead out of the way", async () => {
    const lease = (await owed("wh_1")).get("wh_1")!;
    const settlements = [
      settlement(lease, 1, "delivered"),
      settlement(lease, 2, "retry", { number: 4, statusCode: 503, nextAttemptAtMs: START_MS + 600 }),
      settlement(lease, 3, "ended", { statusCode: 410 }),
      settlement(lease, 4, "dead", { number: 15, statusCode: null, error: "timed out", responseBody: null }),
    ];
    await store().settle(settlements);
    assert.deepEqual(await pending("wh_1"), [
      sampleDelivery("wh_1", 5),
      sampleDelivery("wh_1", 2, { attempts: 4, dueAtMs: START_MS + 600 }),
    ]);
    assert.deepEqual(await store().backlog("wh_1"), { pending: 2, dead: 1, oldestCreatedAtMs: START_MS });
    assert.deepEqual(
      await store().listAttempts("wh_1", { limit: 9 }),
      settlements.map(({ attempt }) => attempt).toReversed(),
    );
  });

  test("settling the same again changes nothing", async () => {
    const lease = (await owed("wh_1")).get("wh_1")!;
    const outcomes = ["delivered", "retry", "ended", "dead"] as const;
    const settlements = outcomes.map((outcome, index) => settlement(lease, index + 1, outcome));
    const state = async () => [
      await pending("wh_1"),
      await store().backlog(),
      await store().listAttempts("wh_1", { limit: 9 }),
    ];
    await store().settle(settlements);
    const before = await state();
    await store().settle(settlements);
    await Promise.all([store().settle(settlements), store().settle([...settlements, ...settlements])]);
    assert.deepEqual(await state(), before);
  });

  test("a settlement that is made twice at once counts once", async () => {
    const lease = (await owed("wh_1")).get("wh_1")!;
    const other = isPersistent ? await openAgain() : store();
    await Promise.all(
      [1, 2, 3, 4].flatMap((n) => [store(), other].map((by) => by.settle([settlement(lease, n, "delivered")]))),
    );
    assert.equal((await store().backlog("wh_1")).pending, 1);
    assert.equal((await store().listAttempts("wh_1", { limit: 9 })).length, 4);
  });

  test("under a lost lease nothing is settled, beside others that are", async () => {
    const leases = await owed("wh_1", "wh_2", "wh_3");
    const [first, second, third] = ["wh_1", "wh_2", "wh_3"].map((id) => leases.get(id)!);
    await store().renewLeases([third!], START_MS + 50_000);
    await store().releaseLease(second!);
    const taken = await leaseAll(store(), START_MS + 10_000); // wh_1's lease has ended, and somebody else has it
    assert.deepEqual([...taken.keys()].sort(), ["wh_1", "wh_2"]);
    await store().settle([first!, second!, third!].map((lease) => settlement(lease, 1, "delivered")));
    assert.equal((await pending("wh_1")).length, 5);
    assert.equal((await pending("wh_2")).length, 5);
    assert.equal((await pending("wh_3")).length, 4);
    assert.deepEqual(await store().listAttempts("wh_1", { limit: 9 }), []);
    await store().settle([settlement(taken.get("wh_1")!, 1, "retry"), settlement(first!, 2, "dead")]);
    assert.deepEqual(await store().backlog("wh_1"), { pending: 5, dead: 0, oldestCreatedAtMs: START_MS });
  });

  test("a lease that has ended settles while nobody else has taken it", async () => {
    const lease = (await owed("wh_1")).get("wh_1")!;
    assert.deepEqual((await store().renewLeases([lease], START_MS + 1)).length, 1);
    await store().settle([settlement(lease, 1, "delivered")]);
    assert.equal((await pending("wh_1")).length, 4);
  });

  test("a lease does not settle another subscription's delivery", async () => {
    const leases = await owed("wh_1", "wh_2");
    await store().settle([{
      ...settlement(leases.get("wh_1")!, 1, "delivered"),
      deliveryId: sampleDelivery("wh_2", 1).id,
    }]);
    const forged = { ...leases.get("wh_1")!, subscriptionId: "wh_2" };
    await store().settle([settlement(forged, 1, "delivered")]);
    assert.equal((await store().backlog()).pending, 10);
  });

  test("100 settlements under 100 leases are all written", async () => {
    const ids = Array.from({ length: 100 }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
    for (const id of ids) await store().insertSubscription(sampleSubscription(id), 1_000);
    await commitEvents(store(), 1, 2);
    for (const n of [1, 2]) await fanOut(store(), ids.map((id) => sampleDelivery(id, n)));
    const leases = [...(await leaseAll(store())).values()];
    const responseBody = "ä".repeat(512);
    await store().settle(leases.map((lease) => settlement(lease, 1, "delivered", { responseBody })));
    assert.equal((await store().backlog()).pending, 100);
    for (const id of ids) assert.equal((await store().listAttempts(id, { limit: 9 }))[0]?.responseBody, responseBody);
    await assert.rejects(
      store().settle([...leases, leases[0]!].map((lease) => settlement(lease, 2, "delivered"))),
      new RangeError("at most 100 items fit in one call, got 101"),
    );
  });

  test("100 settlements under one lease are one commit, with ids and texts as long as they come", async () => {
    const id = `wh_${"x".repeat(22)}`;
    await subscribe(store(), id);
    await commitEvents(store(), 0, 99);
    const deliveries = Array.from({ length: 100 }, (_, n) => {
      const delivery = sampleDelivery(id, n);
      return { ...delivery, id: `${delivery.id}:rp_${"y".repeat(22)}` };
    });
    await fanOut(store(), deliveries);
    const lease = (await leaseAll(store())).get(id)!;
    const long = { responseBody: "x".repeat(1_024), error: "y".repeat(200) };
    const settlements = deliveries.map((delivery, n) => {
      const attempt = { ...long, id: `at_${String(n).padStart(25, "0")}`, deliveryId: delivery.id };
      return { ...settlement(lease, n, "retry", attempt), deliveryId: delivery.id };
    });
    const last = settlements[99]!;
    const failing = [...settlements.slice(0, 99), { ...last, attempt: poisoned(last.attempt, "durationMs") }];
    await assert.rejects(store().settle(failing), /poisoned/);
    assert.equal((await store().listAttempts(id, { limit: 9 })).length, 0);
    await store().settle(settlements);
    assert.equal((await store().listAttempts(id, { limit: 200 })).length, 100);
    assert.equal(await store().nextDueAtMs(), START_MS + 10_000);
  });

  test("settlements of ten leases that fail leave nothing: no attempt, every delivery as it was", async () => {
    const ids = Array.from({ length: 10 }, (_, n) => `wh_${n}`);
    const leases = [...(await owed(...ids)).values()];
    const settlements = leases.map((lease) => settlement(lease, 1, "delivered"));
    const last = settlements[9]!;
    const failing = [...settlements.slice(0, 9), { ...last, attempt: poisoned(last.attempt, "durationMs") }];
    await assert.rejects(store().settle(failing), /poisoned/);
    assert.equal((await store().backlog()).pending, 50);
    for (const id of ids) assert.deepEqual(await store().listAttempts(id, { limit: 9 }), []);
    await store().settle(settlements);
    assert.equal((await store().backlog()).pending, 40);
  });

  test("settle refuses a retry at no time, and writes nothing", async () => {
    const lease = (await owed("wh_1")).get("wh_1")!;
    const wrong = settlement(lease, 2, "retry", { nextAttemptAtMs: null });
    await assert.rejects(
      store().settle([settlement(lease, 1, "delivered"), wrong]),
      new RangeError("nextAttemptAtMs must be a time when the outcome is retry, got null"),
    );
    assert.equal((await pending("wh_1")).length, 5);
  });

  test("settling nothing does nothing", async () => {
    await store().settle([]);
  });

  test("recordAttempt notes the attempt of a test event once, and none of a subscription that is not there", async () => {
    await subscribe(store(), "wh_1");
    const attempt = sampleAttempt("wh_1", 1, { durationMs: 0.25, statusCode: null, error: "refused" });
    await store().recordAttempt(attempt);
    await store().recordAttempt({ ...attempt, error: "again" });
    await store().recordAttempt(sampleAttempt("wh_2", 1));
    assert.deepEqual(await store().listAttempts("wh_1", { limit: 9 }), [attempt]);
    await subscribe(store(), "wh_2");
    assert.deepEqual(await store().listAttempts("wh_2", { limit: 9 }), []);
  });

  test("listAttempts pages newest first, of one subscription", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    for (const n of [3, 1, 5, 2, 4]) await store().recordAttempt(sampleAttempt("wh_1", n));
    await store().recordAttempt(sampleAttempt("wh_2", 9));
    const page = async (limit: number, before?: string) =>
      (await store().listAttempts("wh_1", { before, limit })).map(({ eventId }) => eventId);
    assert.deepEqual(await page(200), [5, 4, 3, 2, 1].map((n) => `event-${n}`));
    assert.deepEqual(await page(2), ["event-5", "event-4"]);
    assert.deepEqual(await page(2, sampleAttempt("wh_1", 4).id), ["event-3", "event-2"]);
    assert.deepEqual(await page(2, sampleAttempt("wh_1", 1).id), []);
    for (const limit of [0, 201]) await assert.rejects(page(limit), RangeError);
  });
}
