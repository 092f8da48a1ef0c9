// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommandLine } from "../../cli/command_line.ts";
import { command } from "../../cli/webhooks.ts";
import { failedAttempt, sampleAttempt, sampleFailed, settle } from "../store/webhook_samples.ts";
import { append, eventAt, START_MS, subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const failedAtMs = START_MS;
const answered = { eventId: eventAt(103).id, statusCode: 410, error: "the endpoint answered 410" };
const refused = { ...failedAttempt(1, "rejected"), ...answered };

const beside = storeBeside(async (store) => {
  await store.subscriptions.insert(subscriptionOf("wh_all"), 100);
  await store.subscriptions.insert(subscriptionOf("wh_well"), 100);
  await append(store, Array.from({ length: 260 }, (_, n) => eventAt(101 + n)), 500);
  const dead = Array.from({ length: 210 }, (_, n) => sampleFailed(51 + n, "dead", { attempts: 0, failedAtMs }));
  await settle(store, { subscriptionId: "wh_all", failed: dead });
  await settle(store, {
    subscriptionId: "wh_all",
    failed: [
      sampleFailed(1, "retrying", { failedAtMs, dueAtMs: START_MS + 60_000 }),
      sampleFailed(2, "retrying", { failedAtMs, dueAtMs: START_MS + 30_000 }),
      sampleFailed(3, "rejected", { failedAtMs }),
      sampleFailed(4, "rejected", { failedAtMs, attempts: 7 }),
    ],
    attempts: [refused, sampleAttempt(1)],
  });
});

async function failed(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo({ now: START_MS, ...options });
  const code = await runCommand(command, ["deliveries", ...args, "--store", beside.setting], io);
  return { code, out: io.out, err: io.err, rows: io.out.split("\n").slice(0, -1).map((line) => line.split("\t")) };
}

test("deliveries --state prints the deliveries in that state, with their last answer", async () => {
  const at = "2026-01-01T00:00:00.000Z";
  const { code, rows, err } = await failed(["wh_all", "--state", "rejected"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(rows, [
    [at, "escrow.funded", eventAt(104).id, "104", "7", "-", "-", "-"],
    [at, "escrow.funded", eventAt(103).id, "103", "1", "-", "410", "the endpoint answered 410"],
  ]);
  const retrying = await failed(["wh_all", "--state", "retrying"]);
  assert.deepEqual(retrying.rows.map(([, , , ledger, , next]) => [ledger, next]), [
    ["101", "2026-01-01T00:01:00.000Z"],
    ["102", "2026-01-01T00:00:30.000Z"],
  ]);
  const table = await failed(["wh_all", "--state", "rejected"], { isTerminal: true });
  assert.match(
    table.out,
    /^FAILED +TYPE +EVENT +LEDGER +ATTEMPTS +NEXT +STATUS +ERROR\n2026-01-01 00:00:00 .*\n.* 410 +the endpoint answered 410\n$/,
  );
});

test("deliveries --state reads pages up to --limit", async () => {
  const ledgers = async (...args: string[]) => (await failed(["wh_all", ...args])).rows.map(([, , , ledger]) => ledger);
  const dead = Array.from({ length: 210 }, (_, n) => String(360 - n));
  assert.deepEqual(await ledgers("--state", "dead"), dead.slice(0, 50));
  assert.deepEqual(await ledgers("--state", "dead", "--limit", "205"), dead.slice(0, 205));
  assert.deepEqual(await ledgers("--state", "dead", "--limit", "1000"), dead);
  assert.deepEqual(await ledgers("--state", "retrying", "--limit", "1"), ["101"]);
});

test("deliveries --state --json prints the fields of the HTTP API", async () => {
  const io = fakeIo();
  assert.equal(await runCommandLine(["openapi"], io), 0);
  const { components: { schemas } } = JSON.parse(io.out);
  const lines = (await failed(["wh_all", "--state", "rejected", "--json"])).rows.map(([line]) => JSON.parse(line!));
  assert.equal(lines.length, 2);
  for (const line of lines) assert.deepEqual(Object.keys(line), Object.keys(schemas.FailedDelivery.properties));
  assert.deepEqual(Object.keys(lines[1].lastAttempt), Object.keys(schemas.Attempt.properties));
  assert.deepEqual([lines[0].lastAttempt, lines[1].lastAttempt.statusCode], [null, 410]);
});

test("deliveries --state reports an empty list, and an unknown webhook", async () => {
  const none = { code: 0, out: "", err: "no dead deliveries\n", rows: [] };
  assert.deepEqual(await failed(["wh_well", "--state", "dead"]), none);
  assert.equal((await failed(["wh_well", "--state", "dead", "--json"])).err, "");
  const unknown = await failed(["wh_none", "--state", "dead"]);
  const why = `gateway webhooks: there is no webhook "wh_none" in ${beside.setting}\n`;
  assert.deepEqual([unknown.code, unknown.err], [1, why]);
});

test("a wrong --state is refused with a suggestion before the store is opened", async () => {
  const wrong: [string[], RegExp][] = [
    [["wh_all", "--state", "rejcted"], /^--state must be one of .*; got "rejcted"; did you mean rejected\?$/],
    [["wh_all", "--state", "sent"], /^--state must be one of rejected, dead, retrying; got "sent"$/],
    [["wh_all", "--state"], /^--state needs a value$/],
    [["wh_all", "--stat", "dead"], /^unknown flag --stat; did you mean --state\?$/],
  ];
  for (const [args, message] of wrong) {
    const run = runCommand(command, ["deliveries", ...args, "--store", "sqlite:/none/none.db"], fakeIo());
    await assert.rejects(run, { name: "UsageError", message });
  }
  const listed = runCommand(command, ["list", "--state", "dead"], fakeIo());
  await assert.rejects(listed, { name: "UsageError", message: "--state is only for deliveries; got list" });
});
