// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";
import { ENVELOPE, fault, HASH, inLedger, refusedAs, source, START_SECONDS, submitStage } from "./submit_stage.ts";

const NOTE = { hash: HASH, validUntil: START_SECONDS + 300 };
const forgotten = () => ({
  oldestLedger: 150,
  oldestLedgerCloseTime: START_SECONDS + 1,
  latestLedgerCloseTime: START_SECONDS + 900_000,
});

describe("the outcome of an envelope that this gateway sent", () => {
  test("comes from the submission log, by submit and by status, without a call to the node", async () => {
    const { transactions, notes, calls } = submitStage({ find: forgotten });
    const why = { contractError: "AgentNotAuthorized", reason: "policy_expired", retry: "never" } as const;
    const ended = new GatewayError("contract_refused", "no", why);
    notes.set(HASH, { ...NOTE, outcome: { status: "success", ledger: 77 } });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 77 });
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 77 });
    notes.set(HASH, { ...NOTE, outcome: { status: "failed", ledger: 78, error: ended } });
    assert.equal(await fault(transactions.submit(ENVELOPE)), ended);
    assert.deepEqual(await transactions.status(HASH), {
      hash: HASH,
      status: "failed",
      ledger: 78,
      error: "no",
      ...why,
    });
    assert.equal(calls.length, 0);
  });

  test("comes from the log when a killed gateway could not store it", async () => {
    const { transactions, notes, ledgers, clock } = submitStage({ find: forgotten });
    notes.set(HASH, NOTE);
    ledgers.set(HASH, 79);
    clock.pass(900_000);
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 79 });
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 79 });
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 79 });
  });

  test("is stored as applied only after the caller's own step succeeds, and returned also when the step fails", async () => {
    const { transactions, notes } = submitStage({ find: () => ({ status: "SUCCESS", ledger: 90 }) });
    notes.set(HASH, NOTE);
    const failing = () => Promise.reject(new Error("the store is away"));
    for (let times = 0; times < 2; times++) {
      assert.deepEqual(await transactions.status(HASH, failing), { hash: HASH, status: "success", ledger: 90 });
    }
    assert.equal(notes.get(HASH)!.outcome, undefined);
    const done: string[] = [];
    await transactions.status(HASH, (hash) => Promise.resolve(void done.push(hash)));
    assert.deepEqual(done, [HASH]);
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 90 });
  });

  test('is unknown when the node has pruned it and no outcome is stored: no client gets "prepare again"', async () => {
    for (const noted of [true, false]) {
      const { transactions, notes, clock } = submitStage({ find: forgotten, accountSequence: () => 42n });
      if (noted) notes.set(HASH, NOTE);
      clock.pass(400_000);
      const error = await fault(transactions.submit(ENVELOPE));
      assert.match(error.message, /its outcome is no longer known/);
      assert.equal(error.retry, "never");
    }
  });

  test("is txTooLate while its sequence number is unused, also when the node has pruned its ledgers", async () => {
    const { transactions, clock } = submitStage({ find: forgotten });
    clock.pass(400_000);
    const error = await fault(transactions.submit(ENVELOPE));
    assert.deepEqual([error.transactionError, error.retry], ["txTooLate", "prepare_again"]);
  });

  test("is unknown when the node holds less than the hour in which the envelope was valid", async () => {
    const held = { oldestLedger: 101, oldestLedgerCloseTime: START_SECONDS - 3_000 };
    const { transactions, clock } = submitStage({ find: () => held, accountSequence: () => 42n });
    clock.pass(400_000);
    assert.match((await fault(transactions.submit(ENVELOPE))).message, /its outcome is no longer known/);
  });

  test("is still looked up after the time bound, until a later ledger is confirmed", async () => {
    const { transactions, notes, clock, sent } = submitStage({
      find: (call) => call < 3 ? {} : { status: "SUCCESS", ledger: 160 },
    });
    notes.set(HASH, NOTE);
    clock.pass(310_000);
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 160 });
    assert.equal(sent(), 1, "the network does not take it any more");
  });

  test("is rejected with the network's reason until a resend", async () => {
    let isRefused = true;
    const { transactions, notes } = submitStage({
      send: () => isRefused ? refusedAs("txInsufficientFee") : {},
      find: (call, ledger) => isRefused ? {} : inLedger(101)(call, ledger),
    });
    await fault(transactions.submit(ENVELOPE));
    const { error, ...returned } = await transactions.status(HASH);
    const why = { transactionError: "txInsufficientFee", retry: "prepare_again" };
    assert.deepEqual(returned, { hash: HASH, status: "rejected", ...why });
    assert.match(error!, /txInsufficientFee/);
    isRefused = false;
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 101 });
  });

  test("is rejected also when the node calls the envelope malformed", async () => {
    const { transactions } = submitStage({ send: () => new RpcError("sendTransaction", -32602, "invalid_xdr") });
    assert.equal((await fault(transactions.submit(ENVELOPE))).code, "invalid_request");
    assert.equal((await transactions.status(HASH)).status, "rejected");
  });

  test("changes from txTooLate to success when a node finds the envelope in a ledger", async () => {
    let isKnown = false;
    const { transactions, notes, clock } = submitStage({
      find: () => isKnown ? { status: "SUCCESS", ledger: 90 } : {},
    });
    notes.set(HASH, NOTE);
    for (let n = 0; n < 4; n++) {
      clock.pass(n === 0 ? 310_000 : 1_100);
      await transactions.status(HASH);
    }
    assert.deepEqual([notes.get(HASH)!.outcome!.status, notes.get(HASH)!.outcome!.ledger], ["failed", undefined]);
    isKnown = true;
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 90 });
  });
});

describe("the source account of a prepared envelope", () => {
  const validUntil = START_SECONDS + 300;

  test("is read with the close time of its own ledger, not of a later one", async () => {
    const stage: ReturnType<typeof submitStage> = submitStage({
      accountSequence() {
        // During the read a ledger after the bound closes.
        stage.head.observe({ node: 0, sequence: 161, closeTime: START_SECONDS + 305 });
        return 42n;
      },
    });
    stage.clock.pass(299_000);
    const { ledger, sequence, closedAt } = await stage.transactions.account(source.publicKey(), validUntil);
    assert.equal(sequence, 42n);
    assert.ok(ledger >= 159 && closedAt <= validUntil, `${ledger} ${closedAt}`);
    assert.ok(stage.head.closeTime > validUntil);
  });

  test("is read after the nodes report their time, when a time bound seems to have passed", async () => {
    const { transactions, clock } = submitStage({});
    const closedAt = async () => (await transactions.account(source.publicKey(), validUntil)).closedAt;
    clock.pass(304_000);
    assert.ok(await closedAt() <= validUntil);
    clock.pass(6_000);
    assert.ok(await closedAt() > validUntil);
  });
});
