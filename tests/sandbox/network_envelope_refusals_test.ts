// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, altered, bob, nobody, pay, poor, startFundedNetwork } from "./envelope_parts.ts";
import { accountOf, apply, build, codesOf, refusal, signed, submit } from "./sandbox_network.ts";

describe("an envelope is refused", () => {
  let network: SandboxNetwork;
  let clock: { seconds: number };

  beforeEach(async () => {
    ({ network, clock } = await startFundedNetwork());
  });

  const refused = (transaction: Parameters<typeof submit>[1]) => refusal(submit(network, transaction));
  const signedBy = (pair: Keypair, options: Parameters<typeof build>[3] = {}) =>
    signed(build(network, pair, [pay(bob)], options), pair);

  test("that is not XDR: with a plain Error", () => {
    assert.throws(() => network.submit(new Uint8Array([1, 2, 3])), Error);
  });

  test("without an operation: txMissingOperation", () => {
    assert.equal(refused(signed(build(network, alice, []), alice)), "txMissingOperation");
  });

  test("with a fee below 100 stroops an operation: txInsufficientFee, naming the fee", () => {
    const draft = build(network, alice, [pay(bob), pay(bob)]);
    const outcome = submit(network, signed(altered(network, draft, { fee: 199 }), alice));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 200n);
  });

  test("of an account that does not exist: txNoAccount", () => {
    assert.equal(refused(signedBy(nobody, { sequence: 1n })), "txNoAccount");
  });

  test("when the fee would eat into the reserve: txInsufficientBalance", () => {
    assert.equal(refused(signedBy(poor, { fee: "151" })), "txInsufficientBalance");
    assert.equal(apply(network, signedBy(poor, { fee: "150" })).ledger, network.latestLedger().sequence);
  });

  test("without a signature, with another's, or for another network: txBadAuth", () => {
    assert.equal(refused(build(network, alice, [pay(bob)])), "txBadAuth");
    assert.equal(refused(signed(build(network, alice, [pay(bob)]), bob)), "txBadAuth");
    const elsewhere = signed(build(network, alice, [pay(bob)], { networkPassphrase: "another network" }), alice);
    assert.equal(refused(elsewhere), "txBadAuth");
  });

  test("with a signature nobody needs: txBadAuthExtra", () => {
    assert.equal(refused(signed(build(network, alice, [pay(bob)]), alice, bob)), "txBadAuthExtra");
    assert.equal(refused(signed(build(network, alice, [pay(bob)]), alice, alice)), "txBadAuthExtra");
  });

  test("without the extra signers it asks for: txBadAuth", () => {
    const options = { extraSigners: [bob.publicKey()] };
    assert.equal(refused(signed(build(network, alice, [pay(bob)], options), alice)), "txBadAuth");
    assert.equal(apply(network, signed(build(network, alice, [pay(bob)], options), alice, bob)).successful, true);
  });

  test("with the same extra signer twice, or one of an empty payload: txMalformed", () => {
    const twice = build(network, alice, [pay(bob)], { extraSigners: [bob.publicKey(), bob.publicKey()] });
    assert.equal(refused(signed(twice, alice, bob)), "txMalformed");
    const empty = xdr.SignerKey.signerKeyTypeEd25519SignedPayload(
      new xdr.SignerKeyEd25519SignedPayload({ ed25519: bob.rawPublicKey(), payload: new Uint8Array() }),
    );
    const cond = xdr.Preconditions.precondV2(
      new xdr.PreconditionsV2({
        timeBounds: null,
        ledgerBounds: null,
        minSeqNum: null,
        minSeqAge: 0n,
        minSeqLedgerGap: 0,
        extraSigners: [empty],
      }),
    );
    const envelope = build(network, alice, [pay(bob)]).toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx");
    const tx = new xdr.Transaction({ ...envelope.v1.tx, cond });
    const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
    assert.equal(refusal(network.submit(xdr.TransactionEnvelope.envelopeTypeTx(v1).toXdr())), "txMalformed");
  });

  test("when it is classic but declares Soroban resources: txMalformed", () => {
    const sorobanData = new xdr.SorobanTransactionData({
      ext: xdr.SorobanTransactionDataExt.v0(),
      resources: new xdr.SorobanResources({
        footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [] }),
        instructions: 0,
        diskReadBytes: 0,
        writeBytes: 0,
      }),
      resourceFee: 0n,
    });
    const draft = altered(network, build(network, alice, [pay(bob)]), {
      ext: xdr.TransactionExt.sorobanData(sorobanData),
    });
    assert.equal(refused(signed(draft, alice)), "txMalformed");
  });

  test("for an operation the sandbox does not apply: opNotSupported", () => {
    const operation = Operation.inflation({});
    assert.equal(refused(signed(build(network, alice, [operation]), alice)), "txFailed/opNotSupported");
  });

  test("when an operation's own source has not signed: opBadAuth", () => {
    const draft = () => build(network, alice, [pay(alice, 5n, bob.publicKey())]);
    assert.equal(refused(signed(draft(), alice)), "txFailed/opBadAuth");
    assert.equal(apply(network, signed(draft(), alice, bob)).successful, true);
  });

  test("not for an operation source that is yet to come: that fails at apply with opNoAccount", () => {
    const draft = () => build(network, alice, [pay(alice, 5n, nobody.publicKey())]);
    assert.equal(refused(signed(draft(), alice)), "txFailed/opBadAuth");
    assert.equal(codesOf(apply(network, signed(draft(), alice, nobody)).resultXdr), "txFailed/opNoAccount");
  });

  test("when its fees together with those waiting exceed what the fee source has: txInsufficientBalance", () => {
    const bumpBy = (pair: Keypair) =>
      signed(
        TransactionBuilder.buildFeeBumpTransaction(poor, "100", signedBy(pair), network.passphrase),
        poor,
      );
    const raise = signed(build(network, alice, [pay(poor, 200n)]), alice);
    apply(network, raise); // 350 stroops above the reserve: one fee bump of 200 fits, two do not.
    assert.equal(submit(network, bumpBy(alice)).status, "PENDING");
    assert.equal(refused(bumpBy(bob)), "txInsufficientBalance");
  });

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
