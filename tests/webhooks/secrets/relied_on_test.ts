// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { recipientOf } from "../../../lib/webhooks/delivery/attempt.ts";
import { createDeliveryWorker } from "../../../lib/webhooks/delivery/worker.ts";
import { rotateSecret } from "../../../lib/webhooks/secrets/rotation.ts";
import { createSecretCipher } from "../../../lib/webhooks/secrets/secrets.ts";
import { createTestClock, type TestClock } from "../../test_clock.ts";
import {
  type Answer,
  append,
  eventAt,
  insert,
  memoryStore,
  scriptedAttempts,
  START_MS,
  subscriptionOf,
} from "../parts.ts";

/** A gateway that posts one event after the other to a webhook, whose secret another gateway rotates. */
async function rotationStage(answer: (secrets: number, clock: TestClock) => Answer) {
  const store = await memoryStore();
  const clock = createTestClock(START_MS);
  const cipher = createSecretCipher(undefined);
  await insert(store, subscriptionOf("wh_1"));
  await append(store, Array.from({ length: 200 }, (_, n) => eventAt(101 + n)), 300);
  /** When each was posted, and how many secrets signed it. */
  const posted: { atMs: number; secrets: number }[] = [];
  const worker = createDeliveryWorker({
    store,
    clock,
    attempt(request, signal) {
      const secrets = request.recipient.secrets.length;
      posted.push({ atMs: clock.now(), secrets });
      return scriptedAttempts(clock, () => answer(secrets, clock)).attempt(request, signal);
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
    await rotateSecret({ ...parts, now: clock.now }, subscription);
  }
  async function stop(): Promise<void> {
    let isStopped = false;
    void worker.stop({ drainMs: 0 }).then(() => isStopped = true);
    await passUntil(() => isStopped);
  }
  worker.start();
  await passUntil(() => posted.length > 20);
  return { store, clock, posted, passUntil, rotate, stop };
}

test("a receiver that relies on the new secret at once loses nothing: what has only the old signature is posted again", async () => {
  let answeredMs = Infinity;
  let posts = 0;
  const { store, clock, posted, passUntil, rotate, stop } = await rotationStage(async (secrets, clock) => {
    // The receiver starts again with the new secret, and a proxy before it lets what comes meanwhile wait.
    await clock.wait(++posts === 25 ? 8_000 : 50);
    return secrets < 2 && clock.now() >= answeredMs ? "rejected" : "delivered";
  });
  await passUntil(() => posted.length === 25);
  void rotate().then(() => answeredMs = clock.now());
  await passUntil(() => posted.length > 150);
  assert.ok(answeredMs < clock.now());
  const { rejected, retrying } = (await store.deliveries.consumer("wh_1"))!.progress;
  assert.deepEqual({ rejected, retrying }, { rejected: 0, retrying: 0 });
  await stop();
});
