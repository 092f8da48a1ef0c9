// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob, pay, poor } from "./envelope_parts.ts";
import { accountOf, apply, build, fund, refusal, signed, startNetwork, submit } from "./sandbox_network.ts";

describe("the queue", () => {
  let network: SandboxNetwork;
  let clock: { seconds: number };

  beforeEach(async () => {
    ({ network, clock } = await startNetwork({ queueLimit: 2 }));
    await fund(network, alice, bob);
  });

  const transaction = (pair: Keypair, stroops = 1n) => signed(build(network, pair, [pay(bob, stroops)]), pair);

  test("answers DUPLICATE for what is waiting already", () => {
    const first = transaction(alice);
    assert.equal(submit(network, first).status, "PENDING");
    assert.equal(submit(network, first).status, "DUPLICATE");
  });

  test("answers TRY_AGAIN_LATER for a second transaction of an account", () => {
    submit(network, transaction(alice));
    assert.equal(submit(network, transaction(alice, 2n)).status, "TRY_AGAIN_LATER");
    const sequence = accountOf(network, alice).seqNum + 1n;
    const following = signed(build(network, alice, [pay(bob)], { sequence }), alice);
    assert.equal(submit(network, following).status, "TRY_AGAIN_LATER");
  });

  test("answers txBadSeq for a sequence number below the one that waits", () => {
    submit(network, transaction(alice));
    const sequence = accountOf(network, alice).seqNum - 1n;
    assert.equal(refusal(submit(network, signed(build(network, alice, [pay(bob)], { sequence }), alice))), "txBadSeq");
  });

  test("answers TRY_AGAIN_LATER when it is full", async () => {
    await fund(network, poor);
    submit(network, transaction(alice));
    submit(network, transaction(bob));
    assert.equal(submit(network, transaction(poor)).status, "TRY_AGAIN_LATER");
  });

  test("lets a fee bump with ten times the fee take the place of what waits", () => {
    const waiting = transaction(alice);
    submit(network, waiting);
    const bump = (fee: string) =>
      signed(TransactionBuilder.buildFeeBumpTransaction(bob, fee, transaction(alice, 9n), network.passphrase), bob);
    const outcome = submit(network, bump("999"));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 2_000n);
    const better = submit(network, bump("1000"));
    assert.equal(better.status, "PENDING");
    network.closeLedger();
    assert.equal(network.transaction(better.hash)?.successful, true);
    assert.equal(network.transaction(waiting.hash().toHex()), undefined);
  });

  test("asks of a fee source that pays for both only the fee bump's fee, not that of what it takes the place of", () => {
    // Enough above the reserve for the fee bump's 2,000 stroops, but not for the 100 beside it.
    const create = Operation.createAccount({ destination: poor.publicKey(), startingBalance: "1.0002050" });
    apply(network, signed(build(network, alice, [create]), alice));
    const waiting = transaction(poor);
    assert.equal(submit(network, waiting).status, "PENDING");
    const bump = TransactionBuilder.buildFeeBumpTransaction(poor, "1000", waiting, network.passphrase);
    assert.equal(apply(network, signed(bump, poor)).successful, true);
  });

  test("drops what has become too late before its ledger closes", () => {
    const timebounds = { minTime: 0, maxTime: clock.seconds + 5 };
    const late = signed(build(network, alice, [pay(bob)], { timebounds }), alice);
    const outcome = submit(network, late);
    assert.equal(outcome.status, "PENDING");
    clock.seconds += 6;
    network.closeLedger();
    assert.equal(network.transaction(outcome.hash), undefined);
    assert.equal(submit(network, transaction(alice)).status, "PENDING");
  });
});
