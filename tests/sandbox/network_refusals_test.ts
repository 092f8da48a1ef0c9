import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Asset, Keypair, Memo, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import {
  accountOf,
  apply,
  build,
  codesOf,
  feeChargedOf,
  fund,
  keypair,
  refusal,
  signed,
  START_SECONDS,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const alice = keypair("alice");
const bob = keypair("bob");
const poor = keypair("poor");
const nobody = keypair("nobody");

const pay = (destination: Keypair, stroops = 1n, source?: string) =>
  Operation.payment({
    destination: destination.publicKey(),
    asset: Asset.native(),
    amount: `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, "0")}`,
    ...(source && { source }),
  });

/** The same transaction with fields changed that the SDK's builder does not let through. */
function altered(
  network: SandboxNetwork,
  transaction: Transaction,
  fields: Partial<ConstructorParameters<typeof xdr.Transaction>[0]>,
): Transaction {
  const envelope = transaction.toEnvelope();
  assert.ok(envelope.type === "envelopeTypeTx");
  const tx = new xdr.Transaction({ ...envelope.v1.tx, ...fields });
  const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
  return TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTx(v1), network.passphrase) as Transaction;
}

describe("an envelope is refused", () => {
  let network: SandboxNetwork;
  let clock: { seconds: number };

  beforeEach(async () => {
    ({ network, clock } = await startNetwork());
    await fund(network, alice, bob);
    clock.seconds += 10;
    network.closeLedger();
    apply(
      network,
      signed(
        build(network, alice, [
          Operation.createAccount({ destination: poor.publicKey(), startingBalance: "1.0000150" }),
        ]),
        alice,
      ),
    );
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
    const operation = Operation.manageData({ name: "key", value: "value" });
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
});

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

describe("a fee bump", () => {
  let network: SandboxNetwork;

  beforeEach(async () => {
    ({ network } = await startNetwork());
    await fund(network, alice, bob);
  });

  const inner = (stroops = 1n, fee = "100") => signed(build(network, alice, [pay(bob, stroops)], { fee }), alice);
  const bump = (fee: string, wrapped = inner(), ...signers: Keypair[]) => {
    const built = TransactionBuilder.buildFeeBumpTransaction(bob, fee, wrapped, network.passphrase);
    for (const signer of signers) built.sign(signer);
    return built;
  };
  /** A bump with a total fee the SDK's builder would not let through. */
  const bumpOf = (fee: bigint, wrapped: Transaction, ...signers: Keypair[]) => {
    const envelope = bump("1000000", wrapped).toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTxFeeBump");
    const tx = new xdr.FeeBumpTransaction({ ...envelope.feeBump.tx, fee });
    const outer = new xdr.FeeBumpTransactionEnvelope({ tx, signatures: [] });
    const built = TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTxFeeBump(outer), network.passphrase);
    for (const signer of signers) built.sign(signer);
    return built;
  };

  test("is paid by its fee source; the inner transaction keeps its own sequence number and pays nothing", () => {
    const sequence = accountOf(network, alice).seqNum;
    const [aliceBefore, bobBefore] = [accountOf(network, alice).balance, accountOf(network, bob).balance];
    const applied = apply(network, bump("200", inner(7n), bob));
    assert.equal(codesOf(applied.resultXdr), "txFeeBumpInnerSuccess/txSuccess/payment/paymentSuccess");
    assert.equal(applied.feeBump, true);
    assert.equal(feeChargedOf(applied), 200n);
    assert.equal(accountOf(network, alice).balance, aliceBefore - 7n);
    assert.equal(accountOf(network, bob).balance, bobBefore + 7n - 200n);
    assert.equal(accountOf(network, alice).seqNum, sequence + 1n);
  });

  test("is found by the hash of the inner transaction too", () => {
    const wrapped = inner();
    const applied = apply(network, bump("200", wrapped, bob));
    assert.equal(network.transaction(wrapped.hash().toHex())?.hash, applied.hash);
  });

  test("below 100 stroops for each operation and one more is refused: txInsufficientFee", () => {
    assert.equal(refusal(submit(network, bumpOf(199n, inner(), bob))), "txInsufficientFee");
  });

  test("that bids less an operation than the inner transaction is refused: txInsufficientFee, naming the fee", () => {
    const outcome = submit(network, bumpOf(599n, inner(1n, "300"), bob));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 600n);
  });

  test("of an account that does not exist is refused: txNoAccount", () => {
    const built = TransactionBuilder.buildFeeBumpTransaction(nobody, "200", inner(), network.passphrase);
    assert.equal(refusal(submit(network, signed(built, nobody))), "txNoAccount");
  });

  test("without the fee source's signature is refused: txBadAuth; with one too many: txBadAuthExtra", () => {
    assert.equal(refusal(submit(network, bump("200"))), "txBadAuth");
    assert.equal(refusal(submit(network, bump("200", inner(), bob, alice))), "txBadAuthExtra");
  });

  test("the fee source cannot pay is refused: txInsufficientBalance", () => {
    assert.equal(refusal(submit(network, bumpOf(200_000_000_000n, inner(), bob))), "txInsufficientBalance");
  });

  test("with a negative fee is refused: txMalformed", () => {
    assert.equal(refusal(submit(network, bumpOf(-1n, inner(), bob))), "txMalformed");
  });

  test("around a transaction that is refused: txFeeBumpInnerFailed with the inner code", () => {
    const unsigned = build(network, alice, [pay(bob)]);
    assert.equal(refusal(submit(network, bump("200", unsigned, bob))), "txFeeBumpInnerFailed/txBadAuth");
    const old = signed(build(network, alice, [pay(bob)], { sequence: 1n }), alice);
    assert.equal(refusal(submit(network, bump("200", old, bob))), "txFeeBumpInnerFailed/txBadSeq");
  });

  test("around a transaction that fails at apply costs its fee: txFeeBumpInnerFailed", () => {
    const applied = apply(network, bump("200", inner(200_000_000_000n), bob));
    assert.equal(codesOf(applied.resultXdr), "txFeeBumpInnerFailed/txFailed/payment/paymentUnderfunded");
    assert.equal(applied.successful, false);
    assert.equal(feeChargedOf(applied), 200n);
  });
});

describe("an envelope of an older or a muxed form", () => {
  let network: SandboxNetwork;
  before(async () => {
    ({ network } = await startNetwork());
    await fund(network, alice, bob);
  });

  test("of type V0 is taken, with the same hash", () => {
    const transaction = signed(build(network, alice, [pay(bob)]), alice);
    const envelope = transaction.toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx");
    const { sourceAccount, fee, seqNum, memo, operations } = envelope.v1.tx;
    assert.ok(sourceAccount.type === "keyTypeEd25519");
    const tx = new xdr.TransactionV0({
      sourceAccountEd25519: sourceAccount.ed25519,
      fee,
      seqNum,
      timeBounds: new xdr.TimeBounds({ minTime: 0n, maxTime: 0n }),
      memo,
      operations,
      ext: xdr.TransactionV0Ext.v0(),
    });
    const v0 = new xdr.TransactionV0Envelope({ tx, signatures: envelope.v1.signatures });
    const outcome = network.submit(xdr.TransactionEnvelope.envelopeTypeTxV0(v0).toXdr());
    assert.equal(outcome.status, "PENDING");
    assert.equal(outcome.hash, transaction.hash().toHex());
    network.closeLedger();
    assert.equal(network.transaction(outcome.hash)?.successful, true);
  });

  test("with muxed accounts is taken, and the transfer event names the recipient's id", () => {
    const muxed = (pair: Keypair, id: bigint) =>
      xdr.MuxedAccount.keyTypeMuxedEd25519(new xdr.MuxedAccountMed25519({ id, ed25519: pair.rawPublicKey() }));
    const payment = new xdr.PaymentOp({
      destination: muxed(bob, 42n),
      asset: Asset.native().toXdrObject(),
      amount: 5n,
    });
    const operation = new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.payment(payment) });
    const draft = altered(network, build(network, alice, [pay(bob)]), {
      sourceAccount: muxed(alice, 7n),
      operations: [operation],
    });
    const applied = apply(network, signed(draft, alice));
    assert.equal(applied.successful, true);
    const event = xdr.ContractEvent.fromXdr(applied.contractEventsXdr[0]![0]!);
    const data = event.body.v0.data;
    assert.ok(data.type === "scvMap");
    assert.deepEqual(data.map?.map(({ key }) => key.type === "scvSymbol" && key.sym.toString()), [
      "amount",
      "to_muxed_id",
    ]);
  });

  test("with a memo moves lumens, and the transfer event carries the memo", () => {
    const applied = apply(network, signed(build(network, alice, [pay(bob)], { memo: Memo.text("rent") }), alice));
    const data = xdr.ContractEvent.fromXdr(applied.contractEventsXdr[0]![0]!).body.v0.data;
    assert.ok(data.type === "scvMap");
    assert.equal(data.map?.length, 2);
  });

  test("starts its clock where it was told to", () => {
    assert.equal(network.latestLedger().closeTime, START_SECONDS);
  });
});
