// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, Operation } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob, pay, startFundedNetwork } from "./envelope_parts.ts";
import { accountOf, apply, build, refusal, signed, submit } from "./sandbox_network.ts";

describe("an envelope is refused", () => {
  let network: SandboxNetwork;
  let clock: { seconds: number };

  beforeEach(async () => {
    ({ network, clock } = await startFundedNetwork());
  });

  const refused = (transaction: Parameters<typeof submit>[1]) => refusal(submit(network, transaction));
  const signedBy = (pair: Keypair, options: Parameters<typeof build>[3] = {}) =>
    signed(build(network, pair, [pay(bob)], options), pair);

  test("before its time: txTooEarly, and at that second no longer", () => {
    const timebounds = { minTime: clock.seconds + 1, maxTime: 0 };
    assert.equal(refused(signedBy(alice, { timebounds })), "txTooEarly");
    clock.seconds += 1;
    network.closeLedger();
    assert.equal(apply(network, signedBy(alice, { timebounds })).successful, true);
  });

  test("after its time: txTooLate", () => {
    assert.equal(refused(signedBy(alice, { timebounds: { minTime: 0, maxTime: clock.seconds - 1 } })), "txTooLate");
  });

  test("after its time by the clock, though not yet by the last ledger: txTooLate", () => {
    const timebounds = { minTime: 0, maxTime: clock.seconds + 3 };
    clock.seconds += 4;
    assert.equal(refused(signedBy(alice, { timebounds })), "txTooLate");
  });

  test("before its ledger: txTooEarly", () => {
    const next = network.latestLedger().sequence + 1;
    const early = { ledgerbounds: { minLedger: next + 1, maxLedger: 0 } };
    assert.equal(refused(signedBy(alice, early)), "txTooEarly");
    assert.equal(apply(network, signedBy(alice, { ledgerbounds: { minLedger: next, maxLedger: 0 } })).ledger, next);
  });

  test("from its last ledger on: txTooLate", () => {
    const next = network.latestLedger().sequence + 1;
    assert.equal(refused(signedBy(alice, { ledgerbounds: { minLedger: 0, maxLedger: next } })), "txTooLate");
    assert.equal(
      apply(network, signedBy(alice, { ledgerbounds: { minLedger: 0, maxLedger: next + 1 } })).successful,
      true,
    );
  });

  test("with a sequence number already used, or one too high: txBadSeq", () => {
    const { seqNum } = accountOf(network, alice);
    assert.equal(refused(signedBy(alice, { sequence: seqNum - 1n })), "txBadSeq");
    assert.equal(refused(signedBy(alice, { sequence: seqNum + 1n })), "txBadSeq");
  });

  test("with the number new accounts of its ledger start with: txBadSeq", () => {
    const start = BigInt(network.latestLedger().sequence + 2) << 32n;
    apply(network, signed(build(network, alice, [Operation.bumpSequence({ bumpTo: (start - 1n).toString() })]), alice));
    assert.equal(refused(signedBy(alice)), "txBadSeq");
    network.closeLedger();
    assert.equal(apply(network, signedBy(alice)).successful, true);
  });

  test("after it has been applied: txBadSeq", () => {
    const transaction = signedBy(alice);
    apply(network, transaction);
    assert.equal(refused(transaction), "txBadSeq");
  });

  test("below its least sequence number: txBadSeq; above it gaps are fine", () => {
    const { seqNum } = accountOf(network, alice);
    const sequence = seqNum + 5n;
    assert.equal(refused(signedBy(alice, { sequence, minAccountSequence: `${seqNum + 1n}` })), "txBadSeq");
    apply(network, signedBy(alice, { sequence, minAccountSequence: `${seqNum}` }));
    assert.equal(accountOf(network, alice).seqNum, seqNum + 6n);
  });

  test("too soon after the account's last transaction: txBadMinSeqAgeOrGap", () => {
    apply(network, signedBy(alice));
    assert.equal(refused(signedBy(alice, { minAccountSequenceAge: 60n })), "txBadMinSeqAgeOrGap");
    clock.seconds += 60;
    network.closeLedger();
    assert.equal(apply(network, signedBy(alice, { minAccountSequenceAge: 60n })).successful, true);
  });

  test("too few ledgers after the account's last transaction: txBadMinSeqAgeOrGap", () => {
    apply(network, signedBy(alice));
    assert.equal(refused(signedBy(alice, { minAccountSequenceLedgerGap: 2 })), "txBadMinSeqAgeOrGap");
    network.closeLedger();
    assert.equal(apply(network, signedBy(alice, { minAccountSequenceLedgerGap: 2 })).successful, true);
  });
});
