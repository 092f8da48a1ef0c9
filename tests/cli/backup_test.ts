// needs: once
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { command } from "../../cli/backup.ts";
import { UsageError } from "../../cli/command.ts";
import { openStore } from "../../lib/store/open.ts";
import { runGateway } from "../e2e/sandbox_process.ts";
import { sampleKey } from "../store/samples.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { folderForTests } from "../folder.ts";

const folder = folderForTests();
let store: string;
before(async () => {
  store = `sqlite:${join(folder, "gateway.db")}`;
  const opened = await openStore(store);
  await opened.keys.insert(sampleKey("a"));
  await opened.close();
});

async function backup(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  const code = await runCommand(command, args, io);
  return { code, out: io.out, err: io.err };
}

describe("gateway backup", () => {
  test("a payment after the backup is not in the copy, and the help warns of paying twice", async () => {
    const path = join(folder, "before.db");
    assert.equal((await backup([path, "--store", store])).code, 0);
    const name = { keyId: "a", kind: "transaction" as const, key: "order-1" };
    const opened = await openStore(store);
    const intent = { request: "r", state: {} };
    const step = { name, seen: undefined, version: "v", intent, mostOfKey: 9, mostInAll: 9 };
    assert.equal(await opened.intents.set(step), "written");
    await opened.close();
    const copy = await openStore(`sqlite:${path}`);
    assert.equal(await copy.intents.get(name), undefined);
    await copy.close();
    assert.match(command.help(80).replace(/\s+/g, " "), /loses the keys, webhooks and idempotency keys.*pay twice/);
  });

  test("prints path and size of the copy, and the command to restore it", async () => {
    const path = join(folder, "copy.db");
    const { code, out, err } = await backup([path, "--store", store]);
    assert.equal(code, 0, err);
    const [said, restore] = out.split("\n");
    assert.ok(said!.startsWith(`${store} is copied to ${path}: 0.`) && said!.endsWith("checked"), out);
    assert.equal(restore, `To restore, with the same settings: gateway serve --store sqlite:${path}`);
    assert.equal(err, "");
    const copy = await openStore(`sqlite:${path}`);
    assert.deepEqual(await copy.keys.get("a"), sampleKey("a"));
    await copy.close();
  });

  test("prints a restore command that a shell can read, for any path", async () => {
    const path = join(folder, "my $(backup)'s.db");
    const { out, err } = await backup([path, "--store", store]);
    const word = `'sqlite:${path.replace("'", "'\\''")}'`;
    assert.equal(out.split("\n")[1], `To restore, with the same settings: gateway serve --store ${word}`, err);
  });

  test("takes the store of the environment, shows progress on a terminal, and prints JSON with --json", async () => {
    const path = join(folder, "json.db");
    const { out, err } = await backup([path, "--json"], { env: { SERVICE_API_STORE: store }, isTerminal: true });
    const { bytes, ...rest } = JSON.parse(out);
    assert.deepEqual(rest, { store, file: path });
    assert.ok(bytes > 0);
    assert.equal(err, `Copying ${store} …\n`);
  });

  test("prints the cause of a failure in one line, and exits with 1", async () => {
    const { code, out, err } = await backup([join(folder, "gateway.db"), "--store", store]);
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.ok(err.includes("exists already") && err.trimEnd().split("\n").length === 1, err);
  });

  test("refuses a device or a pipe as the copy's path", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const target of ["/dev/null", pipe]) {
      const { code, out, err } = await backup([target, "--store", store]);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, /is a device or a pipe: name a new file/);
    }
    const { code, stdout, stderr } = await runGateway(["backup", "/dev/stdout", "--store", store]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /\/dev\/stdout is a device or a pipe: name a new file/);
  });

  test("refuses a store without a file, naming the flag or variable", async () => {
    for (const setting of ["memory:", "deno-kv:", "foo", "postgres://u:hush@h/db"]) {
      await assert.rejects(backup(["x.db", "--store", setting]), (error: Error) => {
        assert.ok(error instanceof UsageError && error.message.startsWith("--store must "), error.message);
        return !error.message.includes("hush");
      });
    }
    await assert.rejects(
      backup(["x.db"], { env: { SERVICE_API_STORE: "foo" } }),
      /^UsageError: SERVICE_API_STORE must be sqlite:PATH or deno-kv:PATH; got "foo"$/,
    );
  });

  test("needs exactly one file", async () => {
    await assert.rejects(
      backup(["--store", store]),
      (error) => error instanceof UsageError && /FILE/.test(error.message),
    );
    await assert.rejects(backup(["a", "b"]), (error) => error instanceof UsageError && /"b"/.test(error.message));
  });
});
