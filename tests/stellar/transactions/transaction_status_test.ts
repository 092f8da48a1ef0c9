// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fault, HASH, START_SECONDS, submitStage } from "./submit_stage.ts";

describe("the state of a transaction", () => {
  const NOTE = { hash: HASH, validUntil: START_SECONDS + 300 };

  test("is pending until a ledger has closed after its time bound, then txTooLate", async () => {
    const { transactions, notes, clock } = submitStage({});
    notes.set(HASH, NOTE);
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "pending" });
    clock.pass(300_000);
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "pending" });
    clock.pass(5_000);
    const { error, ...returned } = await transactions.status(HASH);
    const why = { transactionError: "txTooLate", retry: "prepare_again" };
    assert.deepEqual(returned, { hash: HASH, status: "failed", ...why });
    assert.match(error!, /txTooLate/);
  });

  test("is not txTooLate after one answer that does not find an applied envelope", async () => {
    const { transactions, notes, clock, head } = submitStage({
      find: (call) => call === 1 ? {} : { status: "SUCCESS", ledger: 90 },
    });
    notes.set(HASH, NOTE);
    clock.pass(310_000);
    for (let claims = 0; claims < 2; claims++) {
      head.observe({ node: 0, sequence: 162, closeTime: START_SECONDS + 310 });
      clock.pass(1_100);
    }
    assert.ok(head.closeTime > NOTE.validUntil);
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 90 });
  });

  test("is not failed after one answer with a time far ahead (T4)", async () => {
    const { transactions, notes, clock } = submitStage({
      find: (call) => call === 2 ? { latestLedgerCloseTime: START_SECONDS + 315_360_000 } : {},
    });
    notes.set(HASH, NOTE);
    for (let calls = 0; calls < 5; calls++) {
      assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "pending" });
      clock.pass(3_000);
    }
  });

  test("is not_found when the node has pruned its ledgers", async () => {
    const { transactions, notes } = submitStage({
      find: () => ({
        latestLedgerCloseTime: START_SECONDS + 900_000,
        oldestLedger: 101,
        oldestLedgerCloseTime: START_SECONDS + 1,
      }),
    });
    notes.set(HASH, NOTE);
    const error = await fault(transactions.status(HASH));
    assert.equal(error.code, "not_found");
    assert.match(error.message, /older than what the RPC node holds/);
  });

  test("is neither not_found nor txTooLate after one answer of a node that pruned its ledgers", async () => {
    const pruned = { oldestLedger: 101, oldestLedgerCloseTime: START_SECONDS + 1 };
    for (const answers of [[{}, pruned], [{ ...pruned, latestLedgerCloseTime: START_SECONDS + 900_000 }, {}]]) {
      const { transactions, notes, clock, head } = submitStage({
        find: (call) => answers[call - 1] ?? { status: "SUCCESS", ledger: 90 },
      });
      notes.set(HASH, NOTE);
      clock.pass(310_000);
      for (let claims = 0; claims < 2; claims++) {
        head.observe({ node: 0, sequence: 162, closeTime: START_SECONDS + 310 });
        clock.pass(1_100);
      }
      assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "success", ledger: 90 });
    }
  });

  test("is not_found, not txTooLate, when the node holds only the last minutes of the envelope's hour", async () => {
    const held = { oldestLedger: 101, oldestLedgerCloseTime: START_SECONDS - 3_000 };
    const { transactions, notes } = submitStage({
      find: () => ({ latestLedgerCloseTime: START_SECONDS + 400, ...held }),
    });
    notes.set(HASH, NOTE);
    assert.equal((await fault(transactions.status(HASH))).code, "not_found");
  });

  test("is not_found when neither node nor gateway knows the hash", async () => {
    assert.equal((await fault(submitStage({}).transactions.status(HASH))).code, "not_found");
  });

  test("does not come from a lagging node", async () => {
    const { transactions } = submitStage({
      find: (call) => call === 2 ? { latestLedger: 3, latestLedgerCloseTime: 1 } : { status: "SUCCESS", ledger: 90 },
    });
    await transactions.status(HASH);
    assert.equal((await transactions.status(HASH)).status, "success");
  });
});
