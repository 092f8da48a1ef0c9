// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createOnce, INTENT_LIMITS, type Task } from "../../lib/http/intents/once.ts";
import { openStore } from "../../lib/store/open.ts";
import { START_MS } from "../webhooks/parts.ts";

const NAME = { keyId: "key1", kind: "prepare", key: "order-7" } as const;

/** A gateway's `once` on a clock that waits for nobody. */
async function stage() {
  let nowMs = START_MS;
  const store = await openStore("memory:", { now: () => nowMs });
  const clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    wait: (ms: number) => Promise.resolve(void (nowMs += ms)),
  };
  let ids = 0;
  const held = { beforeClaim: () => Promise.resolve() };
  const intents: typeof store.intents = {
    ...store.intents,
    async claim(step) {
      await held.beforeClaim();
      return await store.intents.claim(step);
    },
  };
  const newId = () => String(++ids).padStart(22, "0");
  const once = createOnce({ intents, clock, networkSeconds: () => nowMs / 1_000, newId });
  return {
    store,
    held,
    pass: (ms: number) => void (nowMs += ms),
    passedMs: () => nowMs - START_MS,
    ask: (task: Pick<Task<string>, "repeat" | "work">) => once(NAME, { request: "ab".repeat(32), ...task }),
  };
}

/** How it ended, and after how many milliseconds. */
async function ended(task: Pick<Task<string>, "repeat" | "work">) {
  const { ask, passedMs, store } = await stage();
  const answer = await ask(task).catch((error) => error);
  await store.close();
  return { answer, afterMs: passedMs() };
}

test("work that never is what it was when it was looked at is tried with pauses, and given up with a 409", async () => {
  let works = 0;
  const { answer, afterMs } = await ended({
    repeat: () => Promise.resolve(undefined),
    work() {
      assert.ok(++works < 1_000, "without a pause or an end");
      return Promise.resolve(undefined);
    },
  });
  assert.deepEqual([answer.status, answer.retry], [409, "same"], String(answer));
  assert.ok(works > 1 && works < 50, `${works} tries`);
  assert.ok(afterMs >= INTENT_LIMITS.waitMs && afterMs <= INTENT_LIMITS.waitMs + 1_000, `${afterMs} ms`);
});

test("work that is not what it was once is done after a pause", async () => {
  let works = 0;
  const { answer, afterMs } = await ended({
    repeat: () => assert.fail("nothing was answered yet"),
    work: () => Promise.resolve(++works === 1 ? undefined : { answer: "done", result: "done" }),
  });
  assert.equal(answer, "done");
  assert.ok(afterMs > 0 && afterMs < 100, `${afterMs} ms`);
});

test("who stood still at it, and is refused after another has done it, tells what the other came to", async () => {
  const { ask, pass, store } = await stage();
  const repeat = (result: string) => Promise.resolve({ answer: result });
  const answer = await ask({
    repeat,
    async work() {
      pass(INTENT_LIMITS.claimMs + 1);
      const done = { answer: "paid", result: "paid" };
      assert.equal(await ask({ repeat, work: () => Promise.resolve(done) }), "paid");
      throw new GatewayError("contract_refused", "there is nothing left to pay with");
    },
  });
  assert.equal(answer, "paid");
  await store.close();
});

test("who stood still before its claim tells what was done under the one that it had seen out of time", async () => {
  const { ask, pass, store, held } = await stage();
  const repeat = (result: string) => Promise.resolve({ answer: result });
  const goOn = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  let late: Promise<string> | undefined;
  const first = await ask({
    repeat,
    async work() {
      pass(INTENT_LIMITS.claimMs + 1);
      held.beforeClaim = () => (isAsked.resolve(), goOn.promise);
      late = ask({ repeat, work: () => Promise.resolve({ answer: "another", result: "another" }) });
      await isAsked.promise;
      return { answer: "first", result: "first" };
    },
  });
  goOn.resolve();
  assert.deepEqual([first, await late], ["first", "first"]);
  await store.close();
});
