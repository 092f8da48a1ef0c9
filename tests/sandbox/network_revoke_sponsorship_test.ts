// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, LiquidityPoolId, Operation, xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { lineKey, payUsd, trust, usd } from "./asset_network.ts";
import { create, pay, raw } from "./envelope_parts.ts";
import { alice, bob, carol, issuer, metaOf } from "./sandbox_network.ts";
import {
  accountKey,
  balanceBy,
  BASE_RESERVE,
  dataBy,
  dave,
  revoke,
  revokeAll,
  signerBy,
  sponsored,
  startSponsorshipNetwork,
  trustBy,
} from "./sponsorship.ts";

describe("RevokeSponsorship (CAP-33)", () => {
  const CODE = "txFailed/revokeSponsorship/revokeSponsorship";
  /** A LedgerEntryExtensionV1 without a sponsor. */
  const FORMERLY_SPONSORED = "AAAAAQAAAAAAAAAA";
  let n: Awaited<ReturnType<typeof startSponsorshipNetwork>>;
  beforeEach(async () => {
    n = await startSponsorshipNetwork();
  });

  test("makes the owner pay the reserves, and leaves an extension without a sponsor", () => {
    const entries = [create(dave, "10"), trustBy(dave), dataBy(dave), signerBy(dave)];
    n.run([alice, dave], ...sponsored(dave, alice, ...entries));
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 5 });
    assert.equal(n.run(alice, ...revokeAll(dave)).successful, true);
    for (const pair of [alice, dave]) assert.deepEqual(n.counts(pair), { numSponsored: 0, numSponsoring: 0 });
    const extensions = () => [accountKey(dave), lineKey(dave)].map((key) => n.extensionOf(key).toXdr("base64"));
    assert.deepEqual(extensions(), [FORMERLY_SPONSORED, FORMERLY_SPONSORED]);
    assert.deepEqual(extensionsOf(n.account(dave)).signerSponsors, [null]);
    n.run(issuer, payUsd(dave, "5"));
    n.run(dave, dataBy(dave, "y"));
    assert.deepEqual(extensions(), [FORMERLY_SPONSORED, FORMERLY_SPONSORED], "also after a change of the entry");
    n.leaveOnly(dave, 0n);
    assert.equal(n.balance(dave), 5n * BASE_RESERVE);
  });

  test("fails if the owner cannot pay the reserves: LowReserve", () => {
    n.run([alice, dave], ...sponsored(dave, alice, create(dave, "0.9999999"), trustBy(dave), signerBy(dave)));
    assert.equal(n.result(alice, revoke.account(dave)), `${CODE}LowReserve`);
    assert.equal(n.run(alice, revoke.trustline(dave)).successful, true);
    assert.equal(n.result(alice, revoke.signer(dave)), `${CODE}LowReserve`);
    n.run(bob, pay(dave, 10_000_000n));
    assert.equal(n.run(alice, revoke.signer(dave)).successful, true);
    assert.deepEqual(n.counts(dave), { numSponsored: 2, numSponsoring: 0 });
  });

  test("transfers the reserves to the sponsor of the sponsor", () => {
    n.run([alice, dave], ...sponsored(dave, alice, create(dave, "0"), trustBy(dave), signerBy(dave)));
    const transfer = [revoke.account(dave), revoke.trustline(dave), revoke.signer(dave)];
    assert.equal(n.run([alice, bob], ...sponsored(alice, bob, ...transfer)).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 0 });
    assert.deepEqual(n.counts(bob), { numSponsored: 0, numSponsoring: 4 });
    assert.deepEqual(n.counts(dave), { numSponsored: 4, numSponsoring: 0 });
    for (const key of [accountKey(dave), lineKey(dave)]) {
      assert.deepEqual(n.sponsorOf(key), new Uint8Array(bob.rawPublicKey()));
    }
    assert.equal(n.result(alice, revoke.trustline(dave)), `${CODE}NotSponsor`);
  });

  test("transfers the reserve to an owner who sponsors the sponsor", () => {
    n.run([alice, dave], ...sponsored(dave, alice, create(dave, "10"), dataBy(dave)));
    assert.equal(n.run([alice, dave], ...sponsored(alice, dave, revoke.data(dave))).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(n.counts(dave), { numSponsored: 2, numSponsoring: 0 });
  });

  test("makes a sponsor pay for existing entries between begin and end", () => {
    n.run(bob, trust(), dataBy(bob), signerBy(bob));
    assert.equal(n.run([bob, alice], ...sponsored(bob, alice, ...revokeAll(bob))).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 5 });
    assert.deepEqual(n.counts(bob), { numSponsored: 5, numSponsoring: 0 });
    assert.deepEqual(n.sponsorOf(accountKey(bob)), new Uint8Array(alice.rawPublicKey()));
    n.leaveOnly(bob, 0n);
    assert.equal(n.balance(bob), 0n, "Bob keeps no reserve");
  });

  test("without any sponsor changes nothing, but lists each entry in the metadata as updated, as stellar-core does", () => {
    n.run(bob, trust(), dataBy(bob), signerBy(bob));
    const revoked = n.run(bob, ...revokeAll(bob));
    assert.equal(revoked.successful, true);
    const written = metaOf(revoked).operations.map(({ changes }) =>
      changes.map((change) => change.type === "ledgerEntryUpdated" ? change.updated.data.type : change.type)
    );
    const state = "ledgerEntryState";
    assert.deepEqual(written, [[state, "account"], [state, "trustline"], [state, "data"], [state, "account"]]);
    assert.equal(n.extensionOf(lineKey(bob)).type, "v0");
  });

  test("fails if the new sponsor cannot pay the reserves: LowReserve", () => {
    n.leaveOnly(alice, 1n);
    n.run(bob, trust());
    assert.equal(n.result([bob, alice], ...sponsored(bob, alice, revoke.account(bob))), `${CODE}LowReserve`);
    assert.equal(n.run([bob, alice], ...sponsored(bob, alice, revoke.trustline(bob))).successful, true);
  });

  test("transfers a claimable balance, but does not leave it without a sponsor: OnlyTransferable", () => {
    const made = n.run(alice, balanceBy(alice, [carol, dave]));
    const { result: { results } } = xdr.TransactionResult.fromXdr(made.resultXdr) as never as {
      result: { results: { tr: { value: { value: xdr.ClaimableBalanceId } } }[] };
    };
    const balanceId = results[0]!.tr.value.value.toXdr("hex");
    const ofBalance = Operation.revokeClaimableBalanceSponsorship({ balanceId });
    assert.equal(n.result(alice, ofBalance), `${CODE}OnlyTransferable`);
    assert.equal(n.result(bob, ofBalance), `${CODE}NotSponsor`);
    assert.equal(n.run([alice, bob], ...sponsored(alice, bob, ofBalance)).successful, true);
    assert.deepEqual(n.counts(alice), { numSponsored: 0, numSponsoring: 0 });
    assert.deepEqual(n.counts(bob), { numSponsored: 0, numSponsoring: 2 });
  });

  const share = { account: alice.publicKey(), asset: new LiquidityPoolId("00".repeat(32)) };
  const failing: [what: string, operation: xdr.Operation, code: string][] = [
    ["an account that does not exist", revoke.account(dave), "DoesNotExist"],
    ["a trustline that does not exist", revoke.trustline(alice), "DoesNotExist"],
    ["a signer of an account that does not exist", revoke.signer(dave), "DoesNotExist"],
    ["a signer that does not exist", revoke.signer(alice), "DoesNotExist"],
    ["a pool share that does not exist", Operation.revokeTrustlineSponsorship(share), "DoesNotExist"],
    ["another account", revoke.account(bob), "NotSponsor"],
    ["another account's data", revoke.data(bob), "NotSponsor"],
    ["another account's signer", revoke.signer(bob), "NotSponsor"],
  ];
  for (const [what, operation, code] of failing) {
    test(`fails for ${what}: ${code}`, () => {
      n.run(bob, dataBy(bob), signerBy(bob));
      assert.equal(n.result(alice, operation), `${CODE}${code}`);
    });
  }

  const accountId = alice.xdrAccountId();
  const line = (asset: Asset, holder = accountId) => {
    const lineAsset = xdr.TrustLineAsset.fromXdr(asset.toXdrObject().toXdr());
    return xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId: holder, asset: lineAsset }));
  };
  const liquidityPoolId = xdr.PoolId.fromXdr(new Uint8Array(32));
  const malformed: [what: string, key: xdr.LedgerKey][] = [
    ["a trustline of the native asset", line(Asset.native())],
    ["an issuer's trustline of its own asset", line(usd, issuer.xdrAccountId())],
    ["an offer without a number", xdr.LedgerKey.offer(new xdr.LedgerKeyOffer({ sellerId: accountId, offerId: 0n }))],
    ["data without a name", xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId, dataName: "" }))],
    ["a liquidity pool", xdr.LedgerKey.liquidityPool(new xdr.LedgerKeyLiquidityPool({ liquidityPoolId }))],
  ];
  for (const [what, key] of malformed) {
    test(`is refused for ${what}: Malformed`, () => {
      const op = xdr.RevokeSponsorshipOp.revokeSponsorshipLedgerEntry(key);
      assert.equal(n.refused(alice, raw(xdr.OperationBody.revokeSponsorship(op))), `${CODE}Malformed`);
    });
  }
});
