// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Asset, LiquidityPoolId, Operation, xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { alice, bob, carol, issuer, pay, raw, trust, usd } from "./asset_network.ts";
import { accountOf, balanceOf } from "./sandbox_network.ts";
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
  ofAccount,
  ofData,
  ofSigner,
  ofTrustline,
  signerBy,
  startSponsorshipNetwork,
  trustBy,
} from "./sponsorship.ts";

/** How who sponsors what is changed, as CAP-33 has it. */
describe("RevokeSponsorship", () => {
  const CODE = "txFailed/revokeSponsorship/revokeSponsorship";

  test("leaves the reserves to the owner, and an extension that names nobody", async () => {
    const { n, run, counts, extensionOf, leaveOnly } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "10"), trustBy(dave), dataBy(dave), signerBy(dave), end(dave));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 5 });
    const revoked = run([alice], ofAccount(dave), ofTrustline(dave), ofData(dave), ofSigner(dave));
    assert.equal(revoked.successful, true);
    for (const pair of [alice, dave]) assert.deepEqual(counts(pair), { numSponsored: 0, numSponsoring: 0 });
    for (const key of [accountKey(dave), lineKey(dave)]) {
      assert.equal(extensionOf(key).toXdr("base64"), "AAAAAQAAAAAAAAAA");
    }
    assert.deepEqual(extensionsOf(accountOf(n.network, dave)).signerSponsors, [null]);
    n.run(issuer, pay(dave, "5"));
    run([dave], dataBy(dave, "y"));
    for (const key of [accountKey(dave), lineKey(dave)]) {
      assert.equal(extensionOf(key).toXdr("base64"), "AAAAAQAAAAAAAAAA", "also once the entry was changed");
    }
    leaveOnly(dave, 0n);
    assert.equal(balanceOf(n.network, dave), 5n * BASE_RESERVE);
  });

  test("takes an owner who has the reserves: LowReserve", async () => {
    const { n, run, result, counts } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "0.9999999"), trustBy(dave), signerBy(dave), end(dave));
    assert.equal(result([alice], ofAccount(dave)), `${CODE}LowReserve`);
    assert.equal(run([alice], ofTrustline(dave)).successful, true);
    assert.equal(result([alice], ofSigner(dave)), `${CODE}LowReserve`);
    n.run(bob, pay(dave, "1", Asset.native()));
    assert.equal(run([alice], ofSigner(dave)).successful, true);
    assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
  });

  test("hands what is sponsored on to who sponsors the sponsor", async () => {
    const { run, result, counts, sponsorOf } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "0"), trustBy(dave), signerBy(dave), end(dave));
    const handOn = [begin(alice, by(bob)), ofAccount(dave), ofTrustline(dave), ofSigner(dave), end(alice)];
    assert.equal(run([alice, bob], ...handOn).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 0 });
    assert.deepEqual(counts(bob), { numSponsored: 0, numSponsoring: 4 });
    assert.deepEqual(counts(dave), { numSponsored: 4, numSponsoring: 0 });
    for (const key of [accountKey(dave), lineKey(dave)]) {
      assert.deepEqual(sponsorOf(key), new Uint8Array(bob.rawPublicKey()));
    }
    assert.equal(result([alice], ofTrustline(dave)), `${CODE}NotSponsor`);
  });

  test("gives it to the owner who sponsors the sponsor for that", async () => {
    const { run, counts } = await startSponsorshipNetwork();
    run([alice, dave], begin(dave), create(dave, "10"), dataBy(dave), end(dave));
    const giveBack = [begin(alice, by(dave)), ofData(dave), end(alice)];
    assert.equal(run([alice, dave], ...giveBack).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
  });

  test("makes somebody sponsor what is there already; without a sponsor nothing happens", async () => {
    const { n, run, counts, extensionOf, sponsorOf, leaveOnly } = await startSponsorshipNetwork();
    run([bob], trust(), dataBy(bob), signerBy(bob));
    assert.equal(run([bob], ofAccount(bob), ofTrustline(bob), ofData(bob), ofSigner(bob)).successful, true);
    assert.equal(extensionOf(lineKey(bob)).type, "v0");
    const take = [begin(bob, by(alice)), ofAccount(bob), ofTrustline(bob), ofData(bob), ofSigner(bob), end(bob)];
    assert.equal(run([bob, alice], ...take).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 5 });
    assert.deepEqual(counts(bob), { numSponsored: 5, numSponsoring: 0 });
    assert.deepEqual(sponsorOf(accountKey(bob)), new Uint8Array(alice.rawPublicKey()));
    leaveOnly(bob, 0n);
    assert.equal(balanceOf(n.network, bob), 0n, "nothing of it has to stay");
  });

  test("where nothing changes, what was looked at is written back all the same, as in stellar-core", async () => {
    const { run, extensionOf } = await startSponsorshipNetwork();
    run([bob], trust(), dataBy(bob), signerBy(bob));
    const { resultMetaXdr } = run([bob], ofAccount(bob), ofTrustline(bob), ofData(bob), ofSigner(bob));
    const meta = xdr.TransactionMeta.fromXdr(resultMetaXdr);
    assert.ok(meta.type === "v4");
    const written = meta.v4.operations.map(({ changes }) =>
      changes.map((change) => change.type === "ledgerEntryUpdated" ? change.updated.data.type : change.type)
    );
    const state = "ledgerEntryState";
    assert.deepEqual(written, [[state, "account"], [state, "trustline"], [state, "data"], [state, "account"]]);
    assert.equal(extensionOf(lineKey(bob)).type, "v0");
  });

  test("a new sponsor has to have the reserves: LowReserve", async () => {
    const { run, result, leaveOnly } = await startSponsorshipNetwork();
    leaveOnly(alice, 1n);
    run([bob], trust());
    const take = (operation: xdr.Operation) => [begin(bob, by(alice)), operation, end(bob)];
    assert.equal(result([bob, alice], ...take(ofAccount(bob))), `${CODE}LowReserve`);
    assert.equal(run([bob, alice], ...take(ofTrustline(bob))).successful, true);
  });

  test("claimable balances are only handed on", async () => {
    const { run, result, counts } = await startSponsorshipNetwork();
    const made = run([alice], balanceBy(alice, carol, dave));
    const { result: { results } } = xdr.TransactionResult.fromXdr(made.resultXdr) as never as {
      result: { results: { tr: { value: { value: xdr.ClaimableBalanceId } } }[] };
    };
    const balanceId = results[0]!.tr.value.value.toXdr("hex");
    const revoke = Operation.revokeClaimableBalanceSponsorship({ balanceId });
    assert.equal(result([alice], revoke), `${CODE}OnlyTransferable`);
    assert.equal(result([bob], revoke), `${CODE}NotSponsor`);
    assert.equal(run([alice, bob], begin(alice, by(bob)), revoke, end(alice)).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 0 });
    assert.deepEqual(counts(bob), { numSponsored: 0, numSponsoring: 2 });
  });

  test("what is not there, or somebody else's", async () => {
    const { run, result } = await startSponsorshipNetwork();
    run([bob], dataBy(bob), signerBy(bob));
    assert.equal(result([alice], ofAccount(dave)), `${CODE}DoesNotExist`);
    assert.equal(result([alice], ofTrustline(alice)), `${CODE}DoesNotExist`);
    assert.equal(result([alice], ofSigner(dave)), `${CODE}DoesNotExist`);
    assert.equal(result([alice], ofSigner(alice)), `${CODE}DoesNotExist`);
    for (const operation of [ofAccount(bob), ofData(bob), ofSigner(bob)]) {
      assert.equal(result([alice], operation), `${CODE}NotSponsor`);
    }
  });

  test("what can never be sponsored: Malformed", async () => {
    const { n, result } = await startSponsorshipNetwork();
    const accountId = alice.xdrAccountId();
    const line = (asset: Asset, holder = accountId) =>
      xdr.LedgerKey.trustline(
        new xdr.LedgerKeyTrustLine({
          accountId: holder,
          asset: xdr.TrustLineAsset.fromXdr(asset.toXdrObject().toXdr()),
        }),
      );
    const keys = [
      line(Asset.native()),
      line(usd, issuer.xdrAccountId()),
      xdr.LedgerKey.offer(new xdr.LedgerKeyOffer({ sellerId: accountId, offerId: 0n })),
      xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId, dataName: "" })),
      xdr.LedgerKey.liquidityPool(
        new xdr.LedgerKeyLiquidityPool({ liquidityPoolId: xdr.PoolId.fromXdr(new Uint8Array(32)) }),
      ),
    ];
    for (const key of keys) {
      const operation = raw(
        xdr.OperationBody.revokeSponsorship(xdr.RevokeSponsorshipOp.revokeSponsorshipLedgerEntry(key)),
      );
      assert.equal(n.refused(alice, operation), `${CODE}Malformed`, key.type);
    }
    const share = new LiquidityPoolId("00".repeat(32));
    const ofShare = Operation.revokeTrustlineSponsorship({ account: alice.publicKey(), asset: share });
    assert.equal(result([alice], ofShare), `${CODE}DoesNotExist`);
  });
});
