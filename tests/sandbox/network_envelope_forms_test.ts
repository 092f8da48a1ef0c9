// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Asset, type Keypair, Memo, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, altered, bob, nobody, pay } from "./envelope_parts.ts";
import {
  accountOf,
  apply,
  build,
  codesOf,
  feeChargedOf,
  fund,
  prepare,
  refusal,
  signed,
  START_SECONDS,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

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

  test("counts in the fee statistics with all it was charged, for each operation of the inner transaction", () => {
    const before = network.fees().classic.length;
    const three = signed(build(network, alice, [pay(bob), pay(bob), pay(bob)], { fee: "100" }), alice);
    apply(network, bump("100", three, bob));
    apply(network, bump("1000", inner(), bob));
    assert.deepEqual(network.fees().classic.slice(before).map(({ fee }) => fee), [133n, 200n]);
    const soroban = signed(
      prepare(network, alice, Operation.createStellarAssetContract({ asset: Asset.native() })),
      alice,
    );
    apply(network, bump("1000", soroban, bob));
    assert.deepEqual(network.fees().soroban.map(({ fee }) => fee), [200n]);
  });

  test("is found by the hash of the inner transaction too", () => {
    const wrapped = inner();
    const applied = apply(network, bump("200", wrapped, bob));
    assert.equal(network.transaction(wrapped.hash().toHex())?.hash, applied.hash);
  });

  test("that bids less an operation than the inner transaction is refused: txInsufficientFee, naming the fee", () => {
    const outcome = submit(network, bumpOf(599n, inner(1n, "300"), bob));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 600n);
  });

  const stranger = () => {
    const built = TransactionBuilder.buildFeeBumpTransaction(nobody, "200", inner(), network.passphrase);
    return signed(built, nobody);
  };
  const REFUSED: [what: string, bump: () => Parameters<typeof submit>[1], code: string][] = [
    ["below 100 stroops for each operation and one more", () => bumpOf(199n, inner(), bob), "txInsufficientFee"],
    ["of an account that does not exist", stranger, "txNoAccount"],
    ["without the fee source's signature", () => bump("200"), "txBadAuth"],
    ["with a signature too many", () => bump("200", inner(), bob, alice), "txBadAuthExtra"],
    ["the fee source cannot pay", () => bumpOf(200_000_000_000n, inner(), bob), "txInsufficientBalance"],
    ["with a negative fee", () => bumpOf(-1n, inner(), bob), "txMalformed"],
  ];
  for (const [what, made, code] of REFUSED) {
    test(`${what} is refused: ${code}`, () => assert.equal(refusal(submit(network, made())), code));
  }

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
