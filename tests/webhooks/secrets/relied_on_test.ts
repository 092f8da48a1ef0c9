// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Store } from "../../../lib/store/store.ts";
import { recipientOf } from "../../../lib/webhooks/delivery/attempt.ts";
import { createDeliveryWorker } from "../../../lib/webhooks/delivery/worker.ts";
import { rotateSecret } from "../../../lib/webhooks/secrets/rotation.ts";
import { createSecretCipher } from "../../../lib/webhooks/secrets/secrets.ts";
import { bentStore } from "../../store/bent_store.ts";
import { createTestClock, type TestClock } from "../../test_clock.ts";
import { answersAfter } from "../delivery/worker_stage.ts";
import {
  type Answer,
  append,
  bending,
  eventAt,
  insert,
  memoryStore,
  scriptedAttempts,
  START_MS,
  subscriptionOf,
} from "../parts.ts";

/** A gateway that posts one event after the other to a webhook, whose secret another gateway rotates. */
async function rotationStage(
  bend: (store: Store, clock: TestClock) => Store = (store) => store,
  answer?: (secrets: number, clock: TestClock) => Answer,
) {
  const store = await memoryStore();
  const clock = createTestClock(START_MS);
  const cipher = createSecretCipher(undefined);
  await insert(store, subscriptionOf("wh_1"));
  await append(store, Array.from({ length: 200 }, (_, n) => eventAt(101 + n)), 300);
  const script = scriptedAttempts(clock, (post) => answersAfter(50)(post, clock));
  /** When each was posted, and how many secrets signed it. */
  const posted: { atMs: number; secrets: number }[] = [];
  const worker = createDeliveryWorker({
    store: bend(store, clock),
    clock,
    attempt(request, signal) {
      const secrets = request.recipient.secrets.length;
      posted.push({ atMs: clock.now(), secrets });
      const { attempt } = answer === undefined ? script : scriptedAttempts(clock, () => answer(secrets, clock));
      return attempt(request, signal);
    },
    isKeyEnabled: () => Promise.resolve(true),
    recipient: (subscription) => recipientOf(subscription, cipher.open, clock.now()),
    message: ({ id, type }) => ({ id, type, json: "{}" }),
    holder: "worker",
    onAttempt: () => {},
    onProblem: (message, cause) => assert.fail(`${message}: ${cause}`),
    limits: { postsPerEndpoint: 1 },
    gatherMs: 1,
  });
  async function passUntil(isOver: () => boolean): Promise<void> {
    for (let passed = 0; passed < 20_000 && !isOver(); passed += 10) {
      for (let turn = 0; turn < 20; turn++) await yieldToOthers();
      clock.advance(10);
    }
  }
  async function rotate(): Promise<void> {
    const subscription = (await store.subscriptions.get("wh_1"))!;
    const parts = { store, secrets: cipher, createSecret: () => `whsec_${btoa("another secret of the same")}` };
    await rotateSecret({ ...parts, now: clock.now, wait: clock.wait }, subscription);
  }
  async function stop(): Promise<void> {
    let isStopped = false;
    void worker.stop({ drainMs: 0 }).then(() => isStopped = true);
    await passUntil(() => isStopped);
  }
  /** Asserts that all posts from this time on are signed with the new secret, too. */
  function assertSigned(fromMs: number): void {
    const since = posted.filter(({ atMs }) => atMs >= fromMs);
    assert.ok(since.length > 20, "nothing was posted since");
    assert.deepEqual(since.filter(({ secrets }) => secrets < 2).map(({ atMs }) => atMs - fromMs), []);
  }
  worker.start();
  await passUntil(() => posted.length > 20);
  return { store, clock, worker, posted, passUntil, rotate, assertSigned, stop };
}

test("posts after the answer to a rotation have the new signature, also with a slow store", async () => {
  const { clock, posted, passUntil, rotate, assertSigned, stop } = await rotationStage((store, clock) =>
    bentStore(store, {
      events: {
        async bounds() {
          await clock.wait(800);
          return await store.events.bounds();
        },
      },
    })
  );
  let answeredMs = Infinity;
  void rotate().then(() => answeredMs = clock.now());
  await passUntil(() => posted.length > 150);
  assertSigned(answeredMs);
  await stop();
});

test("posts after the answer to a rotation have the new signature, also when an older read of the webhook ends later", async () => {
  let held: Promise<void> | undefined;
  const { clock, worker, posted, passUntil, rotate, assertSigned, stop } = await rotationStage(
    bending("deliveries", "consumer", async (consumer, id) => {
      const until = held;
      const answer = await consumer(id);
      await until;
      return answer;
    }),
  );
  const { promise, resolve: letGo } = Promise.withResolvers<void>();
  held = promise;
  void worker.changed("wh_1");
  held = undefined;
  let answeredMs = Infinity;
  void rotate().then(() => answeredMs = clock.now());
  await passUntil(() => answeredMs < Infinity);
  letGo();
  await passUntil(() => posted.length > 150);
  assertSigned(answeredMs);
  await stop();
});

test("the worker retries a post that was in flight during a rotation and got a 4xx for its old signature", async () => {
  let answeredMs = Infinity;
  let posts = 0;
  const { store, clock, posted, passUntil, rotate, stop } = await rotationStage(
    undefined,
    async (secrets, clock) => {
      // The receiver restarts with the new secret, and its proxy delays requests meanwhile.
      await clock.wait(++posts === 25 ? 8_000 : 50);
      return secrets < 2 && clock.now() >= answeredMs ? "rejected" : "delivered";
    },
  );
  await passUntil(() => posted.length === 25);
  void rotate().then(() => answeredMs = clock.now());
  await passUntil(() => posted.length > 150);
  assert.ok(answeredMs < clock.now());
  const { rejected, retrying } = (await store.deliveries.consumer("wh_1"))!.progress;
  assert.deepEqual({ rejected, retrying }, { rejected: 0, retrying: 0 });
  await stop();
});
