// needs: once
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommandLine } from "../../cli/command_line.ts";
import { command as secretsCommand } from "../../cli/secrets.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";
import { sampleKey } from "../store/samples.ts";
import { subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const beside = storeBeside(async (store) => {
  await store.keys.insert(sampleKey("key1"));
  for (const id of ["wh_all", "wh_other"]) await store.subscriptions.insert(subscriptionOf(id), 100);
});

const KEY = "01".repeat(32);
const OTHER = "02".repeat(32);
const THIRD = "03".repeat(32);

async function rekey(env: Record<string, string>, ...args: string[]) {
  const io = fakeIo({ env });
  const code = await runCommand(secretsCommand, ["rekey", "--store", beside.setting, ...args], io);
  assert.ok(![KEY, OTHER].some((key) => (io.out + io.err).includes(key)), "a key was printed");
  return { code, out: io.out, err: io.err };
}

test("secrets rekey turns encryption on, changes the key and turns it off again", async () => {
  const plain = (await beside.store.subscriptions.get("wh_all"))!.secret;
  const on = await rekey({ SERVICE_API_NEW_SECRETS_KEY: KEY });
  assert.equal(on.code, 0);
  assert.match(on.out, /^the secrets of 2 webhooks in .* are encrypted with the new key: start the gateway with it/);
  const sealed = (await beside.store.subscriptions.get("wh_all"))!.secret;
  assert.equal(createSecretCipher(KEY).open("wh_all", sealed), plain);
  const changed = await rekey({ SERVICE_API_SECRETS_KEY: KEY, SERVICE_API_NEW_SECRETS_KEY: OTHER });
  assert.equal(changed.code, 0);
  const resealed = (await beside.store.subscriptions.get("wh_all"))!.secret;
  assert.equal(createSecretCipher(OTHER).open("wh_all", resealed), plain);
  const off = await rekey({ SERVICE_API_SECRETS_KEY: OTHER }, "--off");
  assert.match(off.out, /^the secrets of 2 webhooks in .* are unencrypted: start the gateway without/);
  assert.equal((await beside.store.subscriptions.get("wh_all"))!.secret, plain);
});

test("secrets rekey shows its progress only where standard error is a terminal", async () => {
  const args = ["rekey", "--store", beside.setting];
  const inFile = fakeIo({ env: { SERVICE_API_NEW_SECRETS_KEY: KEY }, isTerminal: true, isErrorTerminal: false });
  assert.equal(await runCommand(secretsCommand, args, inFile), 0);
  assert.equal(inFile.err, "");
  const seen = fakeIo({ env: { SERVICE_API_SECRETS_KEY: KEY }, isTerminal: false, isErrorTerminal: true });
  assert.equal(await runCommand(secretsCommand, [...args, "--off"], seen), 0);
  assert.ok(seen.err.endsWith("2 webhooks\r\x1b[K"), seen.err);
});

test("secrets rekey reports a change that is already done", async () => {
  assert.match((await rekey({}, "--off")).out, /^the secrets of webhooks in .* are already unencrypted: start/);
  const env = { SERVICE_API_SECRETS_KEY: OTHER, SERVICE_API_NEW_SECRETS_KEY: KEY };
  await rekey({ SERVICE_API_NEW_SECRETS_KEY: OTHER });
  assert.match((await rekey(env)).out, /^the secrets of 2 webhooks in .* are encrypted with the new key/);
  const again = await rekey(env);
  assert.equal(again.code, 0);
  assert.match(again.out, /^the secrets of webhooks in .* are already encrypted with this key: start the gateway/);
});

test("secrets rekey refuses a wrong or malformed key, naming its variable", async () => {
  await rekey({ SERVICE_API_NEW_SECRETS_KEY: KEY });
  const wrong = await rekey({ SERVICE_API_SECRETS_KEY: OTHER, SERVICE_API_NEW_SECRETS_KEY: THIRD });
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /^gateway secrets: SERVICE_API_SECRETS_KEY is not the key/);
  const none = await rekey({ SERVICE_API_SECRETS_KEY: KEY, SERVICE_API_NEW_SECRETS_KEY: "short" });
  assert.equal(none.code, 2);
  assert.match(none.err, /^gateway secrets: SERVICE_API_NEW_SECRETS_KEY must be 32 bytes/);
  await assert.rejects(rekey({}), /SERVICE_API_NEW_SECRETS_KEY is not set/);
});

test("secrets rekey is refused while a gateway serves the store", async () => {
  await beside.store.holdForServing();
  const refused = await rekey({ SERVICE_API_NEW_SECRETS_KEY: KEY });
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^gateway secrets: a gateway serves sqlite:.* stop it first\n$/);
});

test("serve ends with 2 and names the cause when the secrets key is wrong, missing or malformed", async () => {
  await rekey({ SERVICE_API_NEW_SECRETS_KEY: KEY });
  const wrong: [Record<string, string>, RegExp][] = [
    [{ SERVICE_API_SECRETS_KEY: OTHER }, /^gateway serve: SERVICE_API_SECRETS_KEY is not the key/],
    [{}, /^gateway serve: SERVICE_API_SECRETS_KEY is not set, but the webhook secrets in the store are sealed/],
    [{ SERVICE_API_SECRETS_KEY: "short" }, /^gateway serve: SERVICE_API_SECRETS_KEY must be 32 bytes/],
  ];
  for (const [env, message] of wrong) {
    const io = fakeIo({ env });
    const args = ["serve", "--port", "0", "--store", beside.setting, "--rpc-url", "http://127.0.0.1:9"];
    assert.equal(await runCommandLine(args, io), 2);
    assert.match(io.err, message);
  }
});

test("the example of the help keeps the new key in a file", async () => {
  const example = secretsCommand.help(Infinity).split("\n").find((line) => line.includes("openssl"))!;
  const folder = await mkdtemp(join(tmpdir(), "rekey-"));
  try {
    const made = 'openssl() { echo "the key that was made"; }; gateway() { printenv SERVICE_API_NEW_SECRETS_KEY; }';
    const options = { cwd: folder, encoding: "utf8" } as const;
    const given = execFileSync("sh", ["-c", `${made}; ${example.trim()}`], options);
    assert.equal(given, "the key that was made\n");
    const kept = (await readdir(folder)).map((name) => readFileSync(join(folder, name), "utf8"));
    assert.ok(kept.includes(given), "what the secrets are encrypted with from now on is nowhere");
  } finally {
    await rm(folder, { recursive: true });
  }
});
