// needs: neutral
import { Keypair, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";
import {
  ENVELOPE,
  fault,
  HASH,
  inLedger,
  refusedAs,
  source,
  START_SECONDS,
  submitStage,
  transaction,
} from "./submit_stage.ts";

/** Of one that failed in its ledger. */
function opResult(result: xdr.InvokeHostFunctionResult): string {
  return new xdr.TransactionResult({
    feeCharged: 100n,
    result: xdr.TransactionResultResult.txFailed([
      xdr.OperationResult.opInner(xdr.OperationResultTr.invokeHostFunction(result)),
    ]),
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr("base64");
}

describe("submitting an envelope", () => {
  test("returns the first result of an applied envelope, although the network answers txBadSeq", async () => {
    const { transactions } = submitStage({
      send: () => refusedAs("txBadSeq"),
      find: () => ({ status: "SUCCESS", ledger: 77 }),
      accountSequence: () => 42n,
    });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 77 });
  });

  test("does not reject a resent, applied envelope after one answer that does not find it", async () => {
    const { transactions, notes } = submitStage({
      send: () => refusedAs("txBadSeq"),
      find: (call) => call === 1 ? {} : { status: "SUCCESS", ledger: 77 },
      accountSequence: () => 42n,
    });
    notes.set(HASH, { hash: HASH, validUntil: START_SECONDS + 300 });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 77 });
  });

  test("retries txBadSeq on the account's next sequence number for two ledgers", async () => {
    const late = submitStage({ send: (call) => call < 3 ? refusedAs("txBadSeq") : {}, find: inLedger(103) });
    assert.equal((await late.transactions.submit(ENVELOPE)).ledger, 103);
    assert.equal(late.sent(), 3);

    const never = submitStage({ send: () => refusedAs("txBadSeq") });
    const error = await fault(never.transactions.submit(ENVELOPE));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /txBadSeq/);
    assert.equal(never.sent(), 3);
  });

  test("retries txNoAccount for two ledgers when the node knows the account", async () => {
    const late = submitStage({ send: (call) => call < 3 ? refusedAs("txNoAccount") : {}, find: inLedger(103) });
    assert.equal((await late.transactions.submit(ENVELOPE)).ledger, 103);
    assert.equal(late.sent(), 3);

    for (const [accountSequence, sends] of [[() => 41n, 3], [() => undefined, 1]] as const) {
      const { transactions, sent } = submitStage({ send: () => refusedAs("txNoAccount"), accountSequence });
      const error = await fault(transactions.submit(ENVELOPE));
      assert.deepEqual([error.transactionError, error.retry, sent()], ["txNoAccount", "never", sends]);
    }
  });

  test("rejects at once after txBadSeq on any other sequence number", async () => {
    const { transactions, sent } = submitStage({ send: () => refusedAs("txBadSeq"), accountSequence: () => 45n });
    assert.match((await fault(transactions.submit(ENVELOPE))).message, /txBadSeq .*prepare again/);
    assert.equal(sent(), 1);
  });

  test("names any other rejection", async () => {
    const { transactions } = submitStage({ send: () => refusedAs("txInsufficientFee") });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.equal(error.code, "invalid_request");
    assert.equal(
      error.message,
      `transaction ${HASH} was rejected: txInsufficientFee (its fee is too low; prepare again)`,
    );
  });

  test('does not reject an envelope sent without an answer with "prepare again": it may wait for its ledger', async () => {
    const send = (call: number) =>
      call === 1 ? new RpcError("sendTransaction", -32603, "busy") : refusedAs("txInsufficientFee");
    const applied = submitStage({ send, find: inLedger(103) });
    assert.deepEqual(await applied.transactions.submit(ENVELOPE), { hash: HASH, ledger: 103 });

    const { transactions, notes } = submitStage({ send });
    assert.equal((await fault(transactions.submit(ENVELOPE))).headers.Location, `/v1/transactions/${HASH}`);
    assert.equal((await transactions.status(HASH)).status, "pending");
    assert.equal(notes.get(HASH)!.outcome, undefined);

    // With an Idempotency-Key the gateway prepares a replacement with the same sequence number at once.
    const intent = submitStage({ send });
    const error = await fault(intent.transactions.submit(ENVELOPE, () => Promise.resolve({ isIntent: true })));
    assert.deepEqual([error.transactionError, error.retry], ["txInsufficientFee", "prepare_again"]);
  });

  test("does not reject an envelope sent without an answer when another node calls it malformed", async () => {
    const send = (call: number) =>
      new RpcError("sendTransaction", call === 1 ? -32603 : -32602, call === 1 ? "busy" : "invalid parameters");
    const applied = submitStage({ send, find: inLedger(103) });
    assert.deepEqual(await applied.transactions.submit(ENVELOPE), { hash: HASH, ledger: 103 });

    const { transactions, notes } = submitStage({ send });
    assert.equal((await fault(transactions.submit(ENVELOPE))).headers.Location, `/v1/transactions/${HASH}`);
    assert.equal(notes.get(HASH)!.outcome, undefined);

    const elsewhere = submitStage({ send: () => send(2), find: () => ({ status: "SUCCESS", ledger: 77 }) });
    assert.equal((await elsewhere.transactions.submit(ENVELOPE)).ledger, 77);
  });

  test('with an Idempotency-Key, does not reject an envelope sent without an answer with retry "never"', async () => {
    const asIntent = () => Promise.resolve({ isIntent: true });
    for (const refused of [refusedAs("txInsufficientBalance"), { status: "ERROR" as const }]) {
      const send = (call: number) => call === 1 ? new RpcError("sendTransaction", -32603, "busy") : refused;
      const applied = submitStage({ send, find: inLedger(103) });
      assert.deepEqual(await applied.transactions.submit(ENVELOPE, asIntent), { hash: HASH, ledger: 103 });
      const { transactions } = submitStage({ send });
      const { code, headers } = await fault(transactions.submit(ENVELOPE, asIntent));
      assert.deepEqual([code, headers.Location], ["upstream_error", `/v1/transactions/${HASH}`]);
      assert.equal((await transactions.status(HASH)).status, "pending");
    }
    // An envelope that no node had before is rejected at once.
    const { transactions } = submitStage({ send: () => refusedAs("txInsufficientBalance") });
    assert.equal((await fault(transactions.submit(ENVELOPE, asIntent))).transactionError, "txInsufficientBalance");
  });

  test("does not reject an envelope because of a copy without the second signer's signature", async () => {
    const second = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(8));
    for (const isIntent of [false, true]) {
      const before = () => Promise.resolve({ isIntent });
      const stage = submitStage({ send: (call) => call === 1 ? {} : refusedAs("txBadAuth"), find: inLedger(103) });
      const { transactions, notes } = stage;
      const whole = transactions.submit(transaction({ signers: [source, second] }).toXdr(), before);
      while (stage.sent() === 0) await stage.clock.wait(1);
      assert.deepEqual(await transactions.submit(ENVELOPE, before), { hash: HASH, ledger: 103 });
      assert.deepEqual(await whole, { hash: HASH, ledger: 103 });
      assert.equal(notes.get(HASH)!.outcome!.status, "success");
    }
    // An envelope that no node had before is rejected at once.
    const { transactions } = submitStage({ send: () => refusedAs("txBadAuth") });
    assert.equal((await fault(transactions.submit(ENVELOPE))).transactionError, "txBadAuth");
  });

  test("does not reject an envelope sent without an answer because another node does not know its new account", async () => {
    const send = (call: number) =>
      call === 1 ? new RpcError("sendTransaction", -32603, "busy") : refusedAs("txNoAccount");
    const { transactions } = submitStage({ send, find: inLedger(103) });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 103 });
  });

  test("does not apply the guard to an envelope sent without an answer while it may be applied", async () => {
    const refusal = new GatewayError("invalid_request", "source must be another");
    const guard = () => Promise.reject(refusal);
    const stage = submitStage({ guard });
    assert.equal(await fault(stage.transactions.submit(ENVELOPE)), refusal);
    stage.notes.set(HASH, { hash: HASH, validUntil: START_SECONDS + 300 });
    const { code, headers } = await fault(stage.transactions.submit(ENVELOPE));
    assert.deepEqual([code, headers.Location], ["upstream_error", `/v1/transactions/${HASH}`]);
    assert.equal(stage.sent(), 0);

    const applied = submitStage({ guard, find: () => ({ status: "SUCCESS", ledger: 77 }) });
    assert.equal((await applied.transactions.submit(ENVELOPE)).ledger, 77);
  });

  test("returns upstream_error for a rejection that the gateway cannot check", async () => {
    const { transactions } = submitStage({
      send: () => refusedAs("txTooLate"),
      find: () => new RpcError("getTransaction", -32603, "busy"),
    });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.deepEqual([error.code, error.headers.Location], ["upstream_error", `/v1/transactions/${HASH}`]);
  });

  test("returns upstream_error for a malformed rejection", async () => {
    const { transactions } = submitStage({ send: () => ({ status: "ERROR", errorResultXdr: "AAAA" }) });
    assert.equal((await fault(transactions.submit(ENVELOPE))).code, "upstream_error");
  });

  test('explains a trapped transaction, and returns "prepare again" for one that ran out of resources', async () => {
    const failed = (result: xdr.InvokeHostFunctionResult) => () => ({
      status: "FAILED" as const,
      ledger: 102,
      resultXdr: opResult(result),
    });
    const trapped = submitStage({ find: failed(xdr.InvokeHostFunctionResult.invokeHostFunctionTrapped()) });
    const refused = await fault(trapped.transactions.submit(ENVELOPE));
    assert.deepEqual([refused.code, refused.message], ["contract_refused", "claim in 102"]);

    const poor = submitStage({ find: failed(xdr.InvokeHostFunctionResult.invokeHostFunctionResourceLimitExceeded()) });
    const rejected = await fault(poor.transactions.submit(ENVELOPE));
    assert.equal(rejected.code, "invalid_request");
    assert.match(rejected.message, /failed in ledger 102: invokeHostFunctionResourceLimitExceeded .*prepare again/);
  });

  test("returns txTooLate for an envelope that no ledger included before its time bound", async () => {
    const envelope = transaction({ validForSeconds: 12 }).toXdr();
    const { transactions } = submitStage({});
    const error = await fault(transactions.submit(envelope));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /txTooLate/);
  });

  test("does not return txTooLate after a single answer that does not find the envelope", async () => {
    const stage = submitStage({
      find(call) {
        if (call < 3) return {};
        if (call > 3) return call === 4 ? {} : { status: "SUCCESS", ledger: 102 };
        // The gateway is suspended, and then observes answers to other requests.
        for (const ms of [10_000, 1_100]) {
          stage.clock.pass(ms);
          stage.head.observe({ node: 0, sequence: 104, closeTime: START_SECONDS + 20 });
        }
        return new RpcError("getTransaction", -32603, "busy");
      },
    });
    const { ledger } = await stage.transactions.submit(transaction({ validForSeconds: 12 }).toXdr());
    assert.deepEqual([ledger, stage.found()], [102, 5]);
  });

  test("looks up an envelope past its time bound, and does not send it", async () => {
    const envelope = transaction({ validForSeconds: -10 }).toXdr();
    const applied = submitStage({ find: () => ({ status: "SUCCESS", ledger: 60 }) });
    assert.equal((await applied.transactions.submit(envelope)).ledger, 60);
    const dead = submitStage({});
    assert.match((await fault(dead.transactions.submit(envelope))).message, /txTooLate/);
    assert.equal(applied.sent() + dead.sent(), 0);
  });

  test("sends an envelope that is late only by the gateway's clock", async () => {
    const { transactions, head, clock, sent } = submitStage({ find: inLedger(101) });
    clock.step(40 * 86_400_000);
    // The nodes' time counts, and the gateway does not know yet how long the network has closed no ledger.
    for (const seconds of [0, 1, 2]) {
      clock.pass(seconds * 1_000);
      head.observe({ node: 0, sequence: 100, closeTime: START_SECONDS });
    }
    assert.ok(head.networkSeconds() > START_SECONDS + 300);
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 101);
    assert.equal(sent(), 1);
  });

  test("returns no txTooLate on the answer of a lagging node", async () => {
    const { transactions, calls } = submitStage({
      find: (call) =>
        call === 1 ? { latestLedger: 50, latestLedgerCloseTime: START_SECONDS - 250 } : inLedger(101)(call, 101),
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 101);
    assert.ok(calls.length < 10, calls.join());
  });
});
