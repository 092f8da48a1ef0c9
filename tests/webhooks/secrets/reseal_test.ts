// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { rekeySecrets, sealSecrets } from "../../../lib/webhooks/secrets/reseal.ts";
import { createSecretCipher, type SecretCipher, SecretsKeyError } from "../../../lib/webhooks/secrets/secrets.ts";
import { bentStore } from "../../store/bent_store.ts";
import { insert, memoryStore, subscriptionOf } from "../parts.ts";

const plain = createSecretCipher(undefined);
const first = createSecretCipher("01".repeat(32));
const second = createSecretCipher("02".repeat(32));
const idOf = (n: number) => `wh_${String(n).padStart(4, "0")}`;
const secretOf = (n: number) => `whsec_${btoa(`secret number ${n} of all of these`)}`;
const COUNT = 250;

/** A store with plain secrets, every tenth during a rotation. */
async function storeWithSecrets(): Promise<Store> {
  const store = await memoryStore();
  for (let n = 0; n < COUNT; n++) {
    const previousSecret = n % 10 === 0 ? { secret: `${secretOf(n)}old`, untilMs: 5 } : null;
    await insert(store, subscriptionOf(idOf(n), { secret: secretOf(n), previousSecret }));
  }
  return store;
}

/** Asserts that this cipher opens every stored secret, and that the secrets are unchanged. */
async function assertKeptBy(store: Store, cipher: SecretCipher): Promise<void> {
  for (let n = 0; n < COUNT; n++) {
    const { id, secret, previousSecret } = (await store.subscriptions.get(idOf(n)))!;
    assert.ok(cipher.isCurrent(secret), secret.slice(0, 12));
    assert.equal(cipher.open(id, secret), secretOf(n));
    if (n % 10 !== 0) continue;
    assert.ok(cipher.isCurrent(previousSecret!.secret));
    assert.equal(cipher.open(id, previousSecret!.secret), `${secretOf(n)}old`);
    assert.equal(previousSecret!.untilMs, 5);
  }
  assert.equal(cipher.compare(await store.subscriptions.secretsCheck()), "same");
}

test("without a key the start leaves secrets plain", async () => {
  const store = await storeWithSecrets();
  assert.equal(await sealSecrets(store, plain), 0);
  await assertKeptBy(store, plain);
});

test("the first start with a key seals every secret, and the next start changes nothing", async () => {
  const store = await storeWithSecrets();
  assert.equal(await sealSecrets(store, first), COUNT);
  await assertKeptBy(store, first);
  assert.equal(await sealSecrets(store, first), 0);
});

test("a start seals a secret that another gateway rotates meanwhile, and loses no secret", async () => {
  const store = await storeWithSecrets();
  const rotated = `whsec_${btoa("rotated by a gateway that runs beside")}`;
  let isRotated = false;
  const beside = bentStore(store, {
    subscriptions: {
      async setSecrets(step) {
        if (!isRotated && step.secrets.some(({ id }) => id === idOf(7))) {
          isRotated = true;
          const previousSecret = { secret: secretOf(7), untilMs: 9 };
          const rotation = { id: idOf(7), expectedSecret: secretOf(7), secret: rotated, previousSecret };
          assert.equal(await store.subscriptions.setSecrets({ secrets: [rotation] }), 1);
        }
        return await store.subscriptions.setSecrets(step);
      },
    },
  });
  assert.equal(await sealSecrets(beside, first), COUNT);
  const { secret, previousSecret } = (await store.subscriptions.get(idOf(7)))!;
  assert.ok(first.isCurrent(secret) && first.isCurrent(previousSecret!.secret));
  assert.deepEqual([first.open(idOf(7), secret), first.open(idOf(7), previousSecret!.secret)], [rotated, secretOf(7)]);
  assert.equal(await sealSecrets(store, first), 0);
});

test("a start with another key or without a key fails and changes nothing", async () => {
  const store = await storeWithSecrets();
  await sealSecrets(store, first);
  await assert.rejects(sealSecrets(store, second), SecretsKeyError);
  await assert.rejects(sealSecrets(store, plain), SecretsKeyError);
  await assertKeptBy(store, first);
});

test("of two gateways that start at once with different keys one fails, and the other one's key seals all secrets", async () => {
  const store = await storeWithSecrets();
  const ciphers = [first, second];
  const ends = await Promise.allSettled(ciphers.map((cipher) => sealSecrets(store, cipher)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const refused = ends.find((end) => end.status === "rejected")!;
  assert.ok(refused.reason instanceof SecretsKeyError, String(refused.reason));
  await assertKeptBy(store, ciphers[ends.findIndex(({ status }) => status === "fulfilled")]!);
});

test("an empty store rejects another key than the first one", async () => {
  const store = await memoryStore();
  assert.equal(await sealSecrets(store, first), 0);
  await assert.rejects(sealSecrets(store, second), SecretsKeyError);
});

for (
  const [what, from, to] of [
    ["to another key", first, second],
    ["from plain to a key", plain, first],
    ["from a key to plain", first, plain],
  ] as const
) {
  test(`a rekey ${what} completes after many interruptions`, async () => {
    const store = await storeWithSecrets();
    if (from.seals) await sealSecrets(store, from);
    let count = 0;
    const cutOff = bentStore(store, {
      subscriptions: {
        setSecrets: async (step) => {
          if (count++ % 4 === 2) throw new Error("cut off before");
          const rewritten = await store.subscriptions.setSecrets(step);
          if (count % 5 === 4) throw new Error("cut off after");
          return rewritten;
        },
      },
    });
    let interruptions = 0;
    for (let isDone = false; !isDone;) {
      isDone = await rekeySecrets(cutOff, { from, to }).then(() => true, () => false);
      if (isDone) break;
      interruptions++;
      const halfway = await sealSecrets(store, from).then(() => undefined, (error) => error);
      if (halfway !== undefined) assert.match(halfway.message, /was interrupted; run `gateway secrets rekey` again/);
    }
    assert.ok(interruptions >= 2);
    await assertKeptBy(store, to);
  });
}

test("a rekey from a wrong key fails and changes nothing", async () => {
  const store = await storeWithSecrets();
  await sealSecrets(store, first);
  await assert.rejects(rekeySecrets(store, { from: second, to: plain }), SecretsKeyError);
  await assert.rejects(rekeySecrets(store, { from: plain, to: second }), SecretsKeyError);
  await assertKeptBy(store, first);
});
