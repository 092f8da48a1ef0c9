// needs: neutral
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { runCommandLine } from "../../cli/command_line.ts";
import { command as keysCommand } from "../../cli/keys.ts";
import { command as secretsCommand } from "../../cli/secrets.ts";
import { replayWebhook } from "../../cli/webhook_changes.ts";
import { command } from "../../cli/webhooks.ts";
import { type NewAttempt, partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { sampleKey } from "../store/samples.ts";
import { append, eventAt, START_MS, subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const beside = storeBeside(async (store) => {
  await store.keys.insert(sampleKey("key1"));
  await store.subscriptions.insert(subscriptionOf("wh_all"), 100);
  await store.subscriptions.insert(
    subscriptionOf("wh_some", { keyId: "key2", types: ["escrow.swept", "escrow.funded"], deviceHash: "ab".repeat(32) }),
    100,
  );
  await append(store, Array.from({ length: 300 }, (_, n) => eventAt(101 + n)), 500);
  for (let n = 0; n < 3; n++) await store.deliveries.recordAttempt("wh_all", attempt(n));
});

function attempt(n: number): NewAttempt {
  return {
    replayId: null,
    eventId: eventAt(101).id,
    eventType: "escrow.funded",
    number: n + 1,
    atMs: START_MS + n * 1_000,
    durationMs: 12,
    outcome: n === 2 ? "delivered" : "retry",
    statusCode: n === 2 ? 200 : null,
    error: n === 2 ? null : "connection refused",
    responseBody: null,
    nextAttemptAtMs: n === 2 ? null : START_MS + 60_000,
  };
}

async function webhooks(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo({ now: START_MS, ...options });
  const code = await runCommand(command, [...args, "--store", beside.setting], io);
  assert.ok(!(io.out + io.err).includes("whsec_"), "a secret was printed");
  return { code, out: io.out, err: io.err };
}

test("list prints columns with tabs, a table on a terminal, and JSON with --json", async () => {
  const plain = await webhooks(["list"]);
  assert.equal(plain.code, 0);
  assert.equal(plain.err, `webhooks in ${beside.setting}\n`);
  const rest = ["2026-01-01T00:00:00.000Z", "300", "0", "0", "-"];
  const some = `escrow.swept, escrow.funded, device ${"ab".repeat(32)}`;
  assert.deepEqual(plain.out.split("\n").map((line) => line.split("\t")), [
    ["wh_all", "key1", "https://wh-all.example/hook", "everything", ...rest],
    ["wh_some", "key2", "https://wh-some.example/hook", some, ...rest],
    [""],
  ]);
  const table = await webhooks(["list"], { isTerminal: true });
  assert.match(table.out, /^ID +KEY +URL +EVENTS +CREATED +PENDING .*DEAD.*\nwh_all +key1 .* 300 .*\nwh_some /);
  const json = await webhooks(["list", "--json", "--key", "key2"]);
  assert.deepEqual(JSON.parse(json.out), {
    ...{ id: "wh_some", keyId: "key2", url: "https://wh-some.example/hook", createdAt: "2026-01-01T00:00:00.000Z" },
    ...{ types: ["escrow.swept", "escrow.funded"], deviceHash: "ab".repeat(32), merchant: null, ordered: false },
    ...{ failingSince: null, retrying: 0, rejected: 0, dead: 0, previousSecretUntil: null },
    ...{ pending: 300, atLeast: false },
  });
  assert.equal(json.err, "");
});

test("list --key distinguishes a key without webhooks from an unknown key", async () => {
  await beside.store.keys.insert(sampleKey("key3"));
  const none = await webhooks(["list", "--key", "key3"]);
  assert.deepEqual([none.code, none.out], [0, ""]);
  assert.match(none.err, /no webhooks; /);
  for (const json of [[], ["--json"]]) {
    const unknown = await webhooks(["list", "--key", "nope", ...json]);
    assert.deepEqual([unknown.code, unknown.out], [1, ""]);
    assert.match(unknown.err, /^gateway webhooks: there is no key "nope" in sqlite:.*, and no webhook of one\n$/);
  }
  // Which keys there are is known to the file alone.
  const io = fakeIo({ env: { SERVICE_API_KEYS_FILE: "keys.json" } });
  assert.equal(await runCommand(command, ["list", "--key", "nope", "--store", beside.setting], io), 0);
});

test("neither webhooks nor secrets rekey create a missing store", async () => {
  const missing = join(beside.folder, "missing.db");
  const commands: [typeof command, string[]][] = [
    [command, ["list"]],
    [command, ["deliveries", "wh_all"]],
    [command, ["replay", "wh_all", "--from-ledger", "1"]],
    [command, ["rotate", "wh_all"]],
    [command, ["delete", "wh_all", "--yes"]],
    [secretsCommand, ["rekey", "--off"]],
  ];
  for (const [one, args] of commands) {
    const io = fakeIo();
    assert.equal(await runCommand(one, [...args, "--store", `sqlite:${missing}`], io), 1);
    assert.equal(io.out, "");
    assert.match(
      io.err,
      /^gateway (webhooks|secrets): sqlite:.*missing\.db: there is no store yet\. .*keygen.*--store\n$/,
    );
    assert.ok(!existsSync(missing));
  }
});

test("deliveries prints the attempts, newest first", async () => {
  const plain = await webhooks(["deliveries", "wh_all", "--limit", "2"]);
  assert.deepEqual(plain.out.split("\n").map((line) => line.split("\t").slice(0, 5)), [
    ["2026-01-01T00:00:02.000Z", "delivered", "200", "12 ms", "3"],
    ["2026-01-01T00:00:01.000Z", "retry", "-", "12 ms", "2"],
    [""],
  ]);
  const table = await webhooks(["deliveries", "wh_all"], { isTerminal: true });
  assert.match(
    table.out,
    /^AT +OUTCOME .*\n2026-01-01 00:00:02 +delivered .*\n.*\n2026-01-01 00:00:00 +retry .*connection refused\n$/,
  );
  const lines = (await webhooks(["deliveries", "wh_all", "--json"])).out.trim().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line)).map(({ attempt, at }) => [attempt, at]), [
    [3, "2026-01-01T00:00:02.000Z"],
    [2, "2026-01-01T00:00:01.000Z"],
    [1, "2026-01-01T00:00:00.000Z"],
  ]);
  assert.match((await webhooks(["deliveries", "wh_some"])).err, /no attempts/);
});

/** The fields of what the HTTP API answers with in a list, by its own description; of two lists in the first. */
async function fieldsOf(path: string, list: string): Promise<string[]> {
  const io = fakeIo();
  assert.equal(await runCommandLine(["openapi"], io), 0);
  const { paths, components } = JSON.parse(io.out);
  const named = ({ anyOf, ...schema }: { $ref?: string; anyOf?: { $ref?: string }[] }) => {
    const { $ref } = anyOf?.[0] ?? schema;
    return $ref === undefined ? schema : components.schemas[$ref.split("/").at(-1)!];
  };
  const { schema } = paths[path].get.responses["200"].content["application/json"];
  return Object.keys(named(named(schema).properties[list].items).properties);
}

test("JSON has the fields of the HTTP API", async () => {
  const deliveries = (await webhooks(["deliveries", "wh_all", "--json"])).out.trim().split("\n");
  assert.equal(deliveries.length, 3);
  for (const line of deliveries) {
    assert.deepEqual(Object.keys(JSON.parse(line)), await fieldsOf("/v1/webhooks/{id}/deliveries", "deliveries"));
  }
  const webhook = JSON.parse((await webhooks(["list", "--json", "--key", "key2"])).out);
  const fields = await fieldsOf("/v1/webhooks", "webhooks");
  assert.deepEqual(Object.keys(webhook), [...fields, "keyId", "pending", "atLeast"]);
});

test("replay creates a job for the running gateway, and with --dry-run only counts", async () => {
  const dry = await webhooks(["replay", "wh_all", "--from-ledger", "101", "--to-ledger", "110", "--dry-run"]);
  assert.match(dry.out, /would make 10 deliveries to https:\/\/wh-all\.example\/hook\n$/);
  assert.equal((await beside.store.deliveries.consumer("wh_all"))!.replay, null);
  const begun = await webhooks(["replay", "wh_all", "--from-ledger", "101", "--json"]);
  const { id, deliveries } = JSON.parse(begun.out);
  assert.equal(deliveries, 300);
  assert.equal((await beside.store.deliveries.consumer("wh_all"))!.replay?.id, id);
  const second = await webhooks(["replay", "wh_all", "--from-ledger", "101"]);
  assert.equal(second.code, 1);
  assert.match(second.err, /a replay of wh_all is under way/);
  assert.match((await webhooks(["replay", "wh_some", "--from-ledger", "450"])).out, /nothing to replay/);
  const nothing = await webhooks(["replay", "wh_some", "--from-ledger", "5000000", "--json"]);
  assert.equal(JSON.parse(nothing.out).deliveries, 0);
});

test("on a terminal a replay shows its progress until its end", async () => {
  const io = fakeIo({ now: START_MS, isTerminal: true });
  const { store } = beside;
  const subscription = (await store.subscriptions.get("wh_all"))!;
  const shared = { store, io, subscription, range: { fromLedger: 101, toLedger: 400 }, dryRun: false, json: false };
  const name = partitionLease(partitionOf("wh_all"));
  const lease = (await store.leases.acquire({ name, holder: "test", durationMs: 60_000 }))!;
  let cursor = 0;
  /** The serving gateway's work meanwhile. */
  const wait = async () => {
    const { replay } = (await store.deliveries.consumer("wh_all"))!;
    cursor += 100;
    const moved = { id: replay!.id, cursor, done: cursor === 300 };
    const settlements = [{ subscriptionId: "wh_all", replay: moved, attempts: [] }];
    await store.deliveries.settle({ leases: [lease], settlements });
  };
  assert.equal(await replayWebhook({ ...shared, wait }), 0);
  assert.match(io.err, /66 % of the events done/);
  assert.match(io.out, /^replay rp_\w+ of wh_all started: 300 deliveries .*\nthe replay has ended/);
});

test("a replay shows no progress when standard error is a file", async () => {
  const io = fakeIo({ now: START_MS, isTerminal: true, isErrorTerminal: false });
  const { store } = beside;
  const subscription = (await store.subscriptions.get("wh_all"))!;
  const shared = { store, io, subscription, range: { fromLedger: 1 }, dryRun: false, json: false };
  await replayWebhook({ ...shared, wait: () => Promise.resolve() });
  assert.match(io.out, /no progress: /);
  assert.equal(io.err, "");
});

test("replay reports a stalled job and leaves it to the gateway", async () => {
  const io = fakeIo({ now: START_MS, isTerminal: true });
  const subscription = (await beside.store.subscriptions.get("wh_all"))!;
  let waits = 0;
  const wait = () => Promise.resolve(void waits++);
  const { store } = beside;
  await replayWebhook({ store, io, wait, subscription, range: { fromLedger: 1 }, dryRun: false, json: false });
  assert.match(io.out, /no progress: /);
  assert.equal(waits, 20);
  assert.notEqual((await beside.store.deliveries.consumer("wh_all"))!.replay, null);
});

test("delete asks on a terminal, and deletes pending deliveries too", async () => {
  const no = await webhooks(["delete", "wh_all"], { isTerminal: true, answer: "n" });
  assert.deepEqual([no.code, no.out], [1, ""]);
  assert.match(
    no.err,
    /^Delete wh_all \(https:\/\/wh-all\.example\/hook\) and its 300 pending deliveries\? .* nothing was deleted\n$/,
  );
  const yes = await webhooks(["delete", "wh_all"], { isTerminal: true, answer: "y" });
  assert.equal(yes.out, `deleted wh_all from ${beside.setting}\n`);
  assert.equal(await beside.store.subscriptions.get("wh_all"), undefined);
  const { out } = await webhooks(["delete", "wh_some", "--yes", "--json"]);
  assert.deepEqual(JSON.parse(out), { id: "wh_some", deleted: true });
  const gone = await webhooks(["delete", "wh_some", "--yes"]);
  const words = `gateway webhooks: there is no webhook "wh_some" in ${beside.setting}\n`;
  assert.deepEqual([gone.code, gone.err], [1, words]);
});

test("a wrong command line is one line of error", async () => {
  const wrong: [string[], RegExp][] = [
    [[], /^expected one of list, deliveries, replay, rotate, delete; got nothing$/],
    [["lst"], /got "lst"; did you mean list\?$/],
    [["list", "wh_1"], /^unexpected "wh_1" after webhooks list$/],
    [["deliveries"], /^ID is missing: pass the id of a webhook \(webhooks list shows the ids\)$/],
    [["deliveries", "wh_1", "--limit", "x"], /^--limit must be an integer from 1 to 1000000; got "x"$/],
    [["list", "--yes"], /^--yes is only for delete; got list$/],
    [["replay", "wh_1"], /^--from-ledger is missing: pass the first ledger/],
    [["replay", "wh_1", "--from-ledger", "9", "--to-ledger", "8"], /^--to-ledger must not be before --from-ledger 9/],
    [["rotate"], /^ID is missing: pass the id of a webhook \(webhooks list shows the ids\)$/],
    [["rotate", "wh_1", "--yes"], /^--yes is only for delete; got rotate$/],
    [["delete", "wh_1"], /^webhooks delete needs --yes where there is no terminal/],
  ];
  for (const [args, message] of wrong) {
    await assert.rejects(webhooks(args), (error: Error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("keys delete names the number of webhooks, and deletes them", async () => {
  await beside.store.subscriptions.insert(subscriptionOf("wh_second"), 100);
  const io = fakeIo({ answer: "y", isTerminal: true });
  assert.equal(await runCommand(keysCommand, ["delete", "key1", "--store", beside.setting], io), 0);
  assert.match(io.err, /^Delete key key1 "key key1" and its 2 webhooks from /);
  assert.equal(io.out, `deleted key key1 "key key1" and its 2 webhooks from ${beside.setting}\n`);
  assert.deepEqual((await beside.store.subscriptions.list({ limit: 10 })).map(({ id }) => id), ["wh_some"]);
});

test("keys delete finds the webhooks of a key in a file too, in the store of the settings", async () => {
  const { openKeysFile } = await import("../../lib/keys/keys_file.ts");
  const path = join(beside.folder, `keys2.json`);
  await openKeysFile(path).keys.insert(sampleKey("key2"));
  const io = fakeIo({ env: { SERVICE_API_STORE: beside.setting } });
  assert.equal(await runCommand(keysCommand, ["delete", "key2", "--yes", "--json", "--keys-file", path], io), 0);
  assert.deepEqual(JSON.parse(io.out), { id: "key2", deleted: true, webhooks: 1 });
  assert.deepEqual((await beside.store.subscriptions.list({ limit: 10 })).map(({ id }) => id), ["wh_all"]);
});
