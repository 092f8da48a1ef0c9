// needs: neutral
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { createLimiter, type LocalLimiter } from "../../lib/limits/limiter.ts";
import { openStore } from "../../lib/store/open.ts";
import type { BucketState, Store } from "../../lib/store/store.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");

let store: Store;
/** The wall clock and the monotonic clock. */
let nowMs: number;
let elapsedMs: number;
let problems: string[];

beforeEach(async () => {
  store = await openStore("memory:");
  nowMs = NOW;
  elapsedMs = 5;
  problems = [];
});
afterEach(() => store.close());

function makeLimiter(buckets: Store["buckets"] = store.buckets): LocalLimiter {
  return createLimiter({
    store: { buckets },
    now: () => nowMs,
    monotonicNow: () => elapsedMs,
    defaultRate: 120,
    onProblem: (message) => problems.push(message),
  });
}

function pass(ms: number): void {
  nowMs += ms;
  elapsedMs += ms;
}

/** A new limiter on the same store, as after a restart of the gateway. */
async function restarted(): Promise<LocalLimiter> {
  const limiter = makeLimiter();
  await limiter.load();
  return limiter;
}

function takeAll(limiter: LocalLimiter, keyId: string, rate?: number): number {
  let taken = 0;
  while (limiter.take(keyId, rate).allowed) taken++;
  return taken;
}

describe("the limiter", () => {
  test("gives each key its own bucket, with the default rate or the key's rate", () => {
    const limiter = makeLimiter();
    assert.equal(takeAll(limiter, "a"), 120);
    assert.equal(takeAll(limiter, "b", 7), 7);
    assert.equal(takeAll(limiter, "a"), 0);
    assert.deepEqual(limiter.take("b", 7), {
      allowed: false,
      limit: 7,
      remaining: 0,
      resetSeconds: 9,
      retryAfterSeconds: 9,
    });
  });

  test("takes several tokens for an expensive request, and returns when the bucket holds enough again", () => {
    const limiter = makeLimiter();
    for (let i = 0; i < 5; i++) limiter.take("a", 12);
    assert.deepEqual(limiter.take("a", 12, 10), {
      allowed: false,
      limit: 12,
      remaining: 7,
      resetSeconds: 5,
      retryAfterSeconds: 15,
    });
    pass(14_999);
    assert.equal(limiter.take("a", 12, 10).allowed, false);
    pass(1);
    assert.deepEqual(limiter.take("a", 12, 10), {
      allowed: true,
      limit: 12,
      remaining: 0,
      resetSeconds: 5,
      retryAfterSeconds: 0,
    });
  });

  test("admits a request that costs more than a whole bucket when the bucket is full", () => {
    const limiter = makeLimiter();
    assert.deepEqual([limiter.take("a", 3, 10).allowed, limiter.take("a", 3, 10).retryAfterSeconds], [true, 60]);
    pass(60_000);
    assert.equal(limiter.take("a", 3, 10).allowed, true);
  });

  test("neither adds nor removes tokens when the wall clock is set", async () => {
    const limiter = makeLimiter();
    takeAll(limiter, "a");
    nowMs += 86_400_000;
    assert.equal(limiter.take("a").allowed, false);
    nowMs -= 2 * 86_400_000;
    pass(500);
    assert.equal(limiter.take("a").allowed, true);
    await limiter.flush();
    const after = await restarted();
    assert.equal(after.take("a").allowed, false);
    pass(500);
    assert.equal(after.take("a").allowed, true);
  });

  test("peek takes no token", () => {
    const limiter = makeLimiter();
    limiter.take("a");
    for (let i = 0; i < 3; i++) assert.equal(limiter.peek("a").remaining, 119);
    assert.equal(limiter.peek("never seen", 5).remaining, 5);
  });

  test("applies a changed rate at the next take, and keeps the bucket's fill level in proportion", () => {
    const limiter = makeLimiter();
    for (let i = 0; i < 60; i++) limiter.take("a", 120);
    const { limit, remaining } = limiter.take("a", 600);
    assert.deepEqual({ limit, remaining }, { limit: 600, remaining: 299 });
    assert.equal(limiter.peek("a", 10).remaining, 4);
  });

  test("continues with the stored buckets after a restart", async () => {
    const limiter = makeLimiter();
    assert.equal(takeAll(limiter, "a"), 120);
    limiter.take("b", 600);
    await limiter.flush();
    const next = await restarted();
    assert.equal(next.take("a").allowed, false);
    assert.equal(next.peek("b", 600).remaining, 599);
    pass(10_000);
    assert.equal((await restarted()).peek("a").remaining, 20);
  });

  test("writes only buckets that changed since the last flush, at most 500 in one batch", async () => {
    const batches: BucketState[][] = [];
    const limiter = makeLimiter({
      load: () => Promise.resolve([]),
      save: (buckets) => Promise.resolve(void batches.push(buckets)),
      prune: () => Promise.resolve(),
    });
    for (let i = 0; i < 1_200; i++) limiter.take(`key${i}`);
    await limiter.flush();
    assert.deepEqual(batches.map((batch) => batch.length), [500, 500, 200]);
    assert.deepEqual(batches[0]![0], { keyId: "key0", tokens: 119, updatedAtMs: NOW });
    batches.length = 0;
    await limiter.flush();
    assert.deepEqual(batches, []);
    limiter.take("key7");
    limiter.take("key7");
    await limiter.flush();
    assert.deepEqual(batches, [[{ keyId: "key7", tokens: 117, updatedAtMs: NOW }]]);
  });

  test("writes nothing for a refused request", async () => {
    const limiter = makeLimiter();
    takeAll(limiter, "a", 1);
    await limiter.flush();
    pass(1_000);
    assert.equal(limiter.take("a", 1).allowed, false);
    await limiter.flush();
    assert.deepEqual((await store.buckets.load()).map(({ updatedAtMs }) => updatedAtMs), [NOW]);
  });

  test("loses no bucket when a write fails: the limiter reports the failure once and retries the write", async () => {
    let fault: Error | undefined = new Error("disk is full");
    const limiter = makeLimiter({
      load: () => store.buckets.load(),
      save: (buckets) => fault ? Promise.reject(fault) : store.buckets.save(buckets),
      prune: () => Promise.resolve(),
    });
    for (let i = 0; i < 700; i++) limiter.take(`key${i}`);
    await limiter.flush();
    limiter.take("key3");
    await limiter.flush();
    assert.equal(problems.length, 1);
    assert.equal(limiter.peek("key3").remaining, 118);
    fault = undefined;
    await limiter.flush();
    const kept = await store.buckets.load();
    assert.equal(kept.length, 700);
    assert.equal(kept.find(({ keyId }) => keyId === "key3")?.tokens, 118);
    fault = new Error("again");
    limiter.take("key3");
    await limiter.flush();
    assert.equal(problems.length, 2);
  });

  test("writes tokens that are taken during a write with the next flush", async () => {
    let written = () => {};
    const batches: number[] = [];
    const limiter = makeLimiter({
      load: () => Promise.resolve([]),
      save: ([bucket]) => {
        batches.push(bucket!.tokens);
        return new Promise((resolve) => written = resolve);
      },
      prune: () => Promise.resolve(),
    });
    limiter.take("a");
    const flushing = limiter.flush();
    limiter.take("a");
    written();
    await flushing;
    const again = limiter.flush();
    written();
    await again;
    assert.deepEqual(batches, [119, 118]);
  });

  test("drops full buckets from memory and from the store, so that both stay small", async () => {
    const limiter = makeLimiter();
    for (let minute = 0; minute < 10; minute++) {
      for (let i = 0; i < 50; i++) limiter.take(`key${minute}-${i}`);
      pass(61_000);
      await limiter.flush();
    }
    assert.ok(limiter.size <= 100, `${limiter.size} buckets in memory`);
    assert.ok((await store.buckets.load()).length <= 150);
    pass(121_000);
    await limiter.flush();
    assert.equal(limiter.size, 0);
    assert.deepEqual(await store.buckets.load(), []);
  });

  test("keeps a bucket that is in steady use", async () => {
    const limiter = makeLimiter();
    takeAll(limiter, "a", 60);
    for (let second = 0; second < 180; second++) {
      pass(1_000);
      assert.equal(takeAll(limiter, "a", 60), 1);
      await limiter.flush();
    }
  });

  test("treats a stored bucket with a time in the future as written now", async () => {
    await store.buckets.save([{ keyId: "a", tokens: 0, updatedAtMs: NOW + 3_600_000 }]);
    const limiter = await restarted();
    assert.equal(limiter.take("a").allowed, false);
    pass(500);
    assert.equal(limiter.take("a").allowed, true);
  });

  test("flushes by itself after the start, and once more when it stops", async () => {
    let saved = () => {};
    const first = new Promise<void>((resolve) => saved = resolve);
    const limiter = createLimiter({
      store: {
        buckets: {
          load: () => store.buckets.load(),
          save: (buckets) => store.buckets.save(buckets).then(saved),
          prune: (beforeMs) => store.buckets.prune(beforeMs),
        },
      },
      now: () => nowMs,
      monotonicNow: () => elapsedMs,
      defaultRate: 120,
      flushMs: 1,
      onProblem: (message) => assert.fail(message),
    });
    limiter.start();
    limiter.take("a");
    await first;
    limiter.take("a");
    await limiter.stop();
    assert.equal((await store.buckets.load())[0]?.tokens, 118);
  });
});
