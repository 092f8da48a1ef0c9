// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import { Asset, Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { pay } from "../envelope_parts.ts";
import { SANDBOX_PASSPHRASE } from "../../../lib/sandbox/network.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

// Clients of typed languages (Go, Rust, Python) rely on these fields: which numbers are strings, and which fields are absent
// when they are empty. The network closes a ledger only when a test calls `closeLedger`.
const payer = Keypair.random();

const sandbox = sandboxRpcOfFile({ ledgerMs: 5000, now: () => nowMs, schedule: () => () => {} });
let nowMs = Date.UTC(2026, 0, 1);

/** The shape of a field. A list has one or more elements of a shape. An object has exactly these fields. */
type Shape = "string" | "number" | "boolean" | RegExp | null | { [name: string]: Shape } | [Shape];

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const int64 = /^\d+$/;
const hash = /^[0-9a-f]{64}$/;

function assertShape(value: unknown, shape: Shape, at = "result"): void {
  if (shape === null) assert.equal(value, null, at);
  else if (typeof shape === "string") assert.equal(typeof value, shape, at);
  else if (shape instanceof RegExp) assert.match(value as string, shape, at);
  else if (Array.isArray(shape)) {
    assert.ok(Array.isArray(value) && value.length > 0, `${at} must be a list with elements`);
    for (const [index, each] of value.entries()) assertShape(each, shape[0], `${at}[${index}]`);
  } else {
    const fields = value as Record<string, unknown>;
    assert.deepEqual(Object.keys(fields).sort(), Object.keys(shape).sort(), at);
    for (const [name, each] of Object.entries(shape)) assertShape(fields[name], each, `${at}.${name}`);
  }
}

async function result(method: string, params?: unknown) {
  const answer = await sandbox.call(method, params);
  assert.equal(answer.error, undefined);
  return answer.result;
}

/** A signed transaction of the payer, `ahead` sequence numbers after its next one. */
async function transactionOf(operation: xdr.Operation, ahead = 0) {
  const source = await sandbox.rpc.getAccount(payer.publicKey());
  for (let i = 0; i < ahead; i++) source.incrementSequenceNumber();
  const transaction = new TransactionBuilder(source, { fee: "200", networkPassphrase: SANDBOX_PASSPHRASE })
    .addOperation(operation).setTimebounds(0, 0).build();
  transaction.sign(payer);
  return transaction;
}

const payment = () => pay(payer, 10_000_000n);

async function sent(ahead = 0) {
  const transaction = await transactionOf(payment(), ahead);
  return await result("sendTransaction", { transaction: transaction.toXdr() });
}

before(async () => {
  const funded = sandbox.network.fund(payer.publicKey());
  sandbox.network.closeLedger();
  await funded;
});

const closeTimes = { latestLedgerCloseTime: int64, oldestLedgerCloseTime: int64 } as const;
const ledgerRange = { latestLedger: "number", oldestLedger: "number", ...closeTimes } as const;

const applied: { [name: string]: Shape } = {
  status: /^(SUCCESS|FAILED)$/,
  txHash: hash,
  applicationOrder: "number",
  feeBump: "boolean",
  envelopeXdr: base64,
  resultXdr: base64,
  resultMetaXdr: base64,
  events: { transactionEventsXdr: [base64], contractEventsXdr: [[base64]] },
  ledger: "number",
};

describe("the node returns the documented fields of", () => {
  test("getHealth, and its error when the latest ledger is old", async () => {
    const { network } = sandbox;
    assertShape(await result("getHealth"), { status: /^healthy$/, ...ledgerRange, ledgerRetentionWindow: "number" });
    nowMs = network.latestLedger().closeTime * 1000 + 30_000;
    assert.equal((await result("getHealth")).status, "healthy");
    nowMs += 1000;
    assert.deepEqual((await sandbox.call("getHealth")).error, {
      code: -32603,
      message: "latency (31s) since last known ledger closed is too high (>30s)",
    });
    network.closeLedger();
    assert.equal((await result("getHealth")).status, "healthy");
  });

  test("getNetwork and getVersionInfo", async () => {
    assertShape(await result("getNetwork"), {
      friendbotUrl: /^http:\/\/127\.0\.0\.1:\d+\/friendbot$/,
      passphrase: "string",
      protocolVersion: "number",
    });
    assertShape(await result("getVersionInfo"), {
      version: "string",
      sandboxVersion: "string",
      commitHash: "string",
      buildTimestamp: "string",
      captiveCoreVersion: "string",
      protocolVersion: "number",
    });
  });

  test("getLatestLedger and getLedgers", async () => {
    const latest = await result("getLatestLedger");
    const xdrs = { headerXdr: base64, metadataXdr: base64 };
    assertShape(latest, { id: hash, protocolVersion: "number", sequence: "number", closeTime: int64, ...xdrs });
    const page = await result("getLedgers", { startLedger: sandbox.network.oldestLedger().sequence });
    assertShape(page, {
      ledgers: [{ hash, sequence: "number", ledgerCloseTime: int64, headerXdr: base64, metadataXdr: base64 }],
      latestLedger: "number",
      latestLedgerCloseTime: "number",
      oldestLedger: "number",
      oldestLedgerCloseTime: "number",
      cursor: int64,
    });
    assert.equal(page.ledgers.at(-1).hash, latest.id);
    const history = xdr.LedgerHeaderHistoryEntry.fromXdr(page.ledgers.at(-1).headerXdr, "base64");
    assert.equal(history.header.toXdr("base64"), latest.headerXdr);
    const parents = page.ledgers.slice(1).map(({ headerXdr }: { headerXdr: string }) =>
      xdr.LedgerHeaderHistoryEntry.fromXdr(headerXdr, "base64").header.previousLedgerHash.toXdr("hex")
    );
    assert.deepEqual(parents, page.ledgers.slice(0, -1).map((ledger: { hash: string }) => ledger.hash));
    const second = await result("getLedgers", { pagination: { cursor: String(page.ledgers[0].sequence), limit: 1 } });
    assert.deepEqual(second.ledgers, [page.ledgers[1]]);
    assert.equal(second.cursor, String(page.ledgers[1].sequence));
  });

  test("getFeeStats", async () => {
    const percentiles = ["p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99"];
    const distribution = Object.fromEntries(["max", "min", "mode", "transactionCount", ...percentiles]
      .map((name) => [name, int64]));
    const shape = { ...distribution, ledgerCount: "number" } as const;
    const stats = await result("getFeeStats");
    assertShape(stats, { sorobanInclusionFee: shape, inclusionFee: shape, latestLedger: "number" });
    assert.equal(stats.inclusionFee.max, "100");
    assert.equal(stats.sorobanInclusionFee.max, "0");
  });

  test("sendTransaction: PENDING, DUPLICATE, TRY_AGAIN_LATER and ERROR", async () => {
    const shape = { status: "string", hash, latestLedger: "number", latestLedgerCloseTime: int64 } as const;
    const pending = await sent();
    assertShape(pending, { ...shape, status: /^PENDING$/ });
    assertShape(await sent(), { ...shape, status: /^DUPLICATE$/ });
    const otherwise = await transactionOf(Operation.bumpSequence({ bumpTo: "0" }), 1);
    const later = await result("sendTransaction", { transaction: otherwise.toXdr() });
    assertShape(later, { ...shape, status: /^TRY_AGAIN_LATER$/ });
    sandbox.network.closeLedger();
    const gap = await sent(5);
    assertShape(gap, { ...shape, status: /^ERROR$/, errorResultXdr: base64 });
    assert.equal(xdr.TransactionResult.fromXdr(gap.errorResultXdr, "base64").result.type, "txBadSeq");
  });

  test("getTransaction and getTransactions, before and after the ledger closes", async () => {
    const { hash: sentHash } = await sent();
    const absent = await result("getTransaction", { hash: sentHash });
    assertShape(absent, {
      ...ledgerRange,
      status: /^NOT_FOUND$/,
      txHash: hash,
      applicationOrder: "number",
      feeBump: "boolean",
      events: {},
      ledger: "number",
      createdAt: int64,
    });
    const { sequence, closeTime } = sandbox.network.closeLedger();
    const present = await result("getTransaction", { hash: sentHash });
    assertShape(present, { ...ledgerRange, ...applied, createdAt: int64 });
    assert.equal(present.status, "SUCCESS");
    assert.equal(present.txHash, sentHash);
    assert.equal(present.ledger, sequence);
    assert.equal(present.createdAt, String(closeTime));
    const upper = await result("getTransaction", { hash: sentHash.toUpperCase() });
    assert.equal(upper.status, "SUCCESS");
    const page = await result("getTransactions", { startLedger: sequence });
    assertShape(page, {
      transactions: [{ ...applied, createdAt: "number" }],
      latestLedger: "number",
      latestLedgerCloseTimestamp: "number",
      oldestLedger: "number",
      oldestLedgerCloseTimestamp: "number",
      cursor: int64,
    });
    assert.equal(page.cursor, String((BigInt(sequence) << 32n) | (1n << 12n) | 1n));
  });

  test("getTransaction for a fee bump, by its hash and by the inner hash", async () => {
    const inner = await transactionOf(payment());
    const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "400", inner, SANDBOX_PASSPHRASE);
    bump.sign(payer);
    const { status, hash: bumpHash } = await result("sendTransaction", { transaction: bump.toXdr() });
    assert.equal(status, "PENDING");
    sandbox.network.closeLedger();
    const innerHash = inner.hash().toHex();
    for (const each of [bumpHash, innerHash]) {
      const transaction = await result("getTransaction", { hash: each });
      assert.equal(transaction.status, "SUCCESS");
      assert.equal(transaction.feeBump, true);
      assert.equal(transaction.txHash, each);
    }
  });

  test("getEvents", async () => {
    await sent();
    const { sequence, closeTime } = sandbox.network.closeLedger();
    const page = await result("getEvents", { startLedger: sequence });
    assertShape(page, {
      ...ledgerRange,
      cursor: /^\d{19}-\d{10}$/,
      events: [{
        type: /^contract$/,
        ledger: "number",
        ledgerClosedAt: /^2026-01-01T\d\d:\d\d:\d\dZ$/,
        contractId: /^C[A-Z2-7]{55}$/,
        id: /^\d{19}-\d{10}$/,
        operationIndex: "number",
        transactionIndex: "number",
        inSuccessfulContractCall: "boolean",
        txHash: hash,
        topic: [base64],
        value: base64,
      }],
    });
    assert.equal(Date.parse(page.events[0].ledgerClosedAt), closeTime * 1000);
  });

  test("simulateTransaction", async () => {
    const deploy = Operation.createStellarAssetContract({ asset: Asset.native() });
    const transaction = (await transactionOf(deploy)).toXdr();
    const simulation = await result("simulateTransaction", { transaction });
    const { results, stateChanges, events: _, ...rest } = simulation;
    assertShape(rest, { transactionData: base64, minResourceFee: int64, latestLedger: "number" });
    assert.equal(results.length, 1);
    assert.deepEqual(Object.keys(results[0]).sort(), ["auth", "xdr"]);
    assert.ok(Array.isArray(results[0].auth));
    assertShape(stateChanges, [{ type: /^created$/, key: base64, before: null, after: base64 }]);
    const broken = await result("simulateTransaction", { transaction: "" });
    assertShape(broken, { error: "string", latestLedger: "number" });
  });
});
