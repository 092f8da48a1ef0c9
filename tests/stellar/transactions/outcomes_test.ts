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

describe("what became of an envelope that was sent from here", () => {
  test("is told from the journal, by submit and by status, without asking the node", async () => {
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

  test("is told from the log when a killed gateway could not note it", async () => {
    const { transactions, notes, ledgers, clock } = submitStage({ find: forgotten });
    notes.set(HASH, NOTE);
    ledgers.set(HASH, 79);
    clock.pass(900_000);
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 79 });
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 79 });
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 79 });
  });

  test("is told, and not noted as applied before it is done what has to be done first, however often that fails", async () => {
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

  test("is not guessed when the node has forgotten it and nothing is noted: nobody is told to prepare again", async () => {
    for (const noted of [true, false]) {
      const { transactions, notes, clock } = submitStage({ find: forgotten, accountSequence: () => 42n });
      if (noted) notes.set(HASH, NOTE);
      clock.pass(400_000);
      const error = await fault(transactions.submit(ENVELOPE));
      assert.match(error.message, /its outcome can no longer be told/);
      assert.equal(error.retry, "never");
    }
  });

  test("is too late, whatever the node has forgotten, while its sequence number is unused", async () => {
    const { transactions, clock } = submitStage({ find: forgotten });
    clock.pass(400_000);
    const error = await fault(transactions.submit(ENVELOPE));
    assert.deepEqual([error.transactionError, error.retry], ["txTooLate", "prepare_again"]);
  });

  test("is not guessed of one that was made for an hour, where the node holds less of that", async () => {
    const held = { oldestLedger: 101, oldestLedgerCloseTime: START_SECONDS - 3_000 };
    const { transactions, clock } = submitStage({ find: () => held, accountSequence: () => 42n });
    clock.pass(400_000);
    assert.match((await fault(transactions.submit(ENVELOPE))).message, /its outcome can no longer be told/);
  });

  test("is waited for when its time is over and no ledger behind that is confirmed", async () => {
    const { transactions, notes, clock, sent } = submitStage({
      find: (call) => call < 3 ? {} : { status: "SUCCESS", ledger: 160 },
    });
    notes.set(HASH, NOTE);
    clock.pass(310_000);
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 160 });
    assert.equal(sent(), 1, "the network does not take it any more");
  });

  test("is rejected with the reason when the network turned it down, until it is sent again", async () => {
    let isRefused = true;
    const { transactions, notes } = submitStage({
      send: () => isRefused ? refusedAs("txInsufficientFee") : {},
      find: (call, ledger) => isRefused ? {} : inLedger(101)(call, ledger),
    });
    await fault(transactions.submit(ENVELOPE));
    const { error, ...told } = await transactions.status(HASH);
    const why = { transactionError: "txInsufficientFee", retry: "prepare_again" };
    assert.deepEqual(told, { hash: HASH, status: "rejected", ...why });
    assert.match(error!, /txInsufficientFee/);
    isRefused = false;
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 101 });
  });

  test("is rejected too when the node took it for malformed", async () => {
    const { transactions } = submitStage({ send: () => new RpcError("sendTransaction", -32602, "invalid_xdr") });
    assert.equal((await fault(transactions.submit(ENVELOPE))).code, "invalid_request");
    assert.equal((await transactions.status(HASH)).status, "rejected");
  });

  test("is told anew when a ledger has it after all: too late was one node's word", async () => {
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

describe("the fate of an envelope that was handed out", () => {
  const envelope = {
    hash: HASH,
    source: source.publicKey(),
    sequence: 42n,
    validUntil: START_SECONDS + 300,
    sinceLedger: 99,
  };

  test("is open while it may be applied, and over once a ledger has closed after its time", async () => {
    const { transactions, clock } = submitStage({});
    assert.equal(await transactions.fate(envelope), "open");
    clock.pass(304_000);
    assert.equal(await transactions.fate(envelope), "open");
    clock.pass(6_000);
    assert.equal(await transactions.fate(envelope), "over");
  });

  test("is over when another transaction has its sequence number, which is looked at twice", async () => {
    const taken = submitStage({ accountSequence: () => 42n });
    assert.equal(await taken.transactions.fate(envelope), "over");
    assert.equal(taken.found(), 2);
    const lying = submitStage({
      accountSequence: () => 42n,
      find: (call) => call === 1 ? {} : { status: "SUCCESS", ledger: 90 },
    });
    assert.equal(await lying.transactions.fate(envelope), "applied");
  });

  test("is what a ledger made of it, wherever it was sent", async () => {
    for (const [status, fate] of [["SUCCESS", "applied"], ["FAILED", "over"]] as const) {
      const { transactions } = submitStage({ accountSequence: () => 42n, find: () => ({ status, ledger: 90 }) });
      assert.equal(await transactions.fate(envelope), fate);
    }
  });

  test("is told from the journal and the log without asking the node", async () => {
    const { transactions, notes, ledgers, calls } = submitStage({ find: forgotten });
    notes.set(HASH, { ...NOTE, outcome: { status: "success", ledger: 77 } });
    assert.equal(await transactions.fate(envelope), "applied");
    notes.set(HASH, { ...NOTE, outcome: { status: "failed", ledger: 77 } });
    assert.equal(await transactions.fate(envelope), "over");
    notes.delete(HASH);
    ledgers.set(HASH, 78);
    assert.equal(await transactions.fate(envelope), "applied");
    assert.equal(calls.length, 0);
  });

  test("is refused when the network turned it down and its sequence number is free still", async () => {
    const { transactions, notes } = submitStage({});
    const error = new GatewayError("invalid_request", "txBadAuth");
    notes.set(HASH, { ...NOTE, outcome: { status: "rejected", error } });
    assert.equal(await transactions.fate(envelope), "refused");
  });

  test("is never over because a node has forgotten what took the sequence number", async () => {
    const taken = (...answers: { oldestLedger?: number; oldestLedgerCloseTime?: number }[]) =>
      submitStage({ accountSequence: () => 42n, find: (call) => answers[call - 1]! }).transactions;
    const isForgotten = async (fate: Promise<unknown>) =>
      assert.match((await fault(fate)).message, /can no longer be told/);
    // Ledger 100 is the first that it may be in.
    const [whole, pruned] = [{ oldestLedger: 100 }, { oldestLedger: 101 }];
    assert.equal(await taken(whole, whole).fate(envelope), "over");
    await isForgotten(taken(pruned, pruned).fate(envelope));
    await isForgotten(taken(whole, pruned, pruned).fate(envelope));
    await isForgotten(taken(pruned, whole, pruned).fate(envelope));
    // One answer that says so is not enough either, nor is another node that holds less.
    assert.equal(await taken(whole, pruned, whole).fate(envelope), "over");
    assert.equal(await taken(pruned, whole, whole).fate(envelope), "over");
    // By a clock that was ahead its time seemed to begin later.
    await isForgotten(taken(pruned, pruned).fate({ ...envelope, validUntil: START_SECONDS + 3_300 }));
    // One that a program before this one handed out tells only its time.
    const former = { ...envelope, sinceLedger: undefined };
    const beginning = envelope.validUntil - 3_600;
    const [byTime, tooNew] = [beginning, beginning + 1].map((oldestLedgerCloseTime) => ({
      oldestLedger: 150,
      oldestLedgerCloseTime,
    }));
    assert.equal(await taken(byTime!, byTime!).fate(former), "over");
    await isForgotten(taken(tooNew!, tooNew!).fate(former));
  });

  test("is not over by an account that was read before the end of its time and one answer after it", async () => {
    const stage: ReturnType<typeof submitStage> = submitStage({
      find() {
        stage.clock.pass(310_000);
        for (let claims = 0; claims < 2; claims++) {
          stage.head.observe({ node: 0, sequence: 162, closeTime: START_SECONDS + 310 });
          stage.clock.pass(1_100);
        }
        return {};
      },
    });
    assert.equal(await stage.transactions.fate(envelope), "open");
    assert.ok(stage.head.closeTime > envelope.validUntil);
  });

  test("is not applied while its sequence number is unused, whatever was forgotten", async () => {
    const unused = submitStage({ find: forgotten });
    await unused.transactions.fate(envelope);
    unused.clock.pass(1_200);
    assert.notEqual(await unused.transactions.fate(envelope), "applied");
  });

  test("can't be told while the node fails", async () => {
    const { transactions } = submitStage({ find: () => new RpcError("getTransaction", -32603, "busy") });
    assert.equal((await fault(transactions.fate(envelope))).code, "upstream_error");
  });
});
