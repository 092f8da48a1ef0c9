// needs: neutral
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { command } from "../../cli/store.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, sampleEvent, sampleKey } from "../store/samples.ts";
import { subscribe } from "../store/webhook_samples.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const beside = storeBeside(async (store) => {
  await store.keys.insert(sampleKey("a"));
  await append(store, sampleEvent(1), sampleEvent(2));
  await subscribe(store, "wh_1");
});

let copies = 0;
const newSetting = () => `sqlite:${join(beside.folder, `copy${++copies}.db`)}`;

async function copy(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  const code = await runCommand(command, ["copy", ...args], io);
  return { code, out: io.out, err: io.err };
}

test("store copy prints the records of both stores, and the command that serves from the copy", async () => {
  const to = newSetting();
  const { code, out, err } = await copy([beside.setting, to]);
  assert.equal(code, 0, err);
  const lines = out.trimEnd().split("\n");
  assert.match(out, /^events\t2\t[0-9a-f]{64}$/m);
  assert.match(out, /^keys\t1\t[0-9a-f]{64}$/m);
  assert.deepEqual(lines.slice(-2), [
    `${beside.setting} is copied to ${to}, and both are equal`,
    `Serve only from the copy from now on: gateway serve --store ${to}`,
  ]);
  for (const line of ["Copying keys: 1, done", "Copying events: 2, done", "Comparing events: 2, done"]) {
    assert.ok(err.split("\n").includes(line), err);
  }
  const copied = await openStore(to);
  assert.deepEqual(await copied.keys.get("a"), sampleKey("a"));
  assert.equal(copied.id, beside.store.id);
  await copied.close();
});

test("store copy shows its progress in one line of a terminal, and with --json prints one line of JSON", async () => {
  const to = newSetting();
  const env = { FROM_HERE: beside.setting };
  const { out, err } = await copy(["env:FROM_HERE", to, "--json"], { isTerminal: true, env });
  const { from, to: copied, kinds } = JSON.parse(out);
  assert.deepEqual({ from, copied }, { from: beside.setting, copied: to });
  assert.deepEqual([kinds.events.records, kinds.subscriptions.records, kinds.intents.records], [2, 1, 0]);
  assert.match(kinds.events.hash, /^[0-9a-f]{64}$/);
  assert.ok(err.includes("\r\x1b[KCopying events: 2") && !err.includes("\n"), JSON.stringify(err));
  assert.ok(err.endsWith("\r\x1b[K"));
});

test("store copy refuses a store that a gateway uses, and a target that is not empty", async () => {
  const to = newSetting();
  const other = await openStore(to);
  await other.holdForServing();
  const into = await copy([beside.setting, to]);
  assert.equal(into.code, 1);
  assert.equal(into.err, `gateway store: a gateway serves ${to}: stop it first\n`);
  await other.keys.insert(sampleKey("theirs"));
  await other.close();
  const full = await copy([beside.setting, to]);
  assert.equal(full.code, 1);
  assert.match(full.err, /^gateway store: .* is not empty, .* ever overwritten \(keys\): name a new store\n$/);
  await beside.store.holdForServing();
  const served = await copy([beside.setting, newSetting()]);
  assert.equal(served.code, 1);
  assert.match(served.err, /^gateway store: a gateway serves .*, which writes to it: stop it first\n$/);
});

test("store copy refuses a copied store, a missing store and the same store twice", async () => {
  const to = newSetting();
  assert.equal((await copy([beside.setting, to])).code, 0);
  assert.match((await copy([beside.setting, to])).err, / is a whole copy of .* already\n$/);
  assert.match((await copy([newSetting(), newSetting()])).err, /there is no store yet/);
  const itself = await copy([beside.setting, beside.setting]);
  assert.match(itself.err, / cannot be copied into itself: name another store\n$/);
});

test("store copy names the wrong argument, and never shows a password", async () => {
  const wrong: [string[], RegExp][] = [
    [[], /^FROM is missing/],
    [["sqlite:a.db"], /^TO is missing/],
    [["sqlite:a.db", "memory:"], /^TO must be sqlite:PATH, deno-kv:PATH, postgres:\/\/… or env:NAME$/],
    [["mysql://u:hush@h/db", "sqlite:a.db"], /^FROM must be sqlite:PATH/],
    [["sqlite:a.db", "postgres://u:hush@h/db"], /^TO must not hold a password.*env:NAME/],
    [["env:NONE", "sqlite:a.db"], /^FROM must name a variable that is set: NONE is not$/],
    [["sqlite:a.db", "sqlite:b.db", "c"], /^unexpected "c" after TO$/],
  ];
  for (const [args, message] of wrong) {
    await assert.rejects(copy(args), (error: Error) => {
      assert.match(error.message, message);
      return error.name === "UsageError" && !error.message.includes("hush");
    });
  }
});
