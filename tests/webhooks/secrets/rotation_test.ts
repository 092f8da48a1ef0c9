// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GatewayError } from "../../../lib/errors.ts";
import { recipientOf } from "../../../lib/webhooks/delivery/attempt.ts";
import { HEEDED_MS } from "../../../lib/webhooks/delivery/eligibility.ts";
import { sealSecrets } from "../../../lib/webhooks/secrets/reseal.ts";
import { isRotatedSince } from "../../../lib/webhooks/secrets/rotation.ts";
import { createSecretCipher } from "../../../lib/webhooks/secrets/secrets.ts";
import { signatureHeaders } from "../../../lib/webhooks/delivery/signature.ts";
import { insert, memoryStore, START_MS, subscriptionOf, subscriptionsOn } from "../parts.ts";

const HOUR_MS = 3_600_000;
const secretOf = (name: string) => `whsec_${btoa(`the secret with the name ${name}`)}`;

/** A subscription with the secret "a"; each rotation makes the next letter of it. */
async function createRotated() {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1", { secret: secretOf("a") }));
  let nowMs = START_MS;
  let letter = "a".charCodeAt(0);
  let cipher = createSecretCipher(undefined);
  const subscriptions = subscriptionsOn(store, {
    secrets: { ...cipher, seal: (id, plain) => cipher.seal(id, plain) },
    createSecret: () => secretOf(String.fromCharCode(++letter)),
    clock: { now: () => nowMs, monotonicMs: () => nowMs, wait: () => Promise.resolve() },
  });
  function signaturesOf({ secrets }: ReturnType<typeof recipientOf>): string[] {
    const headers = signatureHeaders({ secrets, eventId: "e", body: "{}", nowMs: START_MS });
    return headers["X-Service-Signature"]!.split(",").slice(1);
  }
  const nameOf = new Map([..."abcdefg"].map((name) => {
    const subscription = subscriptionOf("wh_1", { secret: secretOf(name) });
    return [signaturesOf(recipientOf(subscription, (_, stored) => stored, START_MS))[0]!, name];
  }));
  return {
    store,
    rotateAfter: async (hours: number) => {
      nowMs += hours * HOUR_MS;
      return await subscriptions.rotateSecret("key1", "wh_1");
    },
    async sealWith(key: string) {
      cipher = createSecretCipher(key);
      return await sealSecrets(store, cipher);
    },
    /** Which secrets sign so many hours later, in the order of their signatures. */
    async signAfter(hours: number) {
      nowMs += hours * HOUR_MS;
      const recipient = recipientOf((await store.subscriptions.get("wh_1"))!, cipher.open, nowMs);
      return signaturesOf(recipient).map((signature) => nameOf.get(signature)).join("");
    },
  };
}

test("after a rotation the former secret signs too for a day", async () => {
  const { rotateAfter, signAfter } = await createRotated();
  assert.equal(await signAfter(0), "a");
  await rotateAfter(0);
  assert.equal(await signAfter(23.9), "ba");
  assert.equal(await signAfter(0.2), "b");
});

test("after a second rotation within a day the first secret still signs until its own day ends", async () => {
  const { rotateAfter, signAfter } = await createRotated();
  await rotateAfter(0);
  await rotateAfter(20);
  assert.equal(await signAfter(3), "cba");
  assert.equal(await signAfter(2), "cb");
  assert.equal(await signAfter(20), "c");
});

test("the gateway refuses a third rotation while two former secrets sign, and names the time of the next one", async () => {
  const { rotateAfter, signAfter } = await createRotated();
  await rotateAfter(0);
  await rotateAfter(1);
  await assert.rejects(rotateAfter(1), (error: GatewayError) => {
    assert.match(error.message, /^two former secrets of wh_1 are still valid; rotate again after 2026-01-02T00:00:00/);
    assert.equal(error.retry, "same");
    return true;
  });
  assert.equal(await signAfter(0), "cba", "nothing has changed");
  await rotateAfter(22.1);
  assert.equal(await signAfter(0), "dcb", "when the first one's day is over");
});

test("a client that repeats a rotation within half a minute gets the same secret", async () => {
  const { rotateAfter, signAfter } = await createRotated();
  const { plainSecret } = await rotateAfter(0);
  for (const seconds of [0, 3, 25]) assert.equal((await rotateAfter(seconds / 3_600)).plainSecret, plainSecret);
  assert.equal(await signAfter(0), "ba");
  assert.notEqual((await rotateAfter(30 / 3_600)).plainSecret, plainSecret);
});

test("a rotation after more than a day keeps only the latest former secret", async () => {
  const { rotateAfter, signAfter } = await createRotated();
  await rotateAfter(0);
  await rotateAfter(1);
  await rotateAfter(30);
  assert.equal(await signAfter(0), "dc");
});

test("the current secret and both former ones sign after they are sealed", async () => {
  const { store, rotateAfter, sealWith, signAfter } = await createRotated();
  await rotateAfter(0);
  await rotateAfter(1);
  assert.equal(await sealWith("01".repeat(32)), 1);
  assert.equal(await signAfter(0), "cba");
  assert.ok(!JSON.stringify(await store.subscriptions.get("wh_1")).includes("whsec_"));
  assert.equal(await sealWith("01".repeat(32)), 0);
});

test("a post counts as earlier than a rotation until all workers must have the new secret", async () => {
  const { store, rotateAfter } = await createRotated();
  await rotateAfter(0);
  const subscription = (await store.subscriptions.get("wh_1"))!;
  const at = (ms: number) => isRotatedSince(subscription, START_MS + ms);
  assert.deepEqual([at(-1), at(0), at(HEEDED_MS - 1), at(HEEDED_MS)], [true, true, true, false]);
});
