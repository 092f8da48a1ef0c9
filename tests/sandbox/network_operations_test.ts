// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import {
  accountOf,
  apply,
  balanceOf,
  build,
  codesOf,
  eventsOf,
  fund,
  keypair,
  refusal,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const alice = keypair("alice");
const bob = keypair("bob");
const carol = keypair("carol");
const issuer = keypair("issuer");

describe("classic operations", () => {
  let network: SandboxNetwork;

  beforeEach(async () => {
    ({ network } = await startNetwork());
    await fund(network, alice, bob);
  });

  const applied = (...operations: xdr.Operation[]) => apply(network, signed(build(network, alice, operations), alice));
  const result = (...operations: xdr.Operation[]) => codesOf(applied(...operations).resultXdr);
  const create = (pair: Keypair, startingBalance: string) =>
    Operation.createAccount({ destination: pair.publicKey(), startingBalance });
  const pay = (pair: Keypair, amount: string, asset = Asset.native()) =>
    Operation.payment({ destination: pair.publicKey(), asset, amount });
  const raw = (body: xdr.OperationBody) => new xdr.Operation({ sourceAccount: null, body });
  const refusedAs = (operation: xdr.Operation) =>
    refusal(submit(network, signed(build(network, alice, [operation]), alice)));

  const nothing = new xdr.PaymentOp({
    destination: xdr.MuxedAccount.keyTypeEd25519(bob.rawPublicKey()),
    asset: xdr.Asset.assetTypeNative(),
    amount: 0n,
  });
  const negative = new xdr.BumpSequenceOp({ bumpTo: -1n });
  const FAILING: [what: string, operation: xdr.Operation, code: string][] = [
    ["createAccount of one that exists", create(bob, "5"), "createAccount/createAccountAlreadyExist"],
    ["createAccount with less than two reserves", create(carol, "0.9999999"), "createAccount/createAccountLowReserve"],
    ["createAccount with more than there is", create(carol, "10000"), "createAccount/createAccountUnderfunded"],
    ["a payment below the reserve", pay(bob, "9999.5"), "payment/paymentUnderfunded"],
    ["a payment to nobody", pay(carol, "1"), "payment/paymentNoDestination"],
  ];
  for (const [what, operation, code] of FAILING) {
    test(`${what} fails: ${code}`, () => assert.equal(result(operation), `txFailed/${code}`));
  }
  const REFUSED: typeof FAILING = [
    ["createAccount of oneself", create(alice, "5"), "createAccount/createAccountMalformed"],
    ["a payment of nothing", raw(xdr.OperationBody.payment(nothing)), "payment/paymentMalformed"],
    ["a negative number", raw(xdr.OperationBody.bumpSequence(negative)), "bumpSequence/bumpSequenceBadSeq"],
  ];
  for (const [what, operation, code] of REFUSED) {
    test(`${what} is refused: ${code}`, () => assert.equal(refusedAs(operation), `txFailed/${code}`));
  }

  test("createAccount makes an account whose sequence starts with its ledger", () => {
    const { ledger } = applied(create(carol, "5"));
    const account = accountOf(network, carol);
    assert.equal(account.balance, 50_000_000n);
    assert.equal(account.seqNum, BigInt(ledger) << 32n);
    assert.deepEqual([...account.thresholds.value], [1, 0, 0, 0]);
  });

  test("a payment moves lumens and says so in a transfer event", () => {
    const before = balanceOf(network, bob);
    const paid = applied(pay(bob, "2.5"));
    assert.equal(balanceOf(network, bob) - before, 25_000_000n);
    const [event] = eventsOf(paid);
    assert.deepEqual(event!.topics, ["transfer", alice.publicKey(), bob.publicKey(), "native"]);
    assert.equal(event!.data, 25_000_000n);
    assert.equal(event!.contractId, Asset.native().contractId(network.passphrase));
  });

  test("a payment to oneself changes nothing but the fee", () => {
    const before = balanceOf(network, alice);
    assert.equal(result(pay(alice, "9999999")), "txSuccess/payment/paymentSuccess");
    assert.equal(before - balanceOf(network, alice), 100n);
  });

  test("a payment of an asset nobody holds fails: paymentNoTrust, paymentSrcNoTrust, paymentNoDestination", async () => {
    const asset = new Asset("USD", issuer.publicKey());
    assert.equal(result(pay(bob, "1", asset)), "txFailed/payment/paymentNoTrust");
    assert.equal(result(pay(issuer, "1", asset)), "txFailed/payment/paymentSrcNoTrust");
    assert.equal(result(pay(carol, "1", asset)), "txFailed/payment/paymentNoDestination");
    await fund(network, issuer);
  });

  test("a payment that does not fit into an account fails: paymentLineFull", () => {
    const root = Keypair.master(network.passphrase);
    const all = accountOf(network, root).balance - 10_000_000n - 200n;
    const amount = `${all / 10_000_000n}.${(all % 10_000_000n).toString().padStart(7, "0")}`;
    const wealth = pay(bob, amount);
    apply(network, signed(build(network, root, [wealth]), root));
    assert.equal(result(pay(bob, "922337203685.4775807")), "txFailed/payment/paymentLineFull");
  });

  test("bumpSequence moves the sequence number forward, never back", () => {
    const { seqNum } = accountOf(network, alice);
    applied(Operation.bumpSequence({ bumpTo: (seqNum + 100n).toString() }));
    assert.equal(accountOf(network, alice).seqNum, seqNum + 100n);
    applied(Operation.bumpSequence({ bumpTo: "3" }));
    assert.equal(accountOf(network, alice).seqNum, seqNum + 101n);
  });

  test("manageData writes, changes and removes an entry, which is a subentry", () => {
    const data = (name: string, value: string | null) => Operation.manageData({ name, value });
    const key = (dataName: string) =>
      xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId: alice.xdrAccountId(), dataName })).toXdr();
    const value = (name: string) => {
      const held = network.entry(key(name));
      const entry = held && xdr.LedgerEntryData.fromXdr(held.dataXdr);
      return entry?.type === "data" ? new TextDecoder().decode(entry.data.dataValue.value) : undefined;
    };
    applied(data("color", "red"));
    assert.equal(value("color"), "red");
    assert.equal(accountOf(network, alice).numSubEntries, 1);
    applied(data("color", "blue"));
    assert.equal(value("color"), "blue");
    assert.equal(accountOf(network, alice).numSubEntries, 1);
    applied(data("color", null));
    assert.equal(value("color"), undefined);
    assert.equal(accountOf(network, alice).numSubEntries, 0);
    assert.equal(result(data("color", null)), "txFailed/manageData/manageDataNameNotFound");
    for (const dataName of ["", "a\nb", "ä"]) {
      const op = new xdr.ManageDataOp({ dataName, dataValue: Uint8Array.of(1) });
      assert.equal(refusedAs(raw(xdr.OperationBody.manageData(op))), "txFailed/manageData/manageDataInvalidName");
    }
  });

  test("accountMerge gives all lumens to another account and leaves nothing", () => {
    network.closeLedger();
    const before = balanceOf(network, alice) + balanceOf(network, bob);
    const merged = applied(Operation.accountMerge({ destination: bob.publicKey() }));
    const { result: outcome } = xdr.TransactionResult.fromXdr(merged.resultXdr);
    assert.ok(outcome.type === "txSuccess");
    const [first] = outcome.results;
    assert.ok(first?.type === "opInner" && first.tr.type === "accountMerge");
    assert.ok(first.tr.accountMergeResult.type === "accountMergeSuccess");
    assert.equal(first.tr.accountMergeResult.sourceAccountBalance, 99_999_999_900n);
    assert.equal(before - balanceOf(network, bob), 100n);
    assert.equal(
      network.entry(xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: alice.xdrAccountId() })).toXdr()),
      undefined,
    );
    const [event] = eventsOf(merged);
    assert.deepEqual(event!.topics, ["transfer", alice.publicKey(), bob.publicKey(), "native"]);
    assert.equal(event!.data, 99_999_999_900n);
  });

  test("accountMerge fails where stellar-core's does", () => {
    const merge = (pair: Keypair) => Operation.accountMerge({ destination: pair.publicKey() });
    const code = "txFailed/accountMerge/accountMerge";
    assert.equal(refusedAs(merge(alice)), `${code}Malformed`);
    assert.equal(result(merge(carol)), `${code}NoAccount`);
    assert.equal(result(Operation.manageData({ name: "color", value: "red" }), merge(bob)), `${code}HasSubEntries`);
    const next = String((BigInt(network.latestLedger().sequence + 1)) << 32n);
    assert.equal(result(Operation.bumpSequence({ bumpTo: next }), merge(bob)), `${code}SeqnumTooFar`);
    const signer = { ed25519PublicKey: carol.publicKey(), weight: 1 };
    assert.equal(result(Operation.setOptions({ signer }), merge(bob)), "txSuccess/setOptions/setOptionsSuccess");
  });

  test("operations of one transaction see each other, and happen all or not at all", () => {
    const before = balanceOf(network, alice);
    const failed = applied(create(carol, "5"), pay(carol, "1"), pay(issuer, "1"));
    const { result: outcome } = xdr.TransactionResult.fromXdr(failed.resultXdr);
    assert.ok(outcome.type === "txFailed");
    assert.deepEqual(outcome.results.map((r) => r.type === "opInner" && r.tr.value.type), [
      "createAccountSuccess",
      "paymentSuccess",
      "paymentNoDestination",
    ]);
    assert.equal(before - balanceOf(network, alice), 300n);
    const carolsKey = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: carol.xdrAccountId() }));
    assert.equal(network.entry(carolsKey.toXdr()), undefined);
    const meta = xdr.TransactionMeta.fromXdr(failed.resultMetaXdr);
    assert.deepEqual(meta.type === "v4" && meta.v4.operations, []);

    assert.equal(result(create(carol, "5"), pay(carol, "1")), "txSuccess/createAccount/createAccountSuccess");
    assert.equal(balanceOf(network, carol), 60_000_000n);
  });

  test("a transaction can spend what one before it in the same ledger has spent: it is charged and fails", () => {
    const almostAll = (pair: Keypair) => signed(build(network, pair, [pay(carol, "9000")]), pair);
    applied(create(carol, "1"));
    const drain = Operation.payment({
      destination: carol.publicKey(),
      asset: Asset.native(),
      amount: "9000",
      source: bob.publicKey(),
    });
    const first = submit(network, signed(build(network, alice, [drain]), alice, bob));
    const second = submit(network, almostAll(bob));
    network.closeLedger();
    assert.equal(network.transaction(first.hash)!.successful, true);
    assert.equal(codesOf(network.transaction(second.hash)!.resultXdr), "txFailed/payment/paymentUnderfunded");
    assert.deepEqual(network.transactionsAfter(network.latestLedger().sequence, 0, 10).map((t) => t.hash), [
      first.hash,
      second.hash,
    ]);
    assert.deepEqual(network.transactionsAfter(network.latestLedger().sequence, 1, 10).map((t) => t.hash), [
      second.hash,
    ]);
  });

  test("a transaction whose sequence number was used by an operation before it is charged and fails: txBadSeq", () => {
    const { seqNum } = accountOf(network, bob);
    const steal = Operation.bumpSequence({ bumpTo: (seqNum + 10n).toString(), source: bob.publicKey() });
    submit(network, signed(build(network, alice, [steal]), alice, bob));
    const before = balanceOf(network, bob);
    const victim = submit(network, signed(build(network, bob, [pay(alice, "1")]), bob));
    network.closeLedger();
    assert.equal(codesOf(network.transaction(victim.hash)!.resultXdr), "txBadSeq");
    assert.equal(before - balanceOf(network, bob), 100n);
    assert.equal(accountOf(network, bob).seqNum, seqNum + 10n);
  });

  test("fee statistics list what was charged per operation, classic and Soroban apart", () => {
    const before = network.fees().classic.length;
    const { ledger } = applied(pay(bob, "1"), pay(bob, "1"));
    assert.deepEqual(network.fees().classic.slice(before), [{ ledger, fee: 100n }]);
    assert.deepEqual(network.fees().soroban, []);
  });
});
