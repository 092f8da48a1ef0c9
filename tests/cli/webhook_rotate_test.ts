// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { OutputError } from "../../cli/command.ts";
import { reportFailure } from "../../cli/failure.ts";
import { rotateWebhook } from "../../cli/webhook_changes.ts";
import { command } from "../../cli/webhooks.ts";
import { openStore } from "../../lib/store/open.ts";
import { HEEDED_MS } from "../../lib/webhooks/delivery/eligibility.ts";
import { sealSecrets } from "../../lib/webhooks/secrets/reseal.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";
import { START_MS, subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const KEY = "01".repeat(32);
const OTHER = "02".repeat(32);
const UNTIL = new Date(START_MS + 86_400_000).toISOString();

const beside = storeBeside((store) => store.subscriptions.insert(subscriptionOf("wh_all"), 100));

const stored = async () => (await beside.store.subscriptions.get("wh_all"))!;
const storedConsumer = async () => (await beside.store.deliveries.consumer("wh_all"))!;

async function rotate(options: FakeIoOptions = {}, json = false) {
  const io = fakeIo({ now: START_MS, ...options });
  const waits: number[] = [];
  const wait = (ms: number) => Promise.resolve(void waits.push(ms));
  const code = await rotateWebhook({ store: beside.store, io, wait, consumer: await storedConsumer(), json })
    .catch((error) => reportFailure("webhooks", error, io));
  return { code, out: io.out, err: io.err, waits };
}

test("rotate prints only the new secret, and the old one signs too for a day", async () => {
  const { secret: before } = await stored();
  const { code, out, err, waits } = await rotate();
  assert.equal(code, 0);
  assert.match(out, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  assert.equal(
    err,
    `The new secret of wh_all in ${beside.setting}. Copy it now. It signs from now on. ` +
      `The old secret signs too until ${UNTIL}.\n`,
  );
  assert.deepEqual(waits, [HEEDED_MS]);
  const { secret, previousSecret } = await stored();
  assert.deepEqual([secret, previousSecret], [out.trim(), { secret: before, untilMs: START_MS + 86_400_000 }]);
});

test("on a shared store the old secret signs for a day by the store's clock, not by this machine's", async () => {
  const store = await openStore("memory:", { now: () => START_MS, isShared: true });
  await store.subscriptions.insert(subscriptionOf("wh_all"), 100);
  const io = fakeIo({ now: START_MS - 20 * 3_600_000 });
  const consumer = (await store.deliveries.consumer("wh_all"))!;
  assert.equal(await rotateWebhook({ store, io, wait: () => Promise.resolve(), consumer, json: true }), 0);
  const { previousSecret } = (await store.subscriptions.get("wh_all"))!;
  const wrongByMs = Math.abs(previousSecret!.untilMs - (START_MS + 86_400_000));
  assert.ok(wrongByMs < 60_000, `${wrongByMs} ms`);
});

test("rotate --json prints the answer of POST /v1/webhooks/{id}/secret", async () => {
  const { out, err } = await rotate({}, true);
  const { id, url, types, deviceHash, merchant, createdAt, secret } = await stored();
  assert.equal(err, "");
  assert.deepEqual(JSON.parse(out), {
    ...{ id, url, types, deviceHash, merchant, ordered: false, createdAt, secret },
    ...{ failingSince: null, retrying: 0, rejected: 0, dead: 0 },
    previousSecretUntil: UNTIL,
  });
});

test("rotate encrypts the new secret as the gateway does, and refuses with another key", async () => {
  await sealSecrets(beside.store, createSecretCipher(KEY));
  const { code, out } = await rotate({ env: { SERVICE_API_SECRETS_KEY: KEY } });
  assert.equal(code, 0);
  const { secret } = await stored();
  assert.equal(createSecretCipher(KEY).open("wh_all", secret), out.trim());
  const wrong: [Record<string, string>, RegExp][] = [
    [{}, /SERVICE_API_SECRETS_KEY is not set, but the webhook secrets in the store are sealed/],
    [{ SERVICE_API_SECRETS_KEY: OTHER }, /SERVICE_API_SECRETS_KEY is not the key/],
    [{ SERVICE_API_SECRETS_KEY: "short" }, /SERVICE_API_SECRETS_KEY must be 32 bytes/],
  ];
  for (const [env, message] of wrong) {
    const refused = await rotate({ env });
    assert.deepEqual([refused.code, refused.out], [2, ""]);
    assert.match(refused.err, message);
  }
  assert.equal((await stored()).secret, secret);
});

test("rotate refuses a key for a store with unencrypted secrets, and during an interrupted change of the key", async () => {
  const plain = await rotate({ env: { SERVICE_API_SECRETS_KEY: KEY } });
  assert.deepEqual([plain.code, plain.out], [2, ""]);
  assert.match(plain.err, /is set, but the store holds unencrypted secrets/);
  await beside.store.subscriptions.setSecrets({ secrets: [], check: "rekey-under-way" });
  const underWay = await rotate({ env: { SERVICE_API_SECRETS_KEY: KEY } });
  assert.deepEqual([underWay.code, underWay.out], [2, ""]);
  assert.match(underWay.err, /a change of SERVICE_API_SECRETS_KEY was interrupted; run `gateway secrets rekey` again/);
});

test("rotate changes nothing when standard output is closed, and reports a secret that it could not print", async () => {
  const { secret } = await stored();
  const unread = await rotate({ isOutputUnread: true });
  assert.equal(unread.code, 1);
  assert.match(unread.err, /standard output is closed, so the secret was not rotated\n$/);
  assert.equal((await stored()).secret, secret);
  const full = await rotate({ outputError: new OutputError("standard output cannot be written: the disk is full") });
  assert.equal(full.code, 1);
  assert.match(full.err, /the disk is full, so the new secret of wh_all is not shown: rotate again before 2/);
  assert.ok(!full.err.includes("whsec_"));
});

test("rotate refuses an unknown webhook, and does not overwrite a secret that another command has just made", async () => {
  const io = fakeIo();
  assert.equal(await runCommand(command, ["rotate", "wh_1", "--store", beside.setting], io), 1);
  assert.equal(io.err, `gateway webhooks: there is no webhook "wh_1" in ${beside.setting}\n`);
  const consumer = await storedConsumer();
  await rotate();
  const { secret } = await stored();
  const call = {
    store: beside.store,
    io: fakeIo({ now: START_MS }),
    wait: () => Promise.resolve(),
    consumer,
    json: false,
  };
  await assert.rejects(rotateWebhook(call), /wh_all is deleted, or another command has just rotated its secret/);
  assert.equal((await stored()).secret, secret);
});
