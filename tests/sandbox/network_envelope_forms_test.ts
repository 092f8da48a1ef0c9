// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Asset, type Keypair, Memo, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { altered, feeBump, muxed, nobody, pay, raw } from "./envelope_parts.ts";
import { alice, bob } from "./people.ts";
import type { TestNetwork } from "./sandbox_network.ts";
import { build, codesOf, eventsOf, feeChargedOf, refusal, signed, startNetwork, submit } from "./sandbox_network.ts";

describe("a fee bump", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork();
    await n.fund(alice, bob);
  });

  const inner = (stroops = 1n, fee = "100") => signed(n.build(alice, [pay(bob, stroops)], { fee }), alice);
  /** A fee bump of Bob. The SDK rejects such fees, so this sets the total fee itself. */
  const bumpOf = (fee: bigint, wrapped = inner(), ...signers: Keypair[]) => {
    const envelope = feeBump(n.network, bob, "1000000", wrapped).toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTxFeeBump");
    const tx = new xdr.FeeBumpTransaction({ ...envelope.feeBump.tx, fee });
    const outer = xdr.TransactionEnvelope.envelopeTypeTxFeeBump(
      new xdr.FeeBumpTransactionEnvelope({ tx, signatures: [] }),
    );
    return signed(TransactionBuilder.fromXdr(outer, n.network.passphrase), ...signers);
  };

  test("charges its fee source; the inner transaction uses its sequence number and pays no fee", () => {
    const [aliceBefore, bobBefore] = [n.account(alice), n.account(bob)];
    const applied = n.apply(feeBump(n.network, bob, "200", inner(7n)));
    assert.equal(codesOf(applied.resultXdr), "txFeeBumpInnerSuccess/txSuccess/payment/paymentSuccess");
    assert.equal(applied.feeBump, true);
    assert.equal(feeChargedOf(applied), 200n);
    assert.equal(n.account(alice).balance, aliceBefore.balance - 7n);
    assert.equal(n.account(bob).balance, bobBefore.balance + 7n - 200n);
    assert.equal(n.account(alice).seqNum, aliceBefore.seqNum + 1n);
  });

  test("adds its whole charge, divided by the inner operations, to the fee statistics", () => {
    const before = n.network.fees().classic.length;
    const payments = (count: number) => signed(n.build(alice, Array.from({ length: count }, () => pay(bob))), alice);
    const { ledger } = n.apply(payments(2));
    n.apply(feeBump(n.network, bob, "100", payments(3)));
    n.apply(feeBump(n.network, bob, "1000", inner()));
    const classic = n.network.fees().classic.slice(before);
    assert.deepEqual(classic[0], { ledger, fee: 100n }, "a transaction without a fee bump");
    assert.deepEqual(classic.slice(1).map(({ fee }) => fee), [133n, 200n]);
    assert.deepEqual(n.network.fees().soroban, []);
    const deploy = Operation.createStellarAssetContract({ asset: Asset.native() });
    n.apply(feeBump(n.network, bob, "1000", signed(n.prepare(alice, deploy), alice)));
    assert.deepEqual(n.network.fees().soroban.map(({ fee }) => fee), [200n]);
  });

  test("that bids less per operation than the inner transaction is refused: txInsufficientFee with the minimum fee", () => {
    const outcome = n.submit(bumpOf(599n, inner(1n, "300"), bob));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 600n);
  });

  const around = (options: Parameters<typeof build>[3], ...signers: Keypair[]) =>
    feeBump(n.network, bob, "200", signed(n.build(alice, [pay(bob)], options), ...signers));
  const cases: [what: string, code: string, bump: () => Parameters<typeof submit>[1]][] = [
    ["below 100 stroops for each operation and one more", "txInsufficientFee", () => bumpOf(199n, inner(), bob)],
    ["of an account that does not exist", "txNoAccount", () => feeBump(n.network, nobody, "200", inner())],
    ["without the fee source's signature", "txBadAuth", () => bumpOf(400n)],
    ["with an unnecessary signature", "txBadAuthExtra", () => signed(feeBump(n.network, bob, "200", inner()), alice)],
    ["that its fee source cannot pay", "txInsufficientBalance", () => bumpOf(200_000_000_000n, inner(), bob)],
    ["with a negative fee", "txMalformed", () => bumpOf(-1n, inner(), bob)],
    ["around an unsigned transaction", "txFeeBumpInnerFailed/txBadAuth", () => around({})],
    ["around a used sequence number", "txFeeBumpInnerFailed/txBadSeq", () => around({ sequence: 1n }, alice)],
  ];
  for (const [what, code, bump] of cases) {
    test(`${what} is refused: ${code}`, () => assert.equal(refusal(n.submit(bump())), code));
  }

  test("around a transaction that fails in its ledger costs its fee: txFeeBumpInnerFailed", () => {
    const applied = n.apply(feeBump(n.network, bob, "200", inner(200_000_000_000n)));
    assert.equal(codesOf(applied.resultXdr), "txFeeBumpInnerFailed/txFailed/payment/paymentUnderfunded");
    assert.equal(applied.successful, false);
    assert.equal(feeChargedOf(applied), 200n);
  });
});

describe("the network applies a payment", () => {
  let n: TestNetwork;
  before(async () => {
    n = await startNetwork();
    await n.fund(alice, bob);
  });

  test("in an envelope of type V0, with the hash of the V1 envelope", () => {
    const transaction = signed(n.build(alice, [pay(bob)]), alice);
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
    const outcome = n.network.submit(xdr.TransactionEnvelope.envelopeTypeTxV0(v0).toXdr());
    assert.equal(outcome.status, "PENDING");
    assert.equal(outcome.hash, transaction.hash().toHex());
    n.close();
    assert.equal(n.network.transaction(outcome.hash)?.successful, true);
  });

  const toMuxed = () => {
    const asset = Asset.native().toXdrObject();
    const payment = new xdr.PaymentOp({ destination: muxed(bob, 42n), asset, amount: 5n });
    const operations = [raw(xdr.OperationBody.payment(payment))];
    return altered(n.network, n.build(alice, [pay(bob)]), { sourceAccount: muxed(alice, 7n), operations });
  };
  const withMemo = () => n.build(alice, [pay(bob, 5n)], { memo: Memo.text("rent") });
  const receivers: [what: string, draft: () => Transaction, id: unknown][] = [
    ["between muxed accounts; the transfer event has the receiver's id", toMuxed, 42n],
    ["with a memo; the transfer event has the memo", withMemo, "rent"],
  ];
  for (const [what, draft, id] of receivers) {
    test(what, () => {
      const applied = n.apply(signed(draft(), alice));
      assert.equal(applied.successful, true);
      assert.deepEqual(eventsOf(applied)[0]!.data, { amount: 5n, to_muxed_id: id });
    });
  }
});
