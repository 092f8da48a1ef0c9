// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, xdr } from "@stellar/stellar-sdk";
import { create, feeBump, pay, poor } from "./envelope_parts.ts";
import { alice, bob, build, refusal, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

describe("the queue", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork({ queueLimit: 2 });
    await n.fund(alice, bob);
  });

  const transaction = (pair: Keypair, stroops = 1n, options = {}) =>
    signed(n.build(pair, [pay(bob, stroops)], options), pair);
  /** Alice's payment, whose sequence number is this far from her next one. */
  const ahead = (by: bigint) => transaction(alice, 1n, { sequence: n.account(alice).seqNum + by });

  const whileAliceWaits: [what: string, transaction: () => ReturnType<typeof build>, outcome: string][] = [
    ["DUPLICATE for a waiting transaction", () => transaction(alice), "DUPLICATE"],
    ["TRY_AGAIN_LATER for another transaction with its number", () => transaction(alice, 2n), "TRY_AGAIN_LATER"],
    ["TRY_AGAIN_LATER for the account's following number", () => ahead(1n), "TRY_AGAIN_LATER"],
    ["txBadSeq for a number below that of a waiting transaction", () => ahead(-1n), "txBadSeq"],
  ];
  for (const [what, made, expected] of whileAliceWaits) {
    test(`returns ${what}`, () => {
      assert.equal(n.submit(transaction(alice)).status, "PENDING");
      const outcome = n.submit(made());
      assert.equal(outcome.status === "ERROR" ? refusal(outcome) : outcome.status, expected);
    });
  }

  test("returns TRY_AGAIN_LATER when it is full", async () => {
    await n.fund(poor);
    n.submit(transaction(alice));
    n.submit(transaction(bob));
    assert.equal(n.submit(transaction(poor)).status, "TRY_AGAIN_LATER");
  });

  test("replaces a waiting transaction by a fee bump with ten times its fee, and refuses a lower fee", () => {
    const waiting = transaction(alice);
    n.submit(waiting);
    const bump = (fee: string) => feeBump(n.network, bob, fee, transaction(alice, 9n));
    const outcome = n.submit(bump("999"));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 2_000n);
    const better = n.submit(bump("1000"));
    assert.equal(better.status, "PENDING");
    n.close();
    assert.equal(n.network.transaction(better.hash)?.successful, true);
    assert.equal(n.network.transaction(waiting.hash().toHex()), undefined);
  });

  test("does not count the fee of the replaced transaction when its account also pays the fee bump", () => {
    // Enough above the reserve for the fee bump's 2,000 stroops, but not for another 100.
    n.run(alice, create(poor, "1.0002050"));
    const waiting = transaction(poor);
    assert.equal(n.submit(waiting).status, "PENDING");
    assert.equal(n.apply(feeBump(n.network, poor, "1000", waiting)).successful, true);
  });

  test("drops a transaction that expires before its ledger closes", () => {
    const timebounds = { minTime: 0, maxTime: n.clock.seconds + 5 };
    const outcome = n.submit(transaction(alice, 1n, { timebounds }));
    assert.equal(outcome.status, "PENDING");
    n.clock.seconds += 6;
    n.close();
    assert.equal(n.network.transaction(outcome.hash), undefined);
    assert.equal(n.submit(transaction(alice)).status, "PENDING");
  });
});
