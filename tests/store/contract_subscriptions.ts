import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleKey, samplePosition, storeError } from "./samples.ts";
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

const EMPTY = { pending: 0, dead: 0, oldestCreatedAtMs: null };

export function subscriptionContract({ store, openAgain, isPersistent }: Subject): void {
  test("getSubscription answers what insertSubscription was given, with every field and with the fewest", async () => {
    const full = sampleSubscription("wh_full", {
      url: 'https://hooks.example/ü?a="b"&c=🛒',
      types: ["payment.claimed", "escrow.funded"],
      deviceHash: "ab".repeat(32),
      merchant: "GM",
      previousSecret: { secret: "whsec_before", untilMs: 1_793_491_200_123 },
      olderSecret: { secret: "whsec_long_before", untilMs: 1_793_491_200_045 },
      startPosition: samplePosition(77),
    });
    const least = sampleSubscription("wh_least");
    const nothing = sampleSubscription("wh_nothing", { types: [] });
    for (const one of [full, least, nothing]) await store().insertSubscription(one, 100);
    for (const one of [full, least, nothing]) assert.deepEqual(await store().getSubscription(one.id), one);
    assert.equal(await store().getSubscription("wh_FULL"), undefined);
  });

  test("insertSubscription refuses one more than a key may have, and an id that is taken", async () => {
    await store().insertSubscription(sampleSubscription("wh_1"), 2);
    await assert.rejects(
      store().insertSubscription(sampleSubscription("wh_1", { url: "https://other.example/" }), 2),
      storeError("exists", '"wh_1"'),
    );
    await store().insertSubscription(sampleSubscription("wh_2"), 2);
    const version = await store().subscriptionsVersion();
    await assert.rejects(store().insertSubscription(sampleSubscription("wh_3"), 2), storeError("exists", '"key"', "2"));
    assert.equal(await store().subscriptionsVersion(), version);
    assert.deepEqual(await store().getSubscription("wh_1"), sampleSubscription("wh_1"));
    await store().insertSubscription(sampleSubscription("wh_3", { keyId: "other" }), 2);
    await store().deleteSubscription("wh_1");
    await store().insertSubscription(sampleSubscription("wh_4"), 2);
    assert.deepEqual((await store().listSubscriptions({ limit: 9 })).map(({ id }) => id), ["wh_2", "wh_3", "wh_4"]);
  });

  test("of subscriptions inserted at once, no more get in than a key may have", async () => {
    const other = isPersistent ? await openAgain() : store();
    const outcomes = await Promise.allSettled(
      Array.from(
        { length: 12 },
        (_, n) => (n % 2 ? store() : other).insertSubscription(sampleSubscription(`wh_${n}`), 5),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
    assert.equal((await store().listSubscriptions({ keyId: "key", limit: 100 })).length, 5);
  });

  test("listSubscriptions pages ascending by id, of one key or of all", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) {
      await store().insertSubscription(sampleSubscription(id, { keyId: id < "a" ? "upper" : "lower" }), 100);
    }
    const ids = async (page: { keyId?: string; after?: string; limit: number }) =>
      (await store().listSubscriptions(page)).map(({ id }) => id);
    assert.deepEqual(await ids({ limit: 1_000 }), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(await ids({ after: "a", limit: 2 }), ["a1", "b"]);
    assert.deepEqual(await ids({ keyId: "lower", limit: 2 }), ["a", "a1"]);
    assert.deepEqual(await ids({ keyId: "lower", after: "a1", limit: 9 }), ["b", "c"]);
    assert.deepEqual(await ids({ keyId: "upper", limit: 9 }), ["B"]);
    assert.deepEqual(await ids({ keyId: "upp", limit: 9 }), []);
    assert.deepEqual(
      (await store().listSubscriptions({ keyId: "upper", limit: 1 }))[0]?.url,
      "https://hooks.example/B",
    );
    for (const limit of [0, 1_001, 1.5]) await assert.rejects(store().listSubscriptions({ limit }), RangeError);
  });

  test("setSubscriptionSecrets replaces the secrets of a subscription that still has the expected one", async () => {
    await subscribe(store(), "wh_1");
    const rotated = { secret: "whsec_new", previousSecret: { secret: "whsec_of_wh_1", untilMs: 5 } };
    assert.equal(await store().setSubscriptionSecrets("wh_1", "whsec_of_wh_1", rotated), true);
    assert.equal(await store().setSubscriptionSecrets("wh_1", "whsec_of_wh_1", { ...rotated, secret: "x" }), false);
    assert.equal(await store().setSubscriptionSecrets("wh_2", "whsec_of_wh_2", rotated), false);
    assert.deepEqual(await store().getSubscription("wh_1"), { ...sampleSubscription("wh_1"), ...rotated });
    const twice = {
      secret: "whsec_2",
      previousSecret: { secret: "whsec_new", untilMs: 7 },
      olderSecret: rotated.previousSecret,
    };
    assert.equal(await store().setSubscriptionSecrets("wh_1", "whsec_new", twice), true);
    assert.deepEqual(await store().getSubscription("wh_1"), { ...sampleSubscription("wh_1"), ...twice });
    assert.equal(await store().setSubscriptionSecrets("wh_1", "whsec_2", rotated), true);
    assert.deepEqual(await store().listSubscriptions({ limit: 1 }), [{ ...sampleSubscription("wh_1"), ...rotated }]);
    const without = { secret: "whsec_3", previousSecret: null };
    assert.equal(await store().setSubscriptionSecrets("wh_1", "whsec_new", without), true);
    assert.deepEqual(await store().getSubscription("wh_1"), { ...sampleSubscription("wh_1"), ...without });
  });

  test("of two rotations at once one wins", async () => {
    await subscribe(store(), "wh_1");
    const other = isPersistent ? await openAgain() : store();
    const rotate = (by: typeof other, secret: string) =>
      by.setSubscriptionSecrets("wh_1", "whsec_of_wh_1", { secret, previousSecret: null });
    const outcomes = await Promise.all([rotate(store(), "a"), rotate(other, "b")]);
    assert.deepEqual(outcomes.toSorted(), [false, true]);
    assert.equal((await store().getSubscription("wh_1"))?.secret, outcomes[0] ? "a" : "b");
  });

  test("subscriptionsVersion rises with inserts, secret changes and deletes, through any handle, and with nothing else", async () => {
    const other = isPersistent ? await openAgain() : store();
    let version = await store().subscriptionsVersion();
    const isRaised = async () => {
      const before = version;
      version = await store().subscriptionsVersion();
      return version > before;
    };
    await subscribe(other, "wh_1");
    assert.ok(await isRaised());
    await other.setSubscriptionSecrets("wh_1", "whsec_of_wh_1", { secret: "new", previousSecret: null });
    assert.ok(await isRaised());
    await other.setSubscriptionSecrets("wh_1", "whsec_of_wh_1", { secret: "newer", previousSecret: null });
    await commitEvents(store(), 1, 1);
    await fanOut(store(), [sampleDelivery("wh_1", 1)]);
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 1, "delivered")]);
    await store().releaseLease(lease);
    assert.equal(await isRaised(), false);
    const sealed = { id: "wh_1", expectedSecret: "new", secret: "sealed", previousSecret: null };
    await other.resealSecrets({ secrets: [{ ...sealed, expectedSecret: "newer" }] });
    assert.equal(await isRaised(), false);
    await other.resealSecrets({ secrets: [sealed] });
    assert.ok(await isRaised());
    await other.deleteSubscription("wh_1");
    assert.ok(await isRaised());
    await other.deleteSubscription("wh_1");
    await other.resealSecrets({ secrets: [{ ...sealed, expectedSecret: "sealed" }] });
    assert.equal(await isRaised(), false);
  });

  test("a deleted subscription is gone at once: not listed, nothing due, no lease, no attempt, no replay, no backlog", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await commitEvents(store(), 1, 4);
    await fanOut(store(), [1, 2, 3].flatMap((n) => ["wh_1", "wh_2"].map((id) => sampleDelivery(id, n))));
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 1, "dead"), settlement(lease, 2, "retry")]);
    await store().insertReplay({
      id: "re_1",
      subscriptionId: "wh_1",
      afterPosition: samplePosition(0),
      upToPosition: samplePosition(4),
      position: samplePosition(0),
      deliveries: 4,
      createdAtMs: START_MS,
    });

    assert.equal(await store().deleteSubscription("wh_1"), true);
    assert.equal(await store().deleteSubscription("wh_1"), false);
    assert.equal(await store().getSubscription("wh_1"), undefined);
    assert.deepEqual(await store().listSubscriptions({ keyId: "key", limit: 9 }), [sampleSubscription("wh_2")]);
    assert.deepEqual(await store().dueDeliveries({ subscriptionId: "wh_1", nowMs: Infinity, limit: 9 }), []);
    assert.deepEqual(await store().listAttempts("wh_1", { limit: 9 }), []);
    assert.deepEqual(await store().backlog("wh_1"), EMPTY);
    assert.equal((await store().backlog()).pending, 3);
    assert.equal((await store().backlog()).dead, 0);
    assert.deepEqual(await store().listReplays(9), []);
    assert.deepEqual(await store().renewLeases([lease], START_MS + 99_000), []);
    await store().settle([settlement(lease, 3, "delivered")]);
    await store().recordAttempt(sampleAttempt("wh_1", 9));
    await store().releaseLease(lease);
    assert.equal(await fanOut(store(), [sampleDelivery("wh_1", 4)]), true);
    assert.equal((await store().backlog()).pending, 3);
    assert.deepEqual([...(await leaseAll(store(), START_MS + 50_000)).keys()], ["wh_2"]);
  });

  test("purgeDeleted removes what deleted subscriptions left behind, in bounded steps, and nothing else", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await commitEvents(store(), 1, 450);
    for (let n = 1; n <= 450; n += 90) {
      const owed = Array.from({ length: 90 }, (_, index) => sampleDelivery("wh_1", n + index));
      await fanOut(store(), [...owed, sampleDelivery("wh_2", n)]);
    }
    const lease = (await leaseAll(store())).get("wh_1")!;
    await store().settle([settlement(lease, 5, "dead"), settlement(lease, 6, "dead")]);
    for (let n = 0; n < 230; n++) await store().recordAttempt(sampleAttempt("wh_1", n));
    await store().recordAttempt(sampleAttempt("wh_2", 1));
    assert.equal(await store().purgeDeleted(), false);
    await store().deleteSubscription("wh_1");
    await store().deleteSubscription("wh_3");
    let steps = 1;
    while (await store().purgeDeleted()) steps += 1;
    assert.ok(steps >= 3, `${steps} steps`);
    assert.ok(steps < 20, `${steps} steps`);
    assert.deepEqual(await store().backlog(), { pending: 5, dead: 0, oldestCreatedAtMs: START_MS });
    assert.equal((await store().listAttempts("wh_2", { limit: 9 })).length, 1);
    // The events are needed no more, but for those of wh_2: nothing else is left that would keep them.
    await fanOut(store(), [], samplePosition(999));
    let forgotten = 0;
    for (let went = 1; went > 0;) forgotten += went = await store().pruneEvents("2027-01-01T00:00:00Z");
    assert.equal(forgotten, 445);
    // An id that comes again starts with nothing.
    await subscribe(store(), "wh_1");
    assert.deepEqual(await store().listAttempts("wh_1", { limit: 9 }), []);
    assert.deepEqual(await store().backlog("wh_1"), EMPTY);
  });

  test("deleteKey deletes the key's subscriptions too, and those of a key that is kept elsewhere", async () => {
    await store().insertKey(sampleKey("a"));
    await store().insertKey(sampleKey("b"));
    for (const [id, keyId] of [["wh_1", "a"], ["wh_2", "b"], ["wh_3", "a"], ["wh_4", "file"]]) {
      await store().insertSubscription(sampleSubscription(id!, { keyId: keyId! }), 100);
    }
    const ids = async () => (await store().listSubscriptions({ limit: 99 })).map(({ id }) => id);
    const version = await store().subscriptionsVersion();
    assert.equal(await store().deleteKey("a"), true);
    assert.deepEqual(await ids(), ["wh_2", "wh_4"]);
    assert.ok(await store().subscriptionsVersion() > version);
    assert.equal(await store().deleteKey("file"), false);
    assert.deepEqual(await ids(), ["wh_2"]);
    await store().insertSubscription(sampleSubscription("wh_5", { keyId: "a" }), 1);
  });

  test("deleteKey deletes more subscriptions than fit in one commit", async () => {
    await store().insertKey(sampleKey("a"));
    for (let n = 0; n < 230; n++) {
      await store().insertSubscription(sampleSubscription(`wh_${n}`, { keyId: "a" }), 1_000);
    }
    assert.equal(await store().deleteKey("a"), true);
    assert.deepEqual(await store().listSubscriptions({ limit: 9 }), []);
    assert.equal(await store().getKey("a"), undefined);
  });

  test("resealSecrets rewrites 100 secrets and the check together, passing over subscriptions that are gone", async () => {
    assert.equal(await store().secretsCheck(), undefined);
    const secrets = Array.from({ length: 100 }, (_, n) => ({
      id: `wh_${n}`,
      expectedSecret: `whsec_of_wh_${n}`,
      secret: `sealed ${n}`,
      previousSecret: n % 2 ? { secret: `sealed before ${n}`, untilMs: n } : null,
      ...(n % 3 ? {} : { olderSecret: { secret: `sealed long before ${n}`, untilMs: n } }),
    }));
    for (const { id } of secrets.slice(1)) await subscribe(store(), id);
    assert.equal(await store().resealSecrets({ secrets, check: "check 1" }), 99);
    assert.equal(await store().secretsCheck(), "check 1");
    assert.equal(await store().getSubscription("wh_0"), undefined);
    for (const { expectedSecret: _, ...sealed } of secrets.slice(1)) {
      assert.deepEqual(await store().getSubscription(sealed.id), { ...sampleSubscription(sealed.id), ...sealed });
    }
    await store().resealSecrets({ secrets: [] });
    assert.equal(await store().secretsCheck(), "check 1");
    await store().resealSecrets({ secrets: [], check: null });
    assert.equal(await store().secretsCheck(), undefined);
    await assert.rejects(store().resealSecrets({ secrets: [...secrets, secrets[0]!] }), RangeError);
  });

  test("resealSecrets passes over a secret that is not the expected one any more: a rotation is not lost", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    const rotated = { secret: "whsec_new", previousSecret: { secret: "whsec_of_wh_1", untilMs: 5 } };
    await store().setSubscriptionSecrets("wh_1", "whsec_of_wh_1", rotated);
    const secrets = ["wh_1", "wh_2"].map((id) => {
      return { id, expectedSecret: `whsec_of_${id}`, secret: `sealed ${id}`, previousSecret: null };
    });
    assert.equal(await store().resealSecrets({ secrets, check: "check" }), 1);
    assert.deepEqual(await store().getSubscription("wh_1"), { ...sampleSubscription("wh_1"), ...rotated });
    assert.equal((await store().getSubscription("wh_2"))?.secret, "sealed wh_2");
    assert.equal(await store().secretsCheck(), "check");
  });
}
