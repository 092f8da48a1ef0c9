// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createIdempotentOperation, INTENT_LIMITS, type Task } from "../../lib/http/intents/idempotent_operation.ts";
import { openStore } from "../../lib/store/open.ts";
import { START_MS } from "../webhooks/parts.ts";

const NAME = { keyId: "key1", kind: "webhook", key: "order-7" } as const;

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
  const once = createIdempotentOperation({ intents, clock, networkSeconds: () => nowMs / 1_000, newId });
  return {
    store,
    held,
    pass: (ms: number) => void (nowMs += ms),
    ask: (task: Pick<Task<string>, "repeat" | "work">) => once(NAME, { request: "ab".repeat(32), ...task }),
  };
}

test("who stood still at it, and is refused after another has done it, tells what the other came to", async () => {
  const { ask, pass, store } = await stage();
  const repeat = (result: string) => Promise.resolve(result);
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
  const repeat = (result: string) => Promise.resolve(result);
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
