// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { lineKey, payUsd, trust, trustlineOf, usd } from "./asset_network.ts";
import { create, feeBump, merge, pay } from "./envelope_parts.ts";
import { alice, bob, carol, codesOf, feeChargedOf, issuer, metaOf, signed, type Signers } from "./sandbox_network.ts";
import {
  accountKey,
  balanceBy,
  BASE_RESERVE,
  begin,
  dataBy,
  dave,
  end,
  signerBy,
  sponsored,
  startSponsorshipNetwork,
  trustBy,
} from "./sponsorship.ts";

describe("a sponsor (CAP-33)", () => {
  let n: Awaited<ReturnType<typeof startSponsorshipNetwork>>;
  beforeEach(async () => {
    n = await startSponsorshipNetwork();
  });

  const alicesKey = new Uint8Array(alice.rawPublicKey());

  test("pays the three reserves of a new account without lumens that trusts an asset", () => {
    const onboarded = n.run([alice, dave], ...sponsored(dave, alice, create(dave, "0"), trustBy(dave)));
    assert.equal(onboarded.successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 3 });
    assert.deepEqual(n.counts(dave), { numSponsored: 3, numSponsoring: 0 });
    assert.equal(n.balance(dave), 0n);
    assert.deepEqual(n.sponsorOf(accountKey(dave)), alicesKey);
    assert.deepEqual(n.sponsorOf(lineKey(dave)), alicesKey);
    assert.equal(n.run(issuer, payUsd(dave, "5")).successful, true);
    assert.equal(trustlineOf(n.network, dave)?.balance, 50_000_000n);
    assert.deepEqual(n.sponsorOf(lineKey(dave)), alicesKey, "as before the payment");
    n.leaveOnly(alice, 0n);
    assert.equal(n.balance(alice), 5n * BASE_RESERVE, "Alice keeps the reserves that she pays");
  });

  test("pays only the reserves of entries made between begin and end", () => {
    n.run([alice, dave], ...sponsored(dave, alice, create(dave, "10")));
    n.run(dave, dataBy(dave), signerBy(dave));
    assert.deepEqual(n.counts(dave), { numSponsored: 2, numSponsoring: 0 });
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(n.sponsorOf(accountKey(dave)), alicesKey);
    assert.deepEqual(extensionsOf(n.account(dave)).signerSponsors, [null]);
  });

  test("pays the reserves of data, signers and claimable balances until they are removed", () => {
    const entries = [dataBy(bob), signerBy(bob), balanceBy(bob, [carol, dave])];
    n.run([alice, bob], ...sponsored(bob, alice, ...entries));
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 4 });
    assert.deepEqual(n.counts(bob), { numSponsored: 2, numSponsoring: 0 });
    const [payer] = extensionsOf(n.account(bob)).signerSponsors;
    assert.deepEqual(payer?.ed25519.value, alicesKey);
    n.run(bob, dataBy(bob, "y"), signerBy(bob, 2));
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 4 }, "also after a change");
    n.run(bob, dataBy(bob, null), signerBy(bob, 0));
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(n.counts(bob), { numSponsored: 0, numSponsoring: 0 });
    assert.equal(n.account(bob).numSubEntries, 0);
  });

  test("gets the reserves back when the sponsored account is merged", () => {
    n.run([alice, dave], ...sponsored(dave, alice, create(dave, "10"), signerBy(dave)));
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 3 });
    for (let ledger = 0; ledger < 2; ledger++) n.close();
    assert.equal(n.run(dave, merge(bob)).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 0 });
  });

  test("of a claimable balance leaves its creator's account in the metadata as updated, as stellar-core does", () => {
    n.run(bob, trust());
    n.run(issuer, payUsd(bob, "10"));
    const { operations } = metaOf(n.run([bob, alice], ...sponsored(bob, alice, balanceBy(bob, [carol], usd))));
    const written = operations[1]!.changes.flatMap((change) =>
      change.type === "ledgerEntryUpdated" && change.updated.data.type === "account"
        ? [change.updated.data.account.accountId.toXdr("hex")]
        : []
    );
    assert.deepEqual(written.sort(), [alice, bob].map((pair) => pair.xdrAccountId().toXdr("hex")).sort());
  });

  test("begins and ends in one transaction, or the transaction only costs its fee: txBadSponsorship", () => {
    const before = n.account(alice);
    const applied = n.run(alice, begin(dave), create(dave, "10"));
    assert.equal(codesOf(applied.resultXdr), "txBadSponsorship");
    assert.equal(feeChargedOf(applied), 200n);
    const after = n.account(alice);
    assert.equal(after.seqNum, before.seqNum + 1n);
    assert.equal(after.balance, before.balance - 200n);
    assert.equal(n.find(dave), undefined);
    const inner = signed(n.build(alice, [begin(dave)]), alice);
    const bump = feeBump(n.network, bob, "200", inner);
    assert.equal(codesOf(n.apply(bump).resultXdr), "txFeeBumpInnerFailed/txBadSponsorship");
    assert.equal(n.result(alice, begin(dave), pay(dave)), "txFailed/payment/paymentNoDestination");
  });

  test("begins for several accounts at once, but not for itself, a sponsored account or a sponsor", () => {
    const code = "txFailed/beginSponsoringFutureReserves/beginSponsoringFutureReserves";
    assert.equal(n.refused(alice, begin(alice)), `${code}Malformed`);
    assert.equal(n.result([alice, bob], begin(dave), begin(dave, bob)), `${code}AlreadySponsored`);
    assert.equal(n.result([alice, bob], begin(bob), begin(dave, bob)), `${code}Recursive`, "a sponsored sponsor");
    assert.equal(n.result([alice, bob], begin(dave), begin(alice, bob)), `${code}Recursive`, "a sponsor's sponsor");
    const endCode = "txFailed/endSponsoringFutureReserves/endSponsoringFutureReserves";
    assert.equal(n.result(alice, end(alice)), `${endCode}NotSponsored`);
    const both = [begin(bob), begin(issuer), dataBy(bob), dataBy(issuer), end(bob), end(issuer)];
    assert.equal(n.run([alice, bob, issuer], ...both).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 2 });
  });

  test("cannot be merged between begin and end, nor while an entry is sponsored: accountMergeIsSponsor", () => {
    for (let ledger = 0; ledger < 2; ledger++) n.close();
    const code = "txFailed/accountMerge/accountMergeIsSponsor";
    assert.equal(n.result([alice, bob], ...sponsored(bob, alice, merge(issuer))), code);
    n.run([alice, bob], ...sponsored(bob, alice, dataBy(bob)));
    assert.equal(n.result(alice, merge(issuer)), code);
  });

  const unpaid: [operation: xdr.Operation, code: string, account?: typeof bob][] = [
    [create(dave, "10", bob), "createAccount/createAccountLowReserve", dave],
    [trustBy(bob), "changeTrust/changeTrustLowReserve"],
    [dataBy(bob), "manageData/manageDataLowReserve"],
    [signerBy(bob), "setOptions/setOptionsLowReserve"],
    [balanceBy(bob, [carol]), "createClaimableBalance/createClaimableBalanceLowReserve"],
  ];
  for (const [operation, code, account = bob] of unpaid) {
    test(`without the reserve cannot pay for it: ${code}`, () => {
      n.leaveOnly(alice, 0n);
      const signers: Signers = account === dave ? [bob, alice, dave] : [bob, alice];
      assert.equal(n.result(signers, ...sponsored(account, alice, operation)), `txFailed/${code}`);
      assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 0 });
    });
  }
});
