// needs: neutral
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import fc from "fast-check";
import type { Limiter } from "../../lib/limits/limiter.ts";
import { createSharedLimiter } from "../../lib/limits/shared_limiter.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { forTier, isLong } from "../tier.ts";

let store: Store;
let storeMs: number;
let elapsedMs: number;
let problems: string[];

beforeEach(async () => {
  storeMs = Date.parse("2026-03-01T12:00:00.000Z");
  elapsedMs = 7;
  problems = [];
  store = await openStore("memory:", { now: () => storeMs, isShared: true });
});
afterEach(() => store.close());

/** A gateway's limiter. Each limiter's monotonic clock starts at a different time. */
function makeLimiter(holder: string, sharedState: Store["sharedState"] = store.sharedState): Limiter {
  const beganMs = holder.length * 1_000_003;
  return createSharedLimiter({
    store: { sharedState },
    monotonicNow: () => beganMs + elapsedMs,
    defaultRate: 120,
    holder,
    onProblem: (message) => problems.push(message),
  });
}

/** A limiter, and the number of its calls to the store. */
function makeCounted(holder: string) {
  let asked = 0;
  const change: Store["sharedState"]["change"] = (...of) => {
    asked += 1;
    return store.sharedState.change(...of);
  };
  return { limiter: makeLimiter(holder, { ...store.sharedState, change }), asked: () => asked };
}

function makeLimiters(count: number): Limiter[] {
  return Array.from({ length: count }, (_, n) => makeLimiter("g".repeat(n + 1)));
}

function pass(ms: number): void {
  storeMs += ms;
  elapsedMs += ms;
}

/** The single bucket of a single gateway, as a reference: gateways together must never overdraw it. */
function createReference(rate: number) {
  let [level, atMs] = [rate, elapsedMs];
  return function admitted(cost: number): void {
    level = Math.min(rate, level + (elapsedMs - atMs) * rate / 60_000) - Math.min(cost, rate);
    atMs = elapsedMs;
    assert.ok(level > -1e-6, `overdrawn by ${-level} of ${rate}`);
  };
}

describe("the limiter of gateways that share a store", () => {
  test("admits one bucket in total over 4 gateways, and returns when the next request is admitted", async () => {
    const limiters = makeLimiters(4);
    let admitted = 0;
    for (let n = 0; n < 200; n++) {
      if ((await limiters[n % 4]!.take("key", 60)).allowed) admitted += 1;
    }
    // Each other gateway may hold leased tokens that it could not spend.
    assert.ok(admitted > 60 - 3 * 6 && admitted <= 60, `${admitted}`);
    const { allowed, retryAfterSeconds, remaining, resetSeconds } = await limiters[0]!.take("key", 60);
    assert.deepEqual({ allowed, retryAfterSeconds, remaining, resetSeconds }, {
      allowed: false,
      retryAfterSeconds: 1,
      remaining: 0,
      resetSeconds: 1,
    });
    pass(1_000);
    assert.equal((await limiters[3]!.take("key", 60)).allowed, true);
  });

  test("leases nothing to slow callers: every gateway returns the exact number of remaining tokens", async () => {
    const limiters = makeLimiters(3);
    const left: number[] = [];
    for (let n = 0; n < 9; n++) {
      left.push((await limiters[n % 3]!.take("key", 600_000)).remaining);
      pass(1);
    }
    assert.deepEqual(left.slice(0, 3), [599_999, 599_999, 599_999], "one comes back in 0.1 ms");
    const slow: number[] = [];
    for (let n = 0; n < 6; n++) {
      slow.push((await limiters[n % 3]!.take("slow", 1)).remaining);
      pass(60_000);
    }
    assert.deepEqual(slow, [0, 0, 0, 0, 0, 0]);
  });

  test("asks the store rarely for a busy key, and leases at most a tenth of its bucket", async () => {
    const { limiter, asked } = makeCounted("a");
    for (let n = 0; n < 3_000; n++) assert.ok((await limiter.take("key", 6_000)).allowed);
    assert.ok(asked() < 20, `${asked()} questions`);
    const other = makeLimiter("bb");
    const { remaining } = await other.take("key", 6_000);
    assert.ok(remaining >= 2_400 - 1 && remaining < 3_000, `${remaining}`);
  });

  test("answers at once with leased tokens or a recent refusal, and asks the store once for many waiting callers", async () => {
    const { limiter, asked } = makeCounted("a");
    const many = await Promise.all(Array.from({ length: 50 }, () => limiter.take("key", 100)));
    assert.equal(many.filter(({ allowed }) => allowed).length, 50);
    assert.ok(asked() <= 2, `${asked()} questions`);
    assert.ok(!(limiter.take("key", 100) instanceof Promise), "leased");
    while ((await limiter.take("key", 100)).allowed);
    await yieldToOthers();
    const before = asked();
    for (let n = 0; n < 100; n++) assert.ok(!(limiter.take("key", 100) instanceof Promise), "refused just now");
    assert.equal(asked(), before);
    pass(100);
    assert.ok(limiter.take("key", 100) instanceof Promise, "a flood asks ten times a second");
  });

  test("returns tokens that stay unspent for a second, so that other gateways can use them", async () => {
    const [a, b] = makeLimiters(2) as [Limiter, Limiter];
    for (let n = 0; n < 40; n++) await a.take("key", 100);
    pass(1);
    const leasedAway = 60 - (await b.take("key", 100)).remaining;
    assert.ok(leasedAway > 1, `${leasedAway}`);
    pass(999);
    await a.flush();
    assert.equal((await b.take("key", 100)).remaining, 59, "40 were spent and one, two came back");
    await a.stop();
    assert.deepEqual(problems, []);
  });

  test("refills tokens that a killed gateway had leased, as if they were spent", async () => {
    const [killed, other] = makeLimiters(2) as [Limiter, Limiter];
    for (let n = 0; n < 30; n++) await killed.take("key", 100);
    pass(60_000);
    const { remaining } = await other.take("key", 100);
    assert.equal(remaining, 99);
  });

  test("spends no token that a gateway leased before a pause of 70 s", async () => {
    const [paused, other] = makeLimiters(2) as [Limiter, Limiter];
    const admitted = createReference(100);
    for (let n = 0; n < 30; n++) if ((await paused.take("key", 100)).allowed) admitted(1);
    pass(70_000);
    while ((await other.take("key", 100)).allowed) admitted(1);
    for (let n = 0; n < 20; n++) if ((await paused.take("key", 100)).allowed) admitted(1);
  });

  test("counts leased tokens as part of the bucket, so that gateways never overdraw the bucket", async () => {
    const [a, b] = makeLimiters(2) as [Limiter, Limiter];
    const admitted = createReference(1_200);
    for (let n = 0; n < 34; n++) if ((await a.take("key", 1_200)).allowed) admitted(1);
    assert.ok(!(a.take("key", 1_200) instanceof Promise), "it has some leased");
    admitted(1);
    pass(4_900);
    while ((await b.take("key", 1_200)).allowed) admitted(1);
    while ((await a.take("key", 1_200)).allowed) admitted(1);
  });

  test("leases nothing from a store's answer that arrives after 6 s", async () => {
    let delayMs = 0;
    const sharedState: Store["sharedState"] = {
      ...store.sharedState,
      async change(name, change) {
        const answer = await store.sharedState.change(name, change);
        pass(delayMs);
        return answer;
      },
    };
    const slow = makeLimiter("a", sharedState);
    for (let n = 0; n < 3; n++) await slow.take("key", 100);
    delayMs = 6_000;
    while (!(slow.take("key", 100) instanceof Promise));
    delayMs = 0;
    assert.ok(slow.take("key", 100) instanceof Promise);
  });

  test("applies a changed rate at once, in proportion to the remaining tokens", async () => {
    const [a, b] = makeLimiters(2) as [Limiter, Limiter];
    for (let n = 0; n < 30; n++) await a.take("key", 60);
    pass(1_000);
    await a.flush();
    const { limit, remaining } = await b.take("key", 120);
    assert.equal(limit, 120);
    assert.ok(remaining >= 61 && remaining <= 63, `${remaining}`);
  });

  test("rejects every waiting caller when the store fails", async () => {
    const failing: Store["sharedState"] = { ...store.sharedState, change: () => Promise.reject(new Error("down")) };
    const limiter = makeLimiter("a", failing);
    const asked = Array.from({ length: 5 }, () => limiter.take("key"));
    for (const one of asked) await assert.rejects(async () => await one, /down/);
    await limiter.flush();
    assert.deepEqual(problems, []);
  });

  test("reports once that it cannot return leased tokens", async () => {
    let isDown = false;
    const sharedState: Store["sharedState"] = {
      ...store.sharedState,
      change: (name, change) => isDown ? Promise.reject(new Error("down")) : store.sharedState.change(name, change),
    };
    const limiter = makeLimiter("a", sharedState);
    for (let n = 0; n < 5; n++) await Promise.all([limiter.take("k1", 1_000), limiter.take("k2", 1_000)]);
    isDown = true;
    pass(1_000);
    await limiter.flush();
    await limiter.flush();
    assert.deepEqual(problems, ["returning leased tokens failed"]);
  });

  test("drops an unused key from memory after one minute, and from the store after two", async () => {
    const limiter = makeLimiter("a");
    await limiter.take("k1");
    await limiter.take("k2");
    await yieldToOthers();
    pass(60_000);
    await limiter.flush();
    assert.equal(limiter.size, 0);
    pass(60_000);
    assert.equal(await store.sharedState.prune(Infinity), 2);
  });

  test("peek takes no token, does not ask the store, and returns the known state", async () => {
    const limiter = makeLimiter("a");
    assert.deepEqual([limiter.peek("key", 10).remaining, limiter.peek("key", 10).remaining], [10, 10]);
    while ((await limiter.take("key", 10)).allowed);
    assert.equal(limiter.peek("key", 10).allowed, false);
    assert.equal(limiter.peek("key", 10).retryAfterSeconds, 6);
  });
});

describe("several gateways that take, pause, flush and die in random order", () => {
  type Step = { gateway: number; kind: "take" | "rest" | "flush" | "die" | "wait"; size: number };
  const steps = fc.array(
    fc.record({
      gateway: fc.nat(3),
      kind: fc.constantFrom("take", "take", "take", "rest", "flush", "die", "wait"),
      size: fc.nat(400),
    }) as fc.Arbitrary<Step>,
    { minLength: 20, maxLength: 120 },
  );
  const rates = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 31, max: 3_000 }));

  test("admit no more than one bucket, and admit a request after its Retry-After", async () => {
    await fc.assert(
      fc.asyncProperty(steps, rates, async (taken, rate) => {
        await store.close();
        store = await openStore("memory:", { now: () => storeMs, isShared: true });
        const limiters = makeLimiters(4);
        const admitted = createReference(rate);
        for (const [at, { gateway, kind, size }] of taken.entries()) {
          const limiter = limiters[gateway]!;
          if (kind === "rest") pass(size % 5 === 0 ? size * 50 : size * 12);
          if (kind === "flush") await limiter.flush();
          if (kind === "die") limiters[gateway] = makeLimiter(`${"g".repeat(gateway + 1)}${at}`);
          if (kind === "take") {
            for (let n = 0; n < size; n++) {
              const cost = n % 7 === 0 ? 10 : 1;
              if ((await limiter.take("key", rate, cost)).allowed) admitted(cost);
            }
          }
          if (kind === "wait") {
            const cost = size % 2 ? 10 : 1;
            const first = await limiter.take("key", rate, cost);
            if (first.allowed) admitted(cost);
            else {
              // For 0.1 s a gateway repeats a refusal without asking the store again.
              pass(100);
              const again = await limiter.take("key", rate, cost);
              if (again.allowed) admitted(cost);
              else {
                pass(again.retryAfterSeconds * 1_000);
                const another = limiters[(gateway + size) % 4]!;
                assert.equal((await another.take("key", rate, cost)).allowed, true, "waited as long as was said");
                admitted(cost);
              }
            }
          }
        }
      }),
      { numRuns: forTier({ test: 20, all: 60 }) },
    );
  });

  test("admit at least 95 % of the bucket under overload", async () => {
    for (const rate of isLong ? [1, 7, 60, 600, 6_000] : [1, 7, 60, 600]) {
      const limiters = makeLimiters(4);
      let admitted = 0;
      for (let atMs = 0; atMs < 120_000; atMs += 50) {
        const takes = limiters.map((limiter) => limiter.take(`key ${rate}`, rate));
        for (let n = 0; n < rate / 60; n++) takes.push(...limiters.map((limiter) => limiter.take(`key ${rate}`, rate)));
        admitted += (await Promise.all(takes)).filter(({ allowed }) => allowed).length;
        pass(50);
      }
      assert.ok(admitted >= 0.95 * 3 * rate - 1 && admitted <= 3 * rate, `${admitted} of ${3 * rate}`);
    }
  });
});
