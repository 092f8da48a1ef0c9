// needs: neutral
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { runCommandLine } from "../../cli/command_line.ts";
import { command } from "../../cli/export/export.ts";
import { isoSeconds } from "../../lib/clock.ts";
import { assetId } from "../../lib/escrow/assets/asset_list.ts";
import { formatEventId } from "../../lib/store/event.ts";
import type { StoredPayment } from "../../lib/store/payment.ts";
import { appendMany, CONTRACT, sampleId, watcherLease } from "../store/samples.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const PASSPHRASE = "a network of its own";
const LUMENS = assetId("native", PASSPHRASE)!;
const FIRST_SECOND = 1_793_491_205;
const PAYMENTS = 2_500;
const idOf = (n: number) => formatEventId({ epoch: 0, ledger: 1_000 + n, order: 4_096, index: 0 });
const hashOf = (n: number) => n.toString(16).padStart(64, "0");

const beside = storeBeside(async (store) => {
  await store.network.bind(PASSPHRASE);
  await appendMany(store, 1, 30);
  const lease = await watcherLease(store);
  for (let n = 0; n < PAYMENTS; n += 100) {
    await store.payments.commit({ lease, rows: Array.from({ length: 100 }, (_, at) => paymentOf(n + at)) });
  }
  await store.references.record({ hash: hashOf(1), keyId: "key1", reference: "order 1", preparedAtMs: 1 });
});

function paymentOf(n: number): StoredPayment {
  return {
    id: idOf(n),
    state: "pending",
    contractId: CONTRACT,
    ledger: 1_000 + n,
    authorizedAt: FIRST_SECOND + n,
    txHash: hashOf(n),
    deviceHash: "ab".repeat(32),
    merchant: "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF",
    amount: "45000000",
    asset: n === 7 ? CONTRACT : LUMENS,
    expiresAtLedger: 20_000,
  };
}

let files = 0;
const newFile = (ending = "csv") => join(beside.folder, `export${files++}.${ending}`);

/** No node answers on the discard port. */
const PLACE = () => ["--store", beside.setting, "--rpc-url", "http://127.0.0.1:9"];

async function run(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  const code = await runCommand(command, [...args, ...PLACE()], io);
  return { code, out: io.out, err: io.err };
}

/** Runs the export, which is killed when it reports so many rows. */
async function killedAt(rows: number, args: string[]): Promise<void> {
  const io = fakeIo({ isErrorTerminal: true });
  let nowMs = 0;
  io.now = () => nowMs += 2_000;
  io.stderr = (text) => {
    if (text.includes(`: ${rows}`)) throw new Error("killed");
  };
  await assert.rejects(command.run([...args, ...PLACE()], io), /killed/);
}

const linesOf = (path: string) => readFileSync(path, "utf8").trimEnd().split("\r\n");

test("payments come oldest first with their references, and with units where the decimals are known", async () => {
  const path = newFile();
  const { code, out, err } = await run(["payments", "--output", path]);
  assert.deepEqual([code, out], [0, `${PAYMENTS} payments in ${path}\n`]);
  assert.match(err, /^amountUnits is empty for one asset: .*127\.0\.0\.1/);
  const [head, ...lines] = linesOf(path);
  assert.ok(head!.startsWith("id,state,authorizedAt,amount,amountUnits,asset,merchant,"));
  assert.deepEqual(lines.map((line) => line.split(",")[0]), Array.from({ length: PAYMENTS }, (_, n) => idOf(n)));
  const [id, state, at, amount, units] = lines[1]!.split(",");
  assert.deepEqual([id, state, at], [idOf(1), "pending", isoSeconds((FIRST_SECOND + 1) * 1_000)]);
  assert.deepEqual([amount, units, lines[1]!.split(",").at(-2)], ["45000000", "4.5", "order 1"]);
  assert.equal(lines[7]!.split(",")[4], "");
  assert.deepEqual([existsSync(`${path}.part`), existsSync(`${path}.part.json`)], [false, false]);
});

test("events come in the order of the log, and --from and --to select by time", async () => {
  const path = newFile("jsonl");
  assert.equal((await run(["events", "--output", path])).out, `30 events in ${path}\n`);
  const rows = readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(rows.map(({ id }) => id), Array.from({ length: 30 }, (_, n) => sampleId(n + 1)));
  const range = ["--from", isoSeconds((FIRST_SECOND + 10) * 1_000), "--to", String(FIRST_SECOND + 13)];
  const { out, err } = await run(["payments", ...range, "--output", "-", "--format", "jsonl"]);
  assert.deepEqual(out.trimEnd().split("\n").map((line) => JSON.parse(line).id), [10, 11, 12].map(idOf));
  assert.equal(err, "3 payments\n");
});

test("an export that was killed continues, and the file is the same byte for byte", async () => {
  const [whole, path] = [newFile(), newFile()];
  await run(["payments", "--output", whole]);
  for (const rows of [1_000, 2_000, PAYMENTS]) {
    await killedAt(rows, ["payments", "--output", path]);
    assert.equal(existsSync(path), false);
    // What was written after the last note is not whole.
    writeFileSync(`${path}.part`, readFileSync(`${path}.part`, "utf8") + "half a li");
  }
  const { out, err } = await run(["payments", "--output", path]);
  assert.equal(out, `${PAYMENTS} payments in ${path}\n`);
  assert.match(err, new RegExp(`^continuing after ${PAYMENTS} payments\n`));
  assert.equal(readFileSync(path, "utf8"), readFileSync(whole, "utf8"));
  assert.equal(existsSync(`${path}.part.json`), false);
});

test("transactions of all keys come by the time of their submit with the key, and a killed export continues", async () => {
  const keyOf = (n: number) => `key${n % 3}`;
  const transactionOf = (n: number) => ({
    ...{ keyId: keyOf(n), hash: hashOf(n), kind: "claim", source: "G", status: "success" as const, ledger: 1_000 + n },
    ...{ submittedAtMs: FIRST_SECOND * 1_000 + 250 * n, idempotencyKey: `pay-${n}` },
  });
  const all = Array.from({ length: 1_200 }, (_, n) => transactionOf(n));
  // The second key submits the envelope, too.
  all.push({ ...transactionOf(999), keyId: "second" });
  await Promise.all(all.map((one) => beside.store.transactions.add(one)));
  const path = newFile();
  await killedAt(1_000, ["transactions", "--output", path]);
  assert.equal((await run(["transactions", "--output", path])).out, `1201 transactions in ${path}\n`);
  const [head, ...lines] = linesOf(path);
  assert.equal(head, "hash,kind,source,status,ledger,reference,idempotencyKey,submittedAt,keyId");
  const inOrder = [...all.slice(0, 1_000), all.at(-1)!, ...all.slice(1_000, -1)];
  const cells = lines.map((line) => line.split(","));
  assert.deepEqual(cells.map((row) => [row[0], row.at(-1)]), inOrder.map(({ hash, keyId }) => [hash, keyId]));
  const submittedAt = new Date(FIRST_SECOND * 1_000 + 250).toISOString();
  assert.equal(lines[1], `${hashOf(1)},claim,G,success,1001,order 1,pay-1,${submittedAt},key1`);
  const range = ["--from", String(FIRST_SECOND + 10), "--to", String(FIRST_SECOND + 11)];
  const { out } = await run(["transactions", ...range, "--output", "-", "--format", "jsonl"]);
  const [first, ...more] = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([first.hash, first.keyId, more.length], [hashOf(40), keyOf(40), 3]);
});

test("a file is replaced only with --force, and so is the beginning of another export", async () => {
  const path = newFile();
  writeFileSync(path, "mine");
  const refused = await run(["events", "--output", path]);
  assert.deepEqual([refused.code, refused.err], [
    1,
    `gateway export: ${path} exists: name another file, or pass --force\n`,
  ]);
  assert.equal(readFileSync(path, "utf8"), "mine");
  assert.equal((await run(["events", "--output", path, "--force"])).code, 0);
  assert.equal(linesOf(path).length, 31);
  const begun = newFile();
  await killedAt(1_000, ["payments", "--output", begun]);
  const other = await run(["events", "--output", begun]);
  assert.equal(other.code, 1);
  assert.match(
    other.err,
    /\.part is an unfinished export of payments as csv from the first to the last of store \w+: /,
  );
  assert.equal((await run(["events", "--output", begun, "--force"])).code, 0);
});

test("it shows its progress on a terminal, and keeps CSV's line ends on standard output", async () => {
  const { err } = await run(["payments", "--output", newFile()], { isErrorTerminal: true });
  assert.ok(err.startsWith("\r\x1b[KExporting payments: 250\r\x1b[KExporting payments: 500\r"), err);
  const io = fakeIo();
  assert.equal(await runCommandLine(["export", "events", "--output", "-", ...PLACE()], io), 0);
  assert.equal(io.out.split("\r\n").length, 32);
});

test("a wrong call and a file that cannot be written are named", async () => {
  for (
    const [args, message] of [
      [[], "expected one of payments, transactions, events; got nothing"],
      [["payment"], 'expected one of payments, transactions, events; got "payment"; did you mean payments?'],
      [["payments"], "--output is missing: pass a file, or - for standard output"],
      [["payments", "--output", "a", "--format", "xlsx"], '--format must be csv or jsonl; got "xlsx"'],
      [["payments", "--output", "a", "--from", "2", "--to", "1"], "--from must be before --to: "],
      [["payments", "--output", "a", "--from", "monday"], "--from must be a time in ISO 8601 with its zone, "],
      [["payments", "--output", "a", "--sandbox", "http://127.0.0.1:9"], "--sandbox and --store exclude each other"],
    ] as const
  ) {
    await assert.rejects(run([...args]), (error) => {
      assert.ok(error instanceof UsageError && error.message.startsWith(message), String(error));
      return true;
    });
  }
  const path = join(beside.folder, "none", "a.csv");
  const { code, err } = await run(["payments", "--output", path]);
  assert.deepEqual([code, err], [1, `gateway export: ${path}.part cannot be written: no such file\n`]);
});
