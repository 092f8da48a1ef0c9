// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";
import { ENVELOPE, fault, HASH, inLedger, refusedAs, START_SECONDS, submitStage } from "./submit_stage.ts";

describe("submitting an envelope", () => {
  test("records the submission, sends the envelope, and returns when its ledger has closed", async () => {
    const { transactions, order, envelopes, notes, clock } = submitStage({ find: inLedger(101) });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    assert.deepEqual(order, ["note", "send"]);
    assert.deepEqual(envelopes, [ENVELOPE]);
    assert.equal(notes.get(HASH)!.validUntil, START_SECONDS + 300);
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 101 });
    assert.ok(clock.now() < (START_SECONDS + 9) * 1000, "it was late");
  });

  test("looks its hash up once in a ledger", async () => {
    const { transactions, found } = submitStage({ find: inLedger(104) });
    await transactions.submit(ENVELOPE);
    assert.equal(found(), 5);
  });

  test("joins concurrent submits of the same envelope", async () => {
    const { transactions, sent } = submitStage({ find: inLedger(101) });
    const all = await Promise.all(Array.from({ length: 10 }, () => transactions.submit(ENVELOPE)));
    assert.equal(sent(), 1);
    assert.deepEqual(new Set(all.map(({ ledger }) => ledger)), new Set([101]));
  });

  test("resends the same envelope while the network is busy", async () => {
    const { transactions, sent } = submitStage({
      send: (call) => call < 4 ? { status: "TRY_AGAIN_LATER" } : {},
      find: inLedger(103),
    });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 103 });
    assert.equal(sent(), 4);
  });

  test("returns upstream_error with the hash and a Location when the outcome stays unknown", async () => {
    for (const send of [() => ({}), () => ({ status: "TRY_AGAIN_LATER" as const })]) {
      const { transactions, clock } = submitStage({ send });
      const error = await fault(transactions.submit(ENVELOPE));
      assert.equal(error.code, "upstream_error");
      assert.ok(error.message.includes(HASH));
      assert.equal(error.headers.Location, `/v1/transactions/${HASH}`);
      assert.ok(clock.now() <= (START_SECONDS + 61) * 1000, `${clock.now() / 1000 - START_SECONDS} s`);
    }
  });

  test("looks up the outcome after a send without an answer", async () => {
    const unknown = [
      new RpcError("sendTransaction", -32603, "could not submit transaction to stellar-core"),
      new GatewayError("upstream_error", "connection reset"),
    ];
    for (const error of unknown) {
      const { transactions } = submitStage({ send: () => error, find: inLedger(101) });
      assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    }
  });

  test("looks up the outcome when a resend is too late", async () => {
    const { transactions, notes } = submitStage({
      send: (call) => call === 1 ? new RpcError("sendTransaction", -32603, "busy") : refusedAs("txTooLate"),
      find: inLedger(101),
    });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    assert.deepEqual(notes.get(HASH)!.outcome, { status: "success", ledger: 101 });
  });

  test("resends an envelope after a lost send", async () => {
    let taken = false;
    const { transactions, sent } = submitStage({
      send: (call) => {
        if (call === 1) return new GatewayError("upstream_error", "connection reset");
        taken = true;
        return {};
      },
      find: (_, ledger) => taken && ledger >= 102 ? { status: "SUCCESS", ledger: 102 } : {},
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 102);
    assert.equal(sent(), 2);
  });

  test("ends within 10 s with the hash when the node is down", async () => {
    const down = new GatewayError("upstream_error", "connection refused");
    const { transactions, clock } = submitStage({ send: () => down, find: () => down });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.ok(error.headers.Location?.endsWith(HASH));
    assert.ok(clock.now() < (START_SECONDS + 10) * 1000);
  });

  test("continues when the node fails every second call", async () => {
    const { transactions } = submitStage({
      find: (call, ledger) =>
        call % 2 === 0 ? new RpcError("getTransaction", -32603, "busy") : inLedger(102)(call, ledger),
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 102);
  });

  test("sends nothing when the store cannot record the submission", async () => {
    const { transactions, sent } = submitStage({ note: () => Promise.reject(new Error("disk is full")) });
    await assert.rejects(transactions.submit(ENVELOPE), /disk is full/);
    assert.equal(sent(), 0);
  });
});
