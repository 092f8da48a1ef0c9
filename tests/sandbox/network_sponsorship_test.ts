// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Claimant, type Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { alice, bob, carol, issuer, pay, trust, trustlineOf, usd } from "./asset_network.ts";
import { accountOf, apply, balanceOf, build, codesOf, feeChargedOf, signed } from "./sandbox_network.ts";
import {
  accountKey,
  balanceBy,
  BASE_RESERVE,
  begin,
  by,
  create,
  dataBy,
  dave,
  end,
  lineKey,
  signerBy,
  startSponsorshipNetwork,
  trustBy,
} from "./sponsorship.ts";

/** Who sponsors what, as CAP-33 has it: who may, who pays, and how it ends. */
describe("sponsored reserves", () => {
  test("an account without lumens is made and trusts an asset: its sponsor pays three reserves", async () => {
    const { n, run, counts, sponsorOf, leaveOnly } = await startSponsorshipNetwork();
    const onboarded = run([alice, dave], begin(dave), create(dave, "0"), trustBy(dave), end(dave));
    assert.equal(onboarded.successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 3 });
    assert.deepEqual(counts(dave), { numSponsored: 3, numSponsoring: 0 });
    assert.equal(balanceOf(n.network, dave), 0n);
    assert.deepEqual(sponsorOf(accountKey(dave)), new Uint8Array(alice.rawPublicKey()));
    assert.deepEqual(sponsorOf(lineKey(dave)), new Uint8Array(alice.rawPublicKey()));
    assert.equal(n.run(issuer, pay(dave, "5")).successful, true);
    assert.equal(trustlineOf(n.network, dave)?.balance, 50_000_000n);
    assert.deepEqual(sponsorOf(lineKey(dave)), new Uint8Array(alice.rawPublicKey()), "as before the payment");
    leaveOnly(alice, 0n);
    assert.equal(balanceOf(n.network, alice), 5n * BASE_RESERVE, "what she pays for others she has to keep");
  });

  test("the account goes on being sponsored whatever it does, and what it makes by itself it pays", async () => {
    const { n, run, counts, sponsorOf } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "10"), end(dave));
    run([dave], dataBy(dave), signerBy(dave));
    assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(sponsorOf(accountKey(dave)), new Uint8Array(alice.rawPublicKey()));
    assert.deepEqual(extensionsOf(accountOf(n.network, dave)).signerSponsors, [null]);
  });

  test("data, signers and claimable balances are sponsored; what goes gives its reserve back", async () => {
    const { n, run, counts } = await startSponsorshipNetwork();
    run([alice, bob], begin(bob), dataBy(bob), signerBy(bob), balanceBy(bob, carol, dave), end(bob));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 4 });
    assert.deepEqual(counts(bob), { numSponsored: 2, numSponsoring: 0 });
    const [payer] = extensionsOf(accountOf(n.network, bob)).signerSponsors;
    assert.deepEqual(payer?.ed25519.value, new Uint8Array(alice.rawPublicKey()));
    run([bob], dataBy(bob, "y"), signerBy(bob, 2));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 4 }, "changed, they are still hers to pay");
    run([bob], dataBy(bob, null), signerBy(bob, 0));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(counts(bob), { numSponsored: 0, numSponsoring: 0 });
    assert.equal(accountOf(n.network, bob).numSubEntries, 0);
  });

  test("whoever creates a claimable balance of an issued asset is written back, as in stellar-core, though another pays for it", async () => {
    const { n, run } = await startSponsorshipNetwork();
    run([bob], trust());
    n.run(issuer, pay(bob, "10"));
    const claimants = [new Claimant(carol.publicKey())];
    const create = Operation.createClaimableBalance({ asset: usd, amount: "1", claimants, ...by(bob) });
    const { resultMetaXdr } = run([bob, alice], begin(bob, by(alice)), create, end(bob));
    const meta = xdr.TransactionMeta.fromXdr(resultMetaXdr);
    assert.ok(meta.type === "v4");
    const written = meta.v4.operations[1]!.changes.flatMap((change) =>
      change.type === "ledgerEntryUpdated" && change.updated.data.type === "account"
        ? [change.updated.data.account.accountId.toXdr("hex")]
        : []
    );
    assert.deepEqual(written.sort(), [alice, bob].map((pair) => pair.xdrAccountId().toXdr("hex")).sort());
  });

  test("a sponsored account that is merged gives its reserves back", async () => {
    const { n, run, counts } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "10"), signerBy(dave), end(dave));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 3 });
    for (let ledger = 0; ledger < 2; ledger++) n.network.closeLedger();
    assert.equal(run([dave], Operation.accountMerge({ destination: bob.publicKey() })).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 0 });
  });

  test("what was begun has to be ended in the same transaction: txBadSponsorship, for its fee", async () => {
    const { n, run, result } = await startSponsorshipNetwork();
    const before = accountOf(n.network, alice);
    const applied = run([alice], begin(dave), create(dave, "10"));
    assert.equal(codesOf(applied.resultXdr), "txBadSponsorship");
    assert.equal(feeChargedOf(applied), 200n);
    const after = accountOf(n.network, alice);
    assert.equal(after.seqNum, before.seqNum + 1n);
    assert.equal(after.balance, before.balance - 200n);
    assert.equal(n.network.entry(accountKey(dave)), undefined);
    const inner = signed(build(n.network, alice, [begin(dave)]), alice);
    const bump = TransactionBuilder.buildFeeBumpTransaction(bob, "200", inner, n.network.passphrase);
    assert.equal(codesOf(apply(n.network, signed(bump, bob)).resultXdr), "txFeeBumpInnerFailed/txBadSponsorship");
    assert.equal(result([alice], begin(dave), pay(dave, "1")), "txFailed/payment/paymentNoDestination");
  });

  test("who may begin and end", async () => {
    const { n, run, result, counts } = await startSponsorshipNetwork();
    const code = "txFailed/beginSponsoringFutureReserves/beginSponsoringFutureReserves";
    assert.equal(n.refused(alice, begin(alice)), `${code}Malformed`);
    assert.equal(result([alice, bob], begin(dave), begin(dave, by(bob))), `${code}AlreadySponsored`);
    assert.equal(result([alice, bob], begin(bob), begin(dave, by(bob))), `${code}Recursive`, "a sponsored sponsor");
    assert.equal(result([alice, bob], begin(dave), begin(alice, by(bob))), `${code}Recursive`, "a sponsor's sponsor");
    assert.equal(
      result([alice], Operation.endSponsoringFutureReserves({})),
      "txFailed/endSponsoringFutureReserves/endSponsoringFutureReservesNotSponsored",
    );
    assert.equal(
      run([alice, bob, issuer], begin(bob), begin(issuer), dataBy(bob), dataBy(issuer), end(bob), end(issuer))
        .successful,
      true,
      "of several at once",
    );
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
  });

  test("who is sponsoring, now or for long, cannot be merged away", async () => {
    const { n, run, result } = await startSponsorshipNetwork();
    for (let ledger = 0; ledger < 2; ledger++) n.network.closeLedger();
    const merge = Operation.accountMerge({ destination: issuer.publicKey() });
    assert.equal(result([alice, bob], begin(bob), merge, end(bob)), "txFailed/accountMerge/accountMergeIsSponsor");
    run([alice, bob], begin(bob), dataBy(bob), end(bob));
    assert.equal(result([alice], merge), "txFailed/accountMerge/accountMergeIsSponsor");
  });

  test("a sponsor that lacks the reserve is told so by each operation", async () => {
    const { result, counts, leaveOnly } = await startSponsorshipNetwork();
    leaveOnly(alice, 0n);
    const lows: [xdr.Operation, string][] = [
      [create(dave, "10", by(bob)), "createAccount/createAccountLowReserve"],
      [trustBy(bob), "changeTrust/changeTrustLowReserve"],
      [dataBy(bob), "manageData/manageDataLowReserve"],
      [signerBy(bob), "setOptions/setOptionsLowReserve"],
      [balanceBy(bob, carol), "createClaimableBalance/createClaimableBalanceLowReserve"],
    ];
    for (const [operation, code] of lows) {
      const sponsored = operation.body.type === "createAccount" ? dave : bob;
      const operations = [begin(sponsored, by(alice)), operation, end(sponsored)];
      const signers: [Keypair, ...Keypair[]] = sponsored === dave ? [bob, alice, dave] : [bob, alice];
      assert.equal(result(signers, ...operations), `txFailed/${code}`);
    }
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 0 });
  });
});
