// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import { payUsd } from "./asset_network.ts";
import { create, merge, pay, raw } from "./envelope_parts.ts";
import { alice, bob, carol, issuer } from "./people.ts";
import { codesOf, eventsOf, metaOf, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

describe("the network", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork();
    await n.fund(alice, bob);
  });

  const bumpTo = (sequence: bigint, source = alice) =>
    Operation.bumpSequence({ bumpTo: sequence.toString(), source: source.publicKey() });
  const data = (name: string, value: string | null) => Operation.manageData({ name, value });
  const rawData = (dataName: string) =>
    raw(xdr.OperationBody.manageData(new xdr.ManageDataOp({ dataName, dataValue: Uint8Array.of(1) })));
  const nothing = new xdr.PaymentOp({
    destination: xdr.MuxedAccount.keyTypeEd25519(bob.rawPublicKey()),
    asset: xdr.Asset.assetTypeNative(),
    amount: 0n,
  });
  const negative = new xdr.BumpSequenceOp({ bumpTo: -1n });

  type Case = [what: string, code: string, ...operations: xdr.Operation[]];
  const failing: Case[] = [
    ["createAccount for an existing account", "createAccount/createAccountAlreadyExist", create(bob, "5")],
    ["createAccount below two reserves", "createAccount/createAccountLowReserve", create(carol, "0.9999999")],
    ["createAccount above the balance", "createAccount/createAccountUnderfunded", create(carol, "10000")],
    ["a payment that needs the reserve", "payment/paymentUnderfunded", pay(bob, 99_995_000_000n)],
    ["a payment to no account", "payment/paymentNoDestination", pay(carol)],
    ["a payment of an asset that the receiver does not trust", "payment/paymentNoTrust", payUsd(bob, "1")],
    ["a payment of an asset that the source does not trust", "payment/paymentSrcNoTrust", payUsd(issuer, "1")],
    ["a payment of an asset to no account", "payment/paymentNoDestination", payUsd(carol, "1")],
    ["manageData that removes a missing entry", "manageData/manageDataNameNotFound", data("color", null)],
    ["accountMerge into no account", "accountMerge/accountMergeNoAccount", merge(carol)],
    ["accountMerge of an account with data", "accountMerge/accountMergeHasSubEntries", data("a", "x"), merge(bob)],
  ];
  for (const [what, code, ...operations] of failing) {
    test(`fails ${what}: ${code}`, () => assert.equal(n.result(alice, ...operations), `txFailed/${code}`));
  }

  const refused: Case[] = [
    ["createAccount for its source", "createAccount/createAccountMalformed", create(alice, "5")],
    ["a payment of nothing", "payment/paymentMalformed", raw(xdr.OperationBody.payment(nothing))],
    ["a negative sequence number", "bumpSequence/bumpSequenceBadSeq", raw(xdr.OperationBody.bumpSequence(negative))],
    ["data with an empty name", "manageData/manageDataInvalidName", rawData("")],
    ["data with a control character in its name", "manageData/manageDataInvalidName", rawData("a\nb")],
    ["data with a name that is not ASCII", "manageData/manageDataInvalidName", rawData("ä")],
    ["accountMerge into its source", "accountMerge/accountMergeMalformed", merge(alice)],
  ];
  for (const [what, code, operation] of refused) {
    test(`refuses ${what}: ${code}`, () => assert.equal(n.refused(alice, operation!), `txFailed/${code}`));
  }

  test("creates an account whose sequence number starts with its ledger", () => {
    const { ledger } = n.run(alice, create(carol, "5"));
    const account = n.account(carol);
    assert.equal(account.balance, 50_000_000n);
    assert.equal(account.seqNum, BigInt(ledger) << 32n);
    assert.deepEqual([...account.thresholds.value], [1, 0, 0, 0]);
  });

  test("moves lumens by a payment and publishes a transfer event", () => {
    const before = n.balance(bob);
    const [event] = eventsOf(n.run(alice, pay(bob, 25_000_000n)));
    assert.equal(n.balance(bob) - before, 25_000_000n);
    assert.deepEqual(event!.topics, ["transfer", alice.publicKey(), bob.publicKey(), "native"]);
    assert.equal(event!.data, 25_000_000n);
    assert.equal(event!.contractId, Asset.native().contractId(n.network.passphrase));
  });

  test("charges only the fee for a payment to its source", () => {
    const before = n.balance(alice);
    assert.equal(n.result(alice, pay(alice, 99_999_990_000_000n)), "txSuccess/payment/paymentSuccess");
    assert.equal(before - n.balance(alice), 100n);
  });

  test("fails a payment above the largest balance: paymentLineFull", () => {
    const root = Keypair.master(n.network.passphrase);
    n.run(root, pay(bob, n.balance(root) - 10_000_000n - 200n));
    assert.equal(n.result(alice, pay(bob, (1n << 63n) - 1n)), "txFailed/payment/paymentLineFull");
  });

  test("moves a sequence number forward by bumpSequence, and never back", () => {
    const { seqNum } = n.account(alice);
    n.run(alice, bumpTo(seqNum + 100n));
    assert.equal(n.account(alice).seqNum, seqNum + 100n);
    n.run(alice, bumpTo(3n));
    assert.equal(n.account(alice).seqNum, seqNum + 101n);
  });

  test("writes, changes and removes a data entry by manageData, and counts it as a subentry", () => {
    const key = xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId: alice.xdrAccountId(), dataName: "color" }));
    const held = () => {
      const found = n.network.entry(key.toXdr());
      const entry = found && xdr.LedgerEntryData.fromXdr(found.dataXdr);
      return entry?.type === "data" ? new TextDecoder().decode(entry.data.dataValue.value) : null;
    };
    for (const [value, subentries] of [["red", 1], ["blue", 1], [null, 0]] as const) {
      n.run(alice, data("color", value));
      assert.deepEqual([held(), n.account(alice).numSubEntries], [value, subentries]);
    }
  });

  test("moves all lumens by accountMerge, removes the account and publishes a transfer event", () => {
    n.close();
    const before = n.balance(alice) + n.balance(bob);
    const merged = n.run(alice, merge(bob));
    const { result: outcome } = xdr.TransactionResult.fromXdr(merged.resultXdr);
    assert.ok(outcome.type === "txSuccess");
    const [first] = outcome.results;
    assert.ok(first?.type === "opInner" && first.tr.type === "accountMerge");
    assert.ok(first.tr.accountMergeResult.type === "accountMergeSuccess");
    assert.equal(first.tr.accountMergeResult.sourceAccountBalance, 99_999_999_900n);
    assert.equal(before - n.balance(bob), 100n);
    assert.equal(n.find(alice), undefined);
    const [event] = eventsOf(merged);
    assert.deepEqual(event!.topics, ["transfer", alice.publicKey(), bob.publicKey(), "native"]);
    assert.equal(event!.data, 99_999_999_900n);
  });

  test("fails accountMerge while the sequence number is that of a later ledger: accountMergeSeqnumTooFar", () => {
    const next = BigInt(n.network.latestLedger().sequence + 1) << 32n;
    assert.equal(n.result(alice, bumpTo(next), merge(bob)), "txFailed/accountMerge/accountMergeSeqnumTooFar");
  });

  test("merges an account with a signer", () => {
    n.close();
    const signer = { ed25519PublicKey: carol.publicKey(), weight: 1 };
    assert.equal(n.run(alice, Operation.setOptions({ signer }), merge(bob)).successful, true);
  });

  test("applies all operations of a transaction, each on the results of the previous ones, or none", () => {
    const before = n.balance(alice);
    const failed = n.run(alice, create(carol, "5"), pay(carol), pay(issuer));
    const { result: outcome } = xdr.TransactionResult.fromXdr(failed.resultXdr);
    assert.ok(outcome.type === "txFailed");
    assert.deepEqual(outcome.results.map((r) => r.type === "opInner" && r.tr.value.type), [
      "createAccountSuccess",
      "paymentSuccess",
      "paymentNoDestination",
    ]);
    assert.equal(before - n.balance(alice), 300n);
    assert.equal(n.find(carol), undefined);
    assert.deepEqual(metaOf(failed).operations, []);

    assert.equal(n.run(alice, create(carol, "5"), pay(carol, 10_000_000n)).successful, true);
    assert.equal(n.balance(carol), 60_000_000n);
  });

  test("charges and fails a payment whose lumens an earlier transaction of the ledger has spent: paymentUnderfunded", () => {
    const amount = 90_000_000_000n;
    n.run(alice, create(carol, "1"));
    const first = n.submit(signed(n.build(alice, [pay(carol, amount, bob)]), alice, bob));
    const second = n.submit(signed(n.build(bob, [pay(carol, amount)]), bob));
    n.close();
    assert.equal(n.network.transaction(first.hash)!.successful, true);
    assert.equal(codesOf(n.network.transaction(second.hash)!.resultXdr), "txFailed/payment/paymentUnderfunded");
    const { sequence } = n.network.latestLedger();
    const hashesAfter = (order: number) => n.network.transactionsAfter(sequence, order, 10).map((t) => t.hash);
    assert.deepEqual(hashesAfter(0), [first.hash, second.hash]);
    assert.deepEqual(hashesAfter(1), [second.hash]);
  });

  test("charges and fails a transaction whose sequence number an earlier one of the ledger has used: txBadSeq", () => {
    const { seqNum } = n.account(bob);
    n.submit(signed(n.build(alice, [bumpTo(seqNum + 10n, bob)]), alice, bob));
    const before = n.balance(bob);
    const victim = n.submit(signed(n.build(bob, [pay(alice)]), bob));
    n.close();
    assert.equal(codesOf(n.network.transaction(victim.hash)!.resultXdr), "txBadSeq");
    assert.equal(before - n.balance(bob), 100n);
    assert.equal(n.account(bob).seqNum, seqNum + 10n);
  });
});
