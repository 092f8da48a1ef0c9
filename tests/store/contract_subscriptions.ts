import assert from "node:assert/strict";
import { test } from "node:test";
import { appendMany, sampleKey, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import type { Store } from "../../lib/store/store.ts";
import type { Secrets } from "../../lib/store/webhook.ts";
import {
  endedOf,
  freshProgress,
  progressOf,
  sampleAttempt,
  sampleFailed,
  sampleReplay,
  sampleSubscription,
  settle,
  subscribe,
} from "./webhook_samples.ts";

/** Replaces the secrets of one subscription. */
function replaceSecrets(store: Store, id: string, expectedSecret: string, secrets: Secrets): Promise<number> {
  return store.subscriptions.setSecrets({ secrets: [{ ...secrets, id, expectedSecret }] });
}

export function subscriptionContract({ store, anotherHandle }: Subject): void {
  test("subscriptions.get returns an inserted subscription, with every field and with the fewest", async () => {
    const full = sampleSubscription("wh_full", {
      url: 'https://hooks.example/ü?a="b"&c=🛒',
      types: ["payment.claimed", "escrow.funded"],
      deviceHash: "ab".repeat(32),
      merchant: "GM",
      previousSecret: { secret: "whsec_before", untilMs: 1_793_491_200_123 },
      olderSecret: { secret: "whsec_long_before", untilMs: 1_793_491_200_045 },
      ordered: true,
      startHeight: 9_999 * 2 ** 32 + 7,
    });
    const least = sampleSubscription("wh_least");
    const nothing = sampleSubscription("wh_nothing", { types: [] });
    for (const one of [full, least, nothing]) await store().subscriptions.insert(one, 100);
    for (const one of [full, least, nothing]) assert.deepEqual(await store().subscriptions.get(one.id), one);
    assert.equal(await store().subscriptions.get("wh_FULL"), undefined);
  });

  test("subscriptions.insert rejects one more than a key may have, and an id in use", async () => {
    await store().subscriptions.insert(sampleSubscription("wh_1"), 2);
    await assert.rejects(
      store().subscriptions.insert(sampleSubscription("wh_1", { url: "https://other.example/" }), 2),
      storeError("exists", '"wh_1"'),
    );
    await store().subscriptions.insert(sampleSubscription("wh_2"), 2);
    const version = await store().subscriptions.version();
    const third = store().subscriptions.insert(sampleSubscription("wh_3"), 2);
    await assert.rejects(third, storeError("exists", '"key"', "2"));
    assert.equal(await store().subscriptions.version(), version);
    assert.deepEqual(await store().subscriptions.get("wh_1"), sampleSubscription("wh_1"));
    await store().subscriptions.insert(sampleSubscription("wh_3", { keyId: "other" }), 2);
    await store().subscriptions.delete("wh_1");
    await store().subscriptions.insert(sampleSubscription("wh_4"), 2);
    assert.deepEqual((await store().subscriptions.list({ limit: 9 })).map(({ id }) => id), ["wh_2", "wh_3", "wh_4"]);
  });

  test("simultaneous inserts do not exceed the limit of a key", async () => {
    const other = await anotherHandle();
    const insert = (n: number) => (n % 2 ? store() : other).subscriptions.insert(sampleSubscription(`wh_${n}`), 5);
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, n) => insert(n)));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
    assert.equal((await store().subscriptions.list({ keyId: "key", limit: 100 })).length, 5);
  });

  test("subscriptions.list returns pages ascending by id, of one key or of all", async () => {
    for (const id of ["b", "a1", "a", "B", "c"]) {
      await store().subscriptions.insert(sampleSubscription(id, { keyId: id < "a" ? "upper" : "lower" }), 100);
    }
    const ids = async (page: { keyId?: string; after?: string; limit: number }) =>
      (await store().subscriptions.list(page)).map(({ id }) => id);
    assert.deepEqual(await ids({ limit: 1_000 }), ["B", "a", "a1", "b", "c"]);
    assert.deepEqual(await ids({ after: "a", limit: 2 }), ["a1", "b"]);
    assert.deepEqual(await ids({ keyId: "lower", limit: 2 }), ["a", "a1"]);
    assert.deepEqual(await ids({ keyId: "lower", after: "a1", limit: 9 }), ["b", "c"]);
    assert.deepEqual(await ids({ keyId: "upper", limit: 9 }), ["B"]);
    assert.deepEqual(await ids({ keyId: "upp", limit: 9 }), []);
    assert.deepEqual(
      (await store().subscriptions.list({ keyId: "upper", limit: 1 }))[0]?.url,
      "https://hooks.example/B",
    );
  });

  test("subscriptions.setSecrets replaces the secrets of a subscription with the expected one", async () => {
    await subscribe(store(), "wh_1");
    const rotated = { secret: "whsec_new", previousSecret: { secret: "whsec_of_wh_1", untilMs: 5 } };
    assert.equal(await replaceSecrets(store(), "wh_1", "whsec_of_wh_1", rotated), 1);
    assert.equal(await replaceSecrets(store(), "wh_1", "whsec_of_wh_1", { ...rotated, secret: "x" }), 0);
    assert.equal(await replaceSecrets(store(), "wh_2", "whsec_of_wh_2", rotated), 0);
    assert.deepEqual(await store().subscriptions.get("wh_1"), { ...sampleSubscription("wh_1"), ...rotated });
    const previousSecret = { secret: "whsec_new", untilMs: 7 };
    const twice = { secret: "whsec_2", previousSecret, olderSecret: rotated.previousSecret };
    assert.equal(await replaceSecrets(store(), "wh_1", "whsec_new", twice), 1);
    assert.deepEqual(await store().subscriptions.get("wh_1"), { ...sampleSubscription("wh_1"), ...twice });
    assert.equal(await replaceSecrets(store(), "wh_1", "whsec_2", rotated), 1);
    assert.deepEqual(await store().subscriptions.list({ limit: 1 }), [{ ...sampleSubscription("wh_1"), ...rotated }]);
    const without = { secret: "whsec_3", previousSecret: null };
    assert.equal(await replaceSecrets(store(), "wh_1", "whsec_new", without), 1);
    assert.deepEqual(await store().subscriptions.get("wh_1"), { ...sampleSubscription("wh_1"), ...without });
  });

  test("one of two simultaneous rotations succeeds", async () => {
    await subscribe(store(), "wh_1");
    const other = await anotherHandle();
    const rotate = (by: typeof other, secret: string) =>
      replaceSecrets(by, "wh_1", "whsec_of_wh_1", { secret, previousSecret: null });
    const outcomes = await Promise.all([rotate(store(), "a"), rotate(other, "b")]);
    assert.deepEqual(outcomes.toSorted(), [0, 1]);
    assert.equal((await store().subscriptions.get("wh_1"))?.secret, outcomes[0] === 1 ? "a" : "b");
  });

  test("subscriptions.version rises with inserts, secret changes and deletes, through any handle, and with nothing else", async () => {
    const other = await anotherHandle();
    let version = await store().subscriptions.version();
    const isRaised = async () => {
      const before = version;
      version = await store().subscriptions.version();
      return version > before;
    };
    await subscribe(other, "wh_1");
    assert.ok(await isRaised());
    await replaceSecrets(other, "wh_1", "whsec_of_wh_1", { secret: "new", previousSecret: null });
    assert.ok(await isRaised());
    await replaceSecrets(other, "wh_1", "whsec_of_wh_1", { secret: "newer", previousSecret: null });
    await appendMany(store(), 1, 1);
    const settlement = { subscriptionId: "wh_1", cursor: 1, failed: [sampleFailed(1, "dead")], failingSinceMs: 1 };
    await settle(store(), { ...settlement, attempts: [sampleAttempt(1)] });
    await store().deliveries.recordAttempt("wh_1", sampleAttempt(2));
    assert.equal(await isRaised(), false);
    const sealed = { id: "wh_1", expectedSecret: "new", secret: "sealed", previousSecret: null };
    await other.subscriptions.setSecrets({ secrets: [{ ...sealed, expectedSecret: "newer" }] });
    assert.equal(await isRaised(), false);
    await other.subscriptions.setSecrets({ secrets: [sealed] });
    assert.ok(await isRaised());
    await other.subscriptions.delete("wh_1");
    assert.ok(await isRaised());
    await other.subscriptions.delete("wh_1");
    await other.subscriptions.setSecrets({ secrets: [{ ...sealed, expectedSecret: "sealed" }] });
    assert.equal(await isRaised(), false);
  });

  test("a deleted subscription is absent from all lists at once, with its deliveries, attempts and replay", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await appendMany(store(), 1, 4);
    const failed = [sampleFailed(1, "dead"), sampleFailed(2, "retrying")];
    for (const subscriptionId of ["wh_1", "wh_2"]) {
      await settle(store(), { subscriptionId, cursor: 2, failed, attempts: [sampleAttempt(1)] });
    }
    await store().deliveries.insertReplay(sampleReplay("rp_1", "wh_1"));

    assert.equal(await store().subscriptions.delete("wh_1"), true);
    assert.equal(await store().subscriptions.delete("wh_1"), false);
    assert.equal(await store().subscriptions.get("wh_1"), undefined);
    assert.deepEqual(await store().subscriptions.list({ keyId: "key", limit: 9 }), [sampleSubscription("wh_2")]);
    const consumers = await store().deliveries.consumers({ limit: 9 });
    assert.deepEqual(consumers.map(({ subscription }) => subscription.id), ["wh_2"]);
    assert.equal(await store().deliveries.consumer("wh_1"), undefined);
    assert.deepEqual(await store().deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 9 }), []);
    assert.deepEqual(await endedOf(store(), { subscriptionId: "wh_1", limit: 9 }), []);
    assert.deepEqual(await store().deliveries.attempts("wh_1", { limit: 9 }), []);
    assert.equal((await progressOf(store(), "wh_2")).dead, 1);
    assert.equal((await store().deliveries.attempts("wh_2", { limit: 9 })).length, 1);
  });

  test("a subscription with a deleted one's id starts empty, before and after the purge", async () => {
    await appendMany(store(), 1, 4);
    for (let round = 0; round < 3; round++) {
      await subscribe(store(), "wh_1");
      assert.deepEqual(await progressOf(store(), "wh_1"), freshProgress(4));
      assert.deepEqual(await store().deliveries.attempts("wh_1", { limit: 9 }), []);
      assert.deepEqual(await endedOf(store(), { subscriptionId: "wh_1", limit: 9 }), []);
      const failed = [sampleFailed(1, "dead"), sampleFailed(2, "rejected")];
      await settle(store(), { subscriptionId: "wh_1", failed, attempts: [sampleAttempt(1), sampleAttempt(2)] });
      await store().subscriptions.delete("wh_1");
      if (round === 1) { while (await store().subscriptions.purgeDeleted()); }
    }
  });

  test("purgeDeleted removes the rows of deleted subscriptions, in bounded steps, and nothing else", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await appendMany(store(), 1, 950);
    for (let n = 0; n < 950; n += 50) {
      const failed = Array.from({ length: 50 }, (_, at) => sampleFailed(n + at + 1, at % 2 ? "dead" : "retrying"));
      await settle(store(), {
        subscriptionId: "wh_1",
        failed,
        attempts: failed.map(({ sequence }) => sampleAttempt(sequence)),
      }, { subscriptionId: "wh_2", failed: [failed[0]!], attempts: [sampleAttempt(n)] });
    }
    assert.equal(await store().subscriptions.purgeDeleted(), false);
    await store().subscriptions.delete("wh_1");
    await store().subscriptions.delete("wh_3");
    let steps = 1;
    while (await store().subscriptions.purgeDeleted()) steps += 1;
    assert.ok(steps >= 3 && steps < 40, `${steps} steps`);
    assert.equal(await store().subscriptions.purgeDeleted(), false);
    assert.equal((await progressOf(store(), "wh_2")).retrying, 19);
    const retrying = { state: "retrying" as const, subscriptionId: "wh_2", limit: 99 };
    assert.equal((await store().deliveries.failed(retrying)).length, 19);
    assert.equal((await store().deliveries.attempts("wh_2", { limit: 99 })).length, 19);
  });

  test("keys.delete deletes the key's subscriptions too, and those of a key outside of the store", async () => {
    await store().keys.insert(sampleKey("a"));
    await store().keys.insert(sampleKey("b"));
    for (const [id, keyId] of [["wh_1", "a"], ["wh_2", "b"], ["wh_3", "a"], ["wh_4", "file"]]) {
      await store().subscriptions.insert(sampleSubscription(id!, { keyId: keyId! }), 100);
    }
    const ids = async () => (await store().subscriptions.list({ limit: 99 })).map(({ id }) => id);
    const version = await store().subscriptions.version();
    assert.equal(await store().keys.delete("a"), true);
    assert.deepEqual(await ids(), ["wh_2", "wh_4"]);
    assert.ok(await store().subscriptions.version() > version);
    assert.equal(await store().keys.delete("file"), false);
    assert.deepEqual(await ids(), ["wh_2"]);
    await store().subscriptions.insert(sampleSubscription("wh_5", { keyId: "a" }), 1);
  });

  test("keys.delete deletes more subscriptions than fit in one commit", async () => {
    await store().keys.insert(sampleKey("a"));
    for (let n = 0; n < 230; n++) {
      await store().subscriptions.insert(sampleSubscription(`wh_${n}`, { keyId: "a" }), 1_000);
    }
    assert.equal(await store().keys.delete("a"), true);
    assert.deepEqual(await store().subscriptions.list({ limit: 9 }), []);
    assert.equal(await store().keys.get("a"), undefined);
  });

  test("subscriptions.setSecrets writes 100 secrets and the check together, and skips missing subscriptions", async () => {
    assert.equal(await store().subscriptions.secretsCheck(), undefined);
    const secrets = Array.from({ length: 100 }, (_, n) => ({
      id: `wh_${n}`,
      expectedSecret: `whsec_of_wh_${n}`,
      secret: `sealed ${n}`,
      previousSecret: n % 2 ? { secret: `sealed before ${n}`, untilMs: n } : null,
      ...(n % 3 ? {} : { olderSecret: { secret: `sealed long before ${n}`, untilMs: n } }),
    }));
    for (const { id } of secrets.slice(1)) await subscribe(store(), id);
    assert.equal(await store().subscriptions.setSecrets({ secrets, check: "check 1" }), 99);
    assert.equal(await store().subscriptions.secretsCheck(), "check 1");
    assert.equal(await store().subscriptions.get("wh_0"), undefined);
    for (const { expectedSecret: _, ...sealed } of secrets.slice(1)) {
      assert.deepEqual(await store().subscriptions.get(sealed.id), { ...sampleSubscription(sealed.id), ...sealed });
    }
    await store().subscriptions.setSecrets({ secrets: [] });
    assert.equal(await store().subscriptions.secretsCheck(), "check 1");
    await store().subscriptions.setSecrets({ secrets: [], check: null });
    assert.equal(await store().subscriptions.secretsCheck(), undefined);
  });

  test("subscriptions.setSecrets skips a secret that is not the expected one, so no rotation is lost", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    const rotated = { secret: "whsec_new", previousSecret: { secret: "whsec_of_wh_1", untilMs: 5 } };
    await replaceSecrets(store(), "wh_1", "whsec_of_wh_1", rotated);
    const secrets = ["wh_1", "wh_2"].map((id) => {
      return { id, expectedSecret: `whsec_of_${id}`, secret: `sealed ${id}`, previousSecret: null };
    });
    assert.equal(await store().subscriptions.setSecrets({ secrets, check: "check" }), 1);
    assert.deepEqual(await store().subscriptions.get("wh_1"), { ...sampleSubscription("wh_1"), ...rotated });
    assert.equal((await store().subscriptions.get("wh_2"))?.secret, "sealed wh_2");
    assert.equal(await store().subscriptions.secretsCheck(), "check");
  });
}
