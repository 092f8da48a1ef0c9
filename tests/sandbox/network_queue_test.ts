// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, xdr } from "@stellar/stellar-sdk";
import { create, feeBump, pay, poor } from "./envelope_parts.ts";
import {
  accountOf,
  alice,
  apply,
  bob,
  build,
  fund,
  refusal,
  signed,
  startNetwork,
  submit,
  type TestNetwork,
} from "./sandbox_network.ts";

describe("the queue", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork({ queueLimit: 2 });
    await fund(n.network, alice, bob);
  });

  const transaction = (pair: Keypair, stroops = 1n, options = {}) =>
    signed(build(n.network, pair, [pay(bob, stroops)], options), pair);
  /** Alice's payment, whose sequence number is this far from her next one. */
  const ahead = (by: bigint) => transaction(alice, 1n, { sequence: accountOf(n.network, alice).seqNum + by });

  const whileAliceWaits: [what: string, transaction: () => ReturnType<typeof build>, outcome: string][] = [
    ["DUPLICATE for a waiting transaction", () => transaction(alice), "DUPLICATE"],
    ["TRY_AGAIN_LATER for another transaction with its number", () => transaction(alice, 2n), "TRY_AGAIN_LATER"],
    ["TRY_AGAIN_LATER for the account's following number", () => ahead(1n), "TRY_AGAIN_LATER"],
    ["txBadSeq for a number below that of a waiting transaction", () => ahead(-1n), "txBadSeq"],
  ];
  for (const [what, made, expected] of whileAliceWaits) {
    test(`returns ${what}`, () => {
      assert.equal(submit(n.network, transaction(alice)).status, "PENDING");
      const outcome = submit(n.network, made());
      assert.equal(outcome.status === "ERROR" ? refusal(outcome) : outcome.status, expected);
    });
  }

  test("returns TRY_AGAIN_LATER when it is full", async () => {
    await fund(n.network, poor);
    submit(n.network, transaction(alice));
    submit(n.network, transaction(bob));
    assert.equal(submit(n.network, transaction(poor)).status, "TRY_AGAIN_LATER");
  });

  test("replaces a waiting transaction by a fee bump with ten times its fee, and refuses a lower fee", () => {
    const waiting = transaction(alice);
    submit(n.network, waiting);
    const bump = (fee: string) => feeBump(n.network, bob, fee, transaction(alice, 9n));
    const outcome = submit(n.network, bump("999"));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 2_000n);
    const better = submit(n.network, bump("1000"));
    assert.equal(better.status, "PENDING");
    n.network.closeLedger();
    assert.equal(n.network.transaction(better.hash)?.successful, true);
    assert.equal(n.network.transaction(waiting.hash().toHex()), undefined);
  });

  test("does not count the fee of the replaced transaction when its account also pays the fee bump", () => {
    // Enough above the reserve for the fee bump's 2,000 stroops, but not for another 100.
    n.run(alice, create(poor, "1.0002050"));
    const waiting = transaction(poor);
    assert.equal(submit(n.network, waiting).status, "PENDING");
    assert.equal(apply(n.network, feeBump(n.network, poor, "1000", waiting)).successful, true);
  });

  test("drops a transaction that expires before its ledger closes", () => {
    const timebounds = { minTime: 0, maxTime: n.clock.seconds + 5 };
    const outcome = submit(n.network, transaction(alice, 1n, { timebounds }));
    assert.equal(outcome.status, "PENDING");
    n.clock.seconds += 6;
    n.network.closeLedger();
    assert.equal(n.network.transaction(outcome.hash), undefined);
    assert.equal(submit(n.network, transaction(alice)).status, "PENDING");
  });
});
