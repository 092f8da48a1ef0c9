import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTEMPTS_KEPT } from "../../lib/store/webhook.ts";
import type { Subject } from "./store_contract.ts";
import { sampleAttempt, settle, START_MS, subscribe } from "./webhook_samples.ts";

export function attemptContract({ store, anotherHandle }: Subject): void {
  const ordinals = async (subscriptionId: string, page: { before?: number; limit: number } = { limit: 200 }) =>
    (await store().deliveries.attempts(subscriptionId, page)).map(({ ordinal }) => ordinal);

  /** So many attempts, the n-th made at START_MS + n. */
  async function attempt(subscriptionId: string, from: number, to: number): Promise<void> {
    for (let n = from; n <= to; n += 100) {
      const attempts = Array.from({ length: Math.min(100, to - n + 1) }, (_, index) => sampleAttempt(n + index));
      await settle(store(), { subscriptionId, attempts });
    }
  }

  test("an attempt has every field, and an ordinal that rises in the order of the records", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    const full = sampleAttempt(1, {
      replayId: "rp_1",
      number: 3,
      durationMs: 1_234.5,
      outcome: "retry",
      statusCode: 503,
      error: "HTTP 503",
      responseBody: "ü".repeat(500),
      nextAttemptAtMs: START_MS + 5_000,
    });
    const least = sampleAttempt(2, { outcome: "dead", statusCode: null, error: "no answer" });
    await settle(store(), { subscriptionId: "wh_1", attempts: [full, least] });
    assert.deepEqual(await store().deliveries.recordAttempt("wh_1", full), { ...full, ordinal: 3 });
    assert.deepEqual(await store().deliveries.recordAttempt("wh_2", least), { ...least, ordinal: 1 });
    assert.deepEqual(await store().deliveries.attempts("wh_1", { limit: 200 }), [
      { ...full, ordinal: 3 },
      { ...least, ordinal: 2 },
      { ...full, ordinal: 1 },
    ]);
  });

  test("a delivered test event keeps the body of the response", async () => {
    await subscribe(store(), "wh_1");
    const noted = sampleAttempt(1, { eventType: "webhook.test", responseBody: "thanks" });
    await store().deliveries.recordAttempt("wh_1", noted);
    assert.deepEqual(await store().deliveries.attempts("wh_1", { limit: 1 }), [{ ...noted, ordinal: 1 }]);
  });

  test("simultaneous attempts of two handles get an ordinal each", async () => {
    await subscribe(store(), "wh_1");
    const other = await anotherHandle();
    const record = (n: number) => (n % 2 ? store() : other).deliveries.recordAttempt("wh_1", sampleAttempt(n));
    await Promise.all(Array.from({ length: 20 }, (_, n) => record(n)));
    assert.deepEqual(await ordinals("wh_1"), Array.from({ length: 20 }, (_, n) => 20 - n));
  });

  test("attempts returns pages, newest first, before an ordinal, and nothing for an unknown subscription", async () => {
    await subscribe(store(), "wh_1");
    assert.deepEqual(await ordinals("wh_1"), []);
    await attempt("wh_1", 1, 5);
    assert.deepEqual(await ordinals("wh_1", { limit: 2 }), [5, 4]);
    assert.deepEqual(await ordinals("wh_1", { before: 4, limit: 2 }), [3, 2]);
    assert.deepEqual(await ordinals("wh_1", { before: 2, limit: 9 }), [1]);
    assert.deepEqual(await ordinals("wh_1", { before: 1, limit: 9 }), []);
    assert.deepEqual(await ordinals("wh_1", { before: 99, limit: 1 }), [5]);
    assert.deepEqual(await ordinals("wh_2"), []);
    assert.equal(await store().deliveries.recordAttempt("wh_2", sampleAttempt(1)), undefined);
  });

  test("a subscription keeps its newest attempts, also beside other subscriptions' attempts", async () => {
    await subscribe(store(), "wh_1", "wh_2", "wh_3");
    await attempt("wh_1", 1, 3);
    await attempt("wh_3", 1, 3);
    const made = 2 * ATTEMPTS_KEPT + 350;
    await attempt("wh_2", 1, made);
    const all: number[] = [];
    for (let page = await ordinals("wh_2"); page.length > 0;) {
      all.push(...page);
      page = await ordinals("wh_2", { before: page.at(-1)!, limit: 190 });
    }
    assert.deepEqual(all, Array.from({ length: ATTEMPTS_KEPT }, (_, n) => made - n));
    const [newest] = await store().deliveries.attempts("wh_2", { limit: 1 });
    assert.deepEqual(newest, { ...sampleAttempt(made), ordinal: made });
    assert.deepEqual([await ordinals("wh_1"), await ordinals("wh_3")], [[3, 2, 1], [3, 2, 1]]);
  });

  test("pruneAttempts deletes one subscription's attempts before a time, and returns their number", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await attempt("wh_1", 1, 30);
    await attempt("wh_2", 1, 3);
    assert.equal(await store().deliveries.pruneAttempts("wh_1", START_MS + 26), 25);
    assert.equal(await store().deliveries.pruneAttempts("wh_1", START_MS + 26), 0);
    assert.equal(await store().deliveries.pruneAttempts("wh_3", START_MS + 26), 0);
    assert.deepEqual(await ordinals("wh_1"), [30, 29, 28, 27, 26]);
    assert.deepEqual(await ordinals("wh_2"), [3, 2, 1]);
    assert.equal(await store().deliveries.pruneAttempts("wh_1", START_MS + 99), 5);
    assert.equal((await store().deliveries.recordAttempt("wh_1", sampleAttempt(31)))?.ordinal, 31);
    assert.deepEqual(await ordinals("wh_1"), [31]);
  });

  test("replaced attempts do not come back after newer attempts with earlier times", async () => {
    await subscribe(store(), "wh_1");
    const made = ATTEMPTS_KEPT + 150;
    for (let n = 1; n <= made; n += 50) {
      const behindMs = n > ATTEMPTS_KEPT ? 86_400_000 : 0;
      const atMs = (at: number) => START_MS + n + at - behindMs;
      const attempts = Array.from({ length: 50 }, (_, at) => sampleAttempt(n + at, { atMs: atMs(at) }));
      await settle(store(), { subscriptionId: "wh_1", attempts });
    }
    assert.equal(await store().deliveries.pruneAttempts("wh_1", START_MS), 150);
    assert.deepEqual(await ordinals("wh_1", { before: 153, limit: 9 }), [152, 151]);
    assert.equal(await store().deliveries.pruneAttempts("wh_1", START_MS + 1_000_000), ATTEMPTS_KEPT - 150);
    assert.deepEqual(await ordinals("wh_1"), []);
  });
}
