// needs: runtime
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { command } from "../../cli/explain/explain.ts";
import { WATCHER_LEASE } from "../../lib/store/store.ts";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { createClient, signed } from "../e2e/client.ts";
import type { SandboxProcess } from "../e2e/sandbox_process.ts";
import { sampleKey } from "../store/samples.ts";
import { until } from "../until.ts";
import { append, eventAt, START_MS, subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { startReadySandboxHere } from "./sandbox/sandbox_here.ts";
import { storeBeside } from "./store_beside.ts";

async function run(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  const code = await runCommand(command, args, io);
  return { code, out: io.out, err: io.err };
}

/** Times, hashes, ids and addresses as one word each. */
function masked(text: string): string {
  return text.replace(/\d\d:\d\d:\d\d/g, "TIME").replace(/\d{4}-\d\d-\d\d/g, "DATE").replace(
    /\b[0-9a-f]{64}\b/g,
    "HASH",
  )
    .replace(/\d{19}-\d{10}/g, "ID").replace(/wh_\w+/g, "WEBHOOK").replace(/[A-Z0-9]{4}…[A-Z0-9]{4}/g, "ACCOUNT")
    .replace(/\(\w{10}\)/g, "(KEY)").replace(/127\.0\.0\.1:\d+/g, "RECEIVER").replace(
      /(success in|in ledger) \d+/g,
      "$1 N",
    );
}

describe("the story of a sandbox's transactions", () => {
  let sandbox: SandboxProcess;
  let receiver: Server;
  let received = 0;
  let webhook: string;
  /** By reference. */
  const hashes: Record<string, string> = {};
  const explain = (named: string, options?: FakeIoOptions, ...more: string[]) =>
    run([named, "--sandbox", sandbox.info.gateway, ...more], options);
  const onPhone = { isTerminal: true, columns: 40 };
  const wide = { isTerminal: true, columns: 100 };

  before(async () => {
    sandbox = await startReadySandboxHere();
    const { gateway, apiKey, asset, accounts: { owner, agent, merchant } } = sandbox.info;
    const api = createClient(gateway, apiKey);
    const deviceHash = "ab".repeat(32);
    receiver = createServer((_, response) => {
      received += 1;
      response.writeHead(received === 1 ? 410 : 204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    webhook = (await api.post("/v1/webhooks", { url, types: ["payment.authorized", "payment.claimed"] })).body.id;

    async function prepare(by: typeof owner, operation: object, reference?: string, key?: string) {
      const headers = key === undefined ? undefined : { "idempotency-key": key };
      const { body } = await api.post(
        "/v1/transactions/prepare",
        { source: by.address, operation, reference },
        headers,
      );
      if (reference !== undefined) hashes[reference] = body.hash;
      const xdr = signed(body.xdr, body.networkPassphrase, by.secret);
      return () => api.post("/v1/transactions/submit", { xdr }, headers);
    }
    async function write(...args: Parameters<typeof prepare>): Promise<void> {
      const { status, body } = await (await prepare(...args))();
      assert.equal(status, 200, JSON.stringify(body));
    }
    await write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
    await write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000000" });
    await write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000000" });
    const pay = { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "40000000" };
    await write(agent, pay, "order 1", "checkout-1");
    await until(() => received === 1);
    await write(merchant, { kind: "claim", asset }, "claim 1");
    await until(() => received === 2);
    const [short, late] = [await prepare(agent, pay, "order 2"), await prepare(agent, pay, "order 3")];
    await prepare(agent, pay, "order 4");
    await write(owner, { kind: "defundEscrow", deviceHash, asset, amount: "30000000" });
    assert.equal((await short()).body.error.reason, "insufficient_escrow");
    assert.equal((await late()).body.error.transactionError, "txBadSeq");
    await write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000000" }, "order 5");
    await write(agent, pay, "order 5");
    // The projection follows the log.
    await until(async () => (await api.get("/v1/payments?state=claimed")).body.payments.length === 1);
    await until(async () => (await api.get("/v1/payments?state=pending")).body.payments.length === 1);
    await until(() => received === 3);
  });
  after(async () => {
    receiver?.close();
    await sandbox?.stop();
  });

  test("a payment by its reference: prepared, sent, ledger, event, webhook, claim, in short lines", async () => {
    const { code, out, err } = await explain("order 1", onPhone);
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(
      masked(out),
      `transaction
HASH
payment ID
claimed, 4 XLM to ACCOUNT

DATE UTC
TIME  prepared  reference order 1
  by sandbox (KEY)
TIME  sent
  authorize from ACCOUNT
  by sandbox (KEY)
  Idempotency-Key checkout-1
TIME  ledger    success in N
TIME  event     payment.authorized
  4 XLM, card abab…abab, merchant
  ACCOUNT
TIME  webhook
  WEBHOOK answered
  410; no retry
  payment.authorized to RECEIVER
TIME  claimed
  in ledger N, by transaction
HASH
`,
    );
    for (const line of out.split("\n")) assert.ok(line.length <= 40 || /^[0-9a-f]{64}$/.test(line), line);
  });

  test("the same by hash and by the payment's id, in columns where they fit, and as JSON", async () => {
    const byHash = await explain(hashes["order 1"]!, wide);
    assert.match(
      byHash.out,
      /^\d\d:\d\d:\d\d {2}event {5}payment\.authorized\n {20}4 XLM, card abab…abab, merchant \S+$/m,
    );
    const id = /^payment (\S+)$/m.exec(byHash.out)![1]!;
    assert.equal((await explain(id, wide)).out, byHash.out);
    const story = JSON.parse((await explain(id, {}, "--json")).out);
    assert.deepEqual([story.hash, story.nodeProblem], [hashes["order 1"], null]);
    const [payment] = story.payments;
    assert.deepEqual([payment.id, payment.state, payment.amountUnits, payment.symbol], [id, "claimed", "4", "XLM"]);
    assert.deepEqual(story.steps.map(({ step }: { step: string }) => step), [
      ...["prepared", "sent", "applied", "event", "attempt", "claimed"],
    ]);
    const { keyName, kind, idempotencyKey } = story.steps[1];
    assert.deepEqual([keyName, kind, idempotencyKey], ["sandbox", "authorize", "checkout-1"]);
    const attempt = story.steps.at(-2);
    assert.deepEqual([attempt.webhook, attempt.outcome, attempt.statusCode], [webhook, "rejected", 410]);
  });

  test("a claim names the payments that it took", async () => {
    const { out } = await explain("claim 1", wide);
    assert.match(masked(out), /\nTIME {2}took {6}1 payment\n {20}ID\nTIME {2}webhook {3}WEBHOOK answered 204\n/);
  });

  test("a refused transaction has its reason, and what would let it pass", async () => {
    const short = await explain("order 2", wide);
    assert.match(
      short.out,
      /failed {4}in ledger \d+\n {20}payment_escrow\.authorize refused: .*\n? *40000000 is above the 30000000/,
    );
    assert.match(
      short.out.replace(/\s+/g, " "),
      /To let it pass: Pay less, or let .* with fundEscrow\. Then prepare and sign it again\. $/,
    );
    const late = await explain("order 3", {});
    assert.match(
      late.out,
      /\n {10}rejected {2}txBadSeq \(its sequence number is not the next one of .*\)\n {20}To let it pass: Prepare again\./,
    );
    const { steps } = JSON.parse((await explain("order 2", {}, "--json")).out);
    const { refusal } = steps.at(-1);
    assert.deepEqual([refusal.contractError, refusal.reason, refusal.retry], [
      "InsufficientBalance",
      "insufficient_escrow",
      "never",
    ]);
  });

  test("a transaction that was only prepared was not sent", async () => {
    assert.match(
      (await explain("order 4")).out,
      /not sent {2}by this gateway\n {20}the node does not have it in its ledgers 1 to \d+\n/,
    );
  });

  test("a reference of several transactions lists them, the newest first", async () => {
    const { code, out, err } = await explain("order 5", {});
    const rows = out.trimEnd().split("\n").map((line) => line.split("\t"));
    assert.deepEqual([code, rows.map(([, state]) => state)], [0, ["pending", "applied"]]);
    assert.equal(rows[0]![2], hashes["order 5"]);
    assert.equal(err, "2 transactions, newest first; explain one by its hash\n");
    const pending = await explain(hashes["order 5"]!, wide);
    assert.match(pending.out, /\n {10}pending {3}the merchant can claim it until ledger \d+, about \S+( \S+)?\n$/);
    const { reference, transactions, more } = JSON.parse((await explain("order 5", {}, "--json")).out);
    assert.deepEqual([reference, transactions.length, more], ["order 5", 2, false]);
  });

  test("an unknown name says what was looked at", async () => {
    const { store } = sandbox.info;
    for (
      const [named, why] of [
        ["order 9", `${store} has no transaction with this reference`],
        [
          "0000000068719480999-0000000000",
          `${store} has no event with this id, and no transaction with this reference`,
        ],
        [
          "ef".repeat(32),
          `${store} has no submission, event or reference of this transaction, and the node does not have it either`,
        ],
      ] as const
    ) {
      const { code, out, err } = await explain(named);
      assert.deepEqual([code, out, err], [1, "", `gateway explain: "${named}" is unknown: ${why}\n`]);
    }
  });
});

describe("the story of a store without a node", () => {
  const HASH = "ce".repeat(32);
  const merchant = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
  const moved = { txHash: HASH, merchant, amount: "40000000" };
  const beside = storeBeside(async (store) => {
    await store.keys.insert(sampleKey("key1", { name: "shop" }));
    for (const id of ["wh_dead", "wh_behind"]) await store.subscriptions.insert(subscriptionOf(id), 100);
    await store.references.record({ hash: HASH, keyId: "key1", reference: "order-7", preparedAtMs: START_MS - 2_000 });
    await store.submissions.record({ hash: HASH, validUntil: START_MS / 1_000 + 300, submittedAtMs: START_MS - 1_000 });
    await append(store, [eventAt(101, 1, { ...moved, type: "payment.authorized" })], 200);
  });
  const explain = (named: string, options?: FakeIoOptions, ...more: string[]) =>
    run([named, "--store", beside.setting, "--rpc-url", "http://127.0.0.1:9", ...more], options);

  test("has what the store has, and says that no node answers", async () => {
    const { store } = beside;
    const subscriptionId = "wh_dead";
    const lease = (await store.leases.acquire({
      name: partitionLease(partitionOf(subscriptionId)),
      holder: "test",
      durationMs: 60_000,
    }))!;
    const failed = { sequence: 1, attempts: 14, failedAtMs: START_MS, attemptedAtMs: START_MS, dueAtMs: null };
    await store.deliveries.settle({
      leases: [lease],
      settlements: [{ subscriptionId, cursor: 1, failed: [{ ...failed, state: "dead" }], attempts: [] }],
    });
    const { code, out } = await explain("order-7");
    assert.equal(code, 0);
    assert.match(out, /prepared {2}reference order-7\n {20}by shop \(key1\)\n/);
    assert.match(
      out,
      /\n {10}webhook {3}wh_behind not delivered yet\n {20}payment\.authorized to wh-behind\.example\n/,
    );
    assert.match(out, /\n {10}webhook {3}wh_dead given up\n/);
    assert.match(out, /event {5}payment\.authorized\n {20}40000000 of an unknown asset, card/);
    assert.match(out, /\n\nFrom the store alone, because .*127\.0\.0\.1:9/);
  });

  test("a reference of many transactions lists the newest of all keys, with `more`", async () => {
    const { store } = beside;
    const hashOf = (n: number) => n.toString(16).padStart(64, "0");
    const record = (n: number, keyId: string) =>
      store.references.record({ hash: hashOf(n), keyId, reference: "batch", preparedAtMs: START_MS + n });
    for (let n = 1; n <= 30; n++) await record(n, n === 28 ? "key1" : "key2");
    await record(1_000, "key1");
    const { transactions, more } = JSON.parse((await explain("batch", {}, "--json")).out);
    const newest = [1_000, ...Array.from({ length: 19 }, (_, n) => 30 - n)].map(hashOf);
    assert.deepEqual([transactions.map(({ hash }: { hash: string }) => hash), more], [newest, true]);
  });

  test("has what each API key submitted, also when the submission is deleted", async () => {
    const { store } = beside;
    const [hash, source] = ["cd".repeat(32), merchant];
    const sent = { hash, kind: "claim", source, submittedAtMs: START_MS + 5_000, status: "rejected" } as const;
    await store.transactions.add({ ...sent, keyId: "key2", idempotencyKey: "claim-9" });
    await store.transactions.add({ ...sent, keyId: "key1", submittedAtMs: START_MS + 2_000 });
    const { out } = await explain(hash, { isTerminal: true, columns: 80 });
    assert.match(out, /:02 {2}sent {6}claim from GAAA…AWHF\n {20}by shop \(key1\)\n/);
    assert.match(out, /:05 {2}sent {6}claim from GAAA…AWHF\n {20}by key2\n {20}Idempotency-Key claim-9\n/);
    assert.match(out, /\n {10}rejected {2}the store does not say why\n/);
  });

  test("an expired payment has its end", async () => {
    const { store } = beside;
    const lease = (await store.leases.acquire({ name: WATCHER_LEASE, holder: "test", durationMs: 60_000 }))!;
    const { id, contractId, ledger } = eventAt(101);
    const row = { id, contractId, ledger, authorizedAt: START_MS / 1_000, ...moved, deviceHash: "ab".repeat(32) };
    const expired = { eventId: `${id}.expired`, ledger: 17_390, at: START_MS / 1_000 + 86_400, isOwn: true };
    await store.payments.commit({ lease, rows: [{ ...row, state: "expired", expiresAtLedger: 17_389, expired }] });
    const { out } = await explain(id);
    assert.match(out, /^expired, 40000000 of an unknown asset to GAAA…AWHF$/m);
    assert.match(out, /\n\n2026-01-02 UTC\n00:00:00 {2}expired {3}the merchant did not claim it by ledger 17390\n/);
  });
});
