// needs: neutral
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { OutputError, UsageError } from "../../cli/command.ts";
import { command } from "../../cli/keygen.ts";
import { hashKey, parseKey } from "../../lib/keys/api_key.ts";
import { parseKeyRecords } from "../../lib/keys/key_record.ts";
import { openStore } from "../../lib/store/open.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { folderForTests } from "../folder.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");
const KEY = ["--name", "shop", "--scopes", "read,write"];

const folder = folderForTests();
let count = 0;

const newStore = () => `sqlite:${join(folder, `gateway${count++}.db`)}`;

async function keygen(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo({ now: NOW, ...options });
  const code = await runCommand(command, args, io);
  return { code, out: io.out, err: io.err };
}

async function usage(args: string[], env: Record<string, string> = {}): Promise<string> {
  const io = fakeIo({ now: NOW, env });
  const error = await command.run(args, io).then(() => assert.fail("nothing was refused"), (error) => error);
  assert.ok(error instanceof UsageError, String(error));
  assert.equal(io.out, "");
  return error.message;
}

async function keysIn(setting: string) {
  const store = await openStore(setting);
  try {
    return await store.keys.list({ limit: 100 });
  } finally {
    await store.close();
  }
}

describe("keygen", () => {
  test("prints only the key on standard output, and stores only its hash", async () => {
    const store = newStore();
    const { code, out, err } = await keygen([...KEY, "--rate", "600", "--store", store]);
    assert.equal(code, 0);
    const key = out.trimEnd();
    assert.equal(out, key + "\n");
    const parsed = parseKey(key);
    assert.ok("id" in parsed);
    assert.deepEqual(await keysIn(store), [{
      ...{ id: parsed.id, name: "shop", hash: hashKey(key), scopes: ["read", "write"] },
      ...{ rate: 600, disabled: false, createdAt: "2026-03-01T12:00:00.000Z" },
    }]);
    assert.ok(err.includes(store) && err.includes(parsed.id) && err.includes("600 requests a minute"), err);
    assert.ok(!err.includes(key));
  });

  test("names the store by its absolute path", async () => {
    const { err } = await keygen([...KEY, "--store", newStore()]);
    assert.ok(err.includes(` is stored in sqlite:${folder}`), err);
  });

  test("prints one line of JSON with --json, and nothing beside it", async () => {
    const store = newStore();
    const { out, err } = await keygen([...KEY, "--expires", "90d", "--json", "--store", store]);
    const { key, id, ...rest } = JSON.parse(out);
    assert.deepEqual(parseKey(key), { id });
    const expiresAt = "2026-05-30T12:00:00.000Z";
    assert.deepEqual(rest, { name: "shop", scopes: ["read", "write"], rate: null, expiresAt, store });
    assert.equal(out.split("\n").length, 2);
    assert.equal(err, "");
  });

  test("takes an expiry as a span or as a time", async () => {
    const expiries: [text: string, expiresAt: string][] = [
      ["12h", "2026-03-02T00:00:00.000Z"],
      ["1d", "2026-03-02T12:00:00.000Z"],
      ["2026-12-24", "2026-12-24T00:00:00.000Z"],
      ["2026-12-24T18:00:00+01:00", "2026-12-24T17:00:00.000Z"],
    ];
    for (const [text, expiresAt] of expiries) {
      const { out } = await keygen([...KEY, "--expires", text, "--record"]);
      assert.equal(parseKeyRecords(out)[0]!.expiresAt, expiresAt);
    }
  });

  test("stores the key in a keys file with mode 0600", async () => {
    const path = join(folder, "keys.json");
    const { out, err } = await keygen([...KEY, "--keys-file", path]);
    await keygen([...KEY, "--keys-file", path]);
    const records = parseKeyRecords(await readFile(path, "utf8"));
    assert.equal(records.length, 2);
    assert.equal(records[0]!.hash, hashKey(out.trimEnd()));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.ok(err.includes(`is stored in file:${path}`), err);
  });

  test("deletes a key that could not be printed, in each kind of place", async () => {
    const setting = newStore();
    const path = join(folder, "withdrawn.json");
    for (const outputError of [new OutputError("the disk is full"), new OutputError("who read it has gone", true)]) {
      for (const place of [["--store", setting], ["--keys-file", path]]) {
        const { code, err } = await keygen([...KEY, ...place], { outputError });
        assert.equal(code, 1);
        assert.match(err, /^gateway keygen: .* so the key was deleted again from (sqlite|file):/);
      }
    }
    assert.deepEqual(await keysIn(setting), []);
    assert.deepEqual(parseKeyRecords(await readFile(path, "utf8")), []);
  });

  test("creates no key when standard output is closed", async () => {
    const path = join(folder, "unread.json");
    const { code, err } = await keygen([...KEY, "--keys-file", path], { isOutputUnread: true });
    assert.equal(code, 1);
    assert.match(err, /standard output is closed, so no key was created/);
    await assert.rejects(stat(path), { code: "ENOENT" });
  });

  test("with --record prints a record for SERVICE_API_KEYS, and the key on standard error", async () => {
    const { out, err } = await keygen([...KEY, "--record"], { env: { SERVICE_API_KEYS: "[]" } });
    const [record] = parseKeyRecords(out);
    assert.equal(out, JSON.stringify(record) + "\n");
    const key = err.split("\n")[0]!;
    assert.deepEqual(parseKey(key), { id: record!.id });
    assert.equal(hashKey(key), record!.hash);
  });

  test("with --record prints no record when the key cannot be printed", async () => {
    const errorOutputError = new OutputError("standard error cannot be written: the disk is full");
    const { code, out } = await keygen([...KEY, "--record"], { errorOutputError });
    assert.deepEqual([code, out], [1, ""]);
  });

  test("with --record and --json prints key and record in one line", async () => {
    const { out, err } = await keygen([...KEY, "--record", "--json"]);
    const { key, record, store } = JSON.parse(out);
    assert.equal(hashKey(key), record.hash);
    assert.equal(store, null);
    assert.equal(err, "");
  });

  test("stores the key in the place of the environment by default", async () => {
    const path = join(folder, "environment.json");
    const store = newStore();
    const env = { SERVICE_API_STORE: store, SERVICE_API_KEYS_FILE: path, SERVICE_API_KEYS: "" };
    await keygen(KEY, { env });
    assert.equal(parseKeyRecords(await readFile(path, "utf8")).length, 1);
    await keygen(KEY, { env: { ...env, SERVICE_API_KEYS_FILE: "" } });
    assert.equal((await keysIn(store)).length, 1);
    await keygen([...KEY, "--store", store], { env });
    assert.equal((await keysIn(store)).length, 2, "a flag beats the environment");
  });

  test("advises --record when SERVICE_API_KEYS holds the keys", async () => {
    const message = await usage(KEY, { SERVICE_API_KEYS: "[]" });
    assert.match(message, /SERVICE_API_KEYS/);
    assert.match(message, /--record/);
  });

  const until = (text: string) => [...KEY, "--expires", text];
  const wrong: [string, string[], RegExp][] = [
    ["no name", ["--scopes", "read"], /--name is missing/],
    ["no scopes", ["--name", "shop"], /--scopes is missing: pass one or more of read,write,webhooks/],
    ["an unknown scope", ["--name", "shop", "--scopes", "read,all"], /--scopes must be some of .*; got "all"/],
    ["an empty scope", ["--name", "shop", "--scopes", "read,"], /--scopes must be some of .*; got ""/],
    ["a rate that is none", [...KEY, "--rate", "fast"], /--rate must be an integer from 1 to 1000000; got "fast"/],
    ["a rate of 0", [...KEY, "--rate", "0"], /--rate must be .*; got "0"/],
    ["a negative rate", [...KEY, "--rate", "-5"], /--rate must be .*; got "-5"/],
    ["an expiry that is past", until("2026-02-28"), /--expires must be in the future; got "2026-02-28"/],
    ["an expiry of no days", until("0d"), /--expires must be in the future; got "0d"/],
    ["an expiry that is none", until("never"), /--expires must be a date .*12h, 90d\); got "never"/],
    ["an expiry without its zone", until("2027-01-31T12:00"), /--expires must be an ISO 8601 .* its zone/],
    [
      "an expiry that is too far",
      until("99999999d"),
      /^--expires must be before the year 10000 in UTC; got "99999999d"$/,
    ],
    [
      "an expiry that is in the year 10000 by UTC",
      until("9999-12-31T23:59:59-05:00"),
      /^--expires must be before the year 10000 in UTC; got "9999/,
    ],
    ["a name that is no UTF-8", ["--name", "a\ufffd", "--scopes", "read"], /^--name must be valid UTF-8; got/],
    [
      "a store that is none",
      [...KEY, "--store", "foo"],
      /^--store must be sqlite:PATH(, deno-kv:PATH)? or postgres:.*; got "foo"$/,
    ],
    ["two places", [...KEY, "--store", "sqlite:a", "--keys-file", "b"], /--store and --keys-file exclude each other/],
    ["a place for a record", [...KEY, "--record", "--store", "sqlite:a"], /--record does not store the key/],
    ["a store in memory", [...KEY, "--store", "memory:"], /^--store must be a store on disk .*; got memory:$/],
    ["an unknown flag", [...KEY, "--scope", "read"], /^unknown flag --scope; did you mean --scopes\?$/],
    ["a flag without its value", ["--name", "--scopes", "read"], /--name needs a value/],
    ["a flag twice", [...KEY, "--name", "b"], /--name is given twice/],
    ["a switch with a value", [...KEY, "--json=yes"], /--json takes no value/],
    ["what is no flag", [...KEY, "extra"], /unexpected "extra"/],
  ];
  for (const [what, args, message] of wrong) {
    test(`refuses ${what}, naming it`, async () => assert.match(await usage(args), message));
  }

  test("prints no key when the store cannot be used, but the cause in one line", async () => {
    const places = [["--store", `sqlite:${folder}/none/gateway.db`], ["--keys-file", `${folder}/none/keys.json`]];
    for (const place of places) {
      const { code, out, err } = await keygen([...KEY, ...place]);
      assert.equal(code, 1);
      assert.equal(out, "");
      assert.ok(err.includes(`${folder}/none`) && err.trimEnd().split("\n").length === 1, err);
    }
  });
});
