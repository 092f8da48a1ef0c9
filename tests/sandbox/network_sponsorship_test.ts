import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import {
  Asset,
  Claimant,
  type Keypair,
  LiquidityPoolId,
  Operation,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { accountKeyXdr, extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import {
  alice,
  type AssetNetwork,
  bob,
  carol,
  issuer,
  pay,
  raw,
  startAssetNetwork,
  trust,
  trustlineOf,
  usd,
} from "./asset_network.ts";
import { accountOf, apply, balanceOf, build, codesOf, feeChargedOf, keypair, signed } from "./sandbox_network.ts";

const dave = keypair("dave");
const BASE_RESERVE = 5_000_000n;

type By = { source?: string };
const by = (pair: Keypair): By => ({ source: pair.publicKey() });
const begin = (sponsored: Keypair, opts: By = {}) =>
  Operation.beginSponsoringFutureReserves({ sponsoredId: sponsored.publicKey(), ...opts });
const end = (sponsored: Keypair) => Operation.endSponsoringFutureReserves(by(sponsored));
const create = (whom: Keypair, startingBalance: string, opts: By = {}) =>
  Operation.createAccount({ destination: whom.publicKey(), startingBalance, ...opts });
const trustBy = (pair: Keypair) => Operation.changeTrust({ asset: usd, ...by(pair) });
const dataBy = (pair: Keypair, value: string | null = "x") => Operation.manageData({ name: "a", value, ...by(pair) });
const signerBy = (pair: Keypair, weight = 1) =>
  Operation.setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight }, ...by(pair) });
const balanceBy = (pair: Keypair, ...claimants: Keypair[]) =>
  Operation.createClaimableBalance({
    asset: Asset.native(),
    amount: "1",
    claimants: claimants.map((claimant) => new Claimant(claimant.publicKey())),
    ...by(pair),
  });
const ofAccount = (whom: Keypair) => Operation.revokeAccountSponsorship({ account: whom.publicKey() });
const ofTrustline = (whom: Keypair) => Operation.revokeTrustlineSponsorship({ account: whom.publicKey(), asset: usd });
const ofData = (whom: Keypair, opts: By = {}) =>
  Operation.revokeDataSponsorship({ account: whom.publicKey(), name: "a", ...opts });
const ofSigner = (whom: Keypair) =>
  Operation.revokeSignerSponsorship({ account: whom.publicKey(), signer: { ed25519PublicKey: carol.publicKey() } });

/** Who sponsors what, as CAP-33 has it: first who may and who pays, then how it is changed and ended. */
describe("sponsored reserves", () => {
  let n: AssetNetwork;
  /** By the first of them, signed by all. */
  const run = (pairs: [Keypair, ...Keypair[]], ...operations: xdr.Operation[]) =>
    apply(n.network, signed(build(n.network, pairs[0], operations), ...pairs));
  const result = (pairs: [Keypair, ...Keypair[]], ...operations: xdr.Operation[]) =>
    codesOf(run(pairs, ...operations).resultXdr);
  const counts = (pair: Keypair) => {
    const { numSponsored, numSponsoring } = extensionsOf(accountOf(n.network, pair));
    return { numSponsored, numSponsoring };
  };
  const extensionOf = (keyXdr: Uint8Array) => xdr.LedgerEntryExt.fromXdr(n.network.entry(keyXdr)!.extXdr);
  const sponsorOf = (keyXdr: Uint8Array) => {
    const ext = extensionOf(keyXdr);
    return ext.type === "v1" ? ext.v1.sponsoringId?.ed25519.value : undefined;
  };
  const accountKey = (pair: Keypair) => accountKeyXdr(pair.rawPublicKey());
  const lineKey = (pair: Keypair) =>
    xdr.LedgerKey.trustline(
      new xdr.LedgerKeyTrustLine({
        accountId: pair.xdrAccountId(),
        asset: xdr.TrustLineAsset.fromXdr(usd.toXdrObject().toXdr()),
      }),
    ).toXdr();
  /** Lumens that the account can just not spend, beyond what it keeps. */
  const leaveOnly = (pair: Keypair, reserves: bigint) => {
    const { numSubEntries } = accountOf(n.network, pair);
    const { numSponsored, numSponsoring } = counts(pair);
    const kept = BigInt(2 + numSubEntries + numSponsoring - numSponsored) + reserves;
    const spare = balanceOf(n.network, pair) - kept * BASE_RESERVE - 100n;
    const amount = `${spare / 10_000_000n}.${(spare % 10_000_000n).toString().padStart(7, "0")}`;
    run([pair], pay(issuer, amount, Asset.native()));
  };

  beforeEach(async () => {
    n = await startAssetNetwork();
  });

  test("an account without lumens is made and trusts an asset: its sponsor pays three reserves", () => {
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

  test("the account goes on being sponsored whatever it does, and what it makes by itself it pays", () => {
    run([alice, dave], begin(dave), create(dave, "10"), end(dave));
    run([dave], dataBy(dave), signerBy(dave));
    assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
    assert.deepEqual(sponsorOf(accountKey(dave)), new Uint8Array(alice.rawPublicKey()));
    assert.deepEqual(extensionsOf(accountOf(n.network, dave)).signerSponsors, [null]);
  });

  test("data, signers and claimable balances are sponsored; what goes gives its reserve back", () => {
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

  test("whoever creates a claimable balance of an issued asset is written back, as in stellar-core, though another pays for it", () => {
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

  test("a sponsored account that is merged gives its reserves back", () => {
    run([alice, dave], begin(dave), create(dave, "10"), signerBy(dave), end(dave));
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 3 });
    for (let ledger = 0; ledger < 2; ledger++) n.network.closeLedger();
    assert.equal(run([dave], Operation.accountMerge({ destination: bob.publicKey() })).successful, true);
    assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 0 });
  });

  test("what was begun has to be ended in the same transaction: txBadSponsorship, for its fee", () => {
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

  test("who may begin and end", () => {
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

  test("who is sponsoring, now or for long, cannot be merged away", () => {
    for (let ledger = 0; ledger < 2; ledger++) n.network.closeLedger();
    const merge = Operation.accountMerge({ destination: issuer.publicKey() });
    assert.equal(result([alice, bob], begin(bob), merge, end(bob)), "txFailed/accountMerge/accountMergeIsSponsor");
    run([alice, bob], begin(bob), dataBy(bob), end(bob));
    assert.equal(result([alice], merge), "txFailed/accountMerge/accountMergeIsSponsor");
  });

  test("a sponsor that lacks the reserve is told so by each operation", () => {
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

  describe("RevokeSponsorship", () => {
    const CODE = "txFailed/revokeSponsorship/revokeSponsorship";

    test("leaves the reserves to the owner, and an extension that names nobody", () => {
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

    test("takes an owner who has the reserves: LowReserve", () => {
      run([alice, dave], begin(dave), create(dave, "0.9999999"), trustBy(dave), signerBy(dave), end(dave));
      assert.equal(result([alice], ofAccount(dave)), `${CODE}LowReserve`);
      assert.equal(run([alice], ofTrustline(dave)).successful, true);
      assert.equal(result([alice], ofSigner(dave)), `${CODE}LowReserve`);
      n.run(bob, pay(dave, "1", Asset.native()));
      assert.equal(run([alice], ofSigner(dave)).successful, true);
      assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
    });

    test("hands what is sponsored on to who sponsors the sponsor", () => {
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

    test("gives it to the owner who sponsors the sponsor for that", () => {
      run([alice, dave], begin(dave), create(dave, "10"), dataBy(dave), end(dave));
      const giveBack = [begin(alice, by(dave)), ofData(dave), end(alice)];
      assert.equal(run([alice, dave], ...giveBack).successful, true);
      assert.deepEqual(counts(alice), { numSponsored: 0, numSponsoring: 2 });
      assert.deepEqual(counts(dave), { numSponsored: 2, numSponsoring: 0 });
    });

    test("makes somebody sponsor what is there already; without a sponsor nothing happens", () => {
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

    test("where nothing changes, what was looked at is written back all the same, as in stellar-core", () => {
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

    test("a new sponsor has to have the reserves: LowReserve", () => {
      leaveOnly(alice, 1n);
      run([bob], trust());
      const take = (operation: xdr.Operation) => [begin(bob, by(alice)), operation, end(bob)];
      assert.equal(result([bob, alice], ...take(ofAccount(bob))), `${CODE}LowReserve`);
      assert.equal(run([bob, alice], ...take(ofTrustline(bob))).successful, true);
    });

    test("claimable balances are only handed on", () => {
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

    test("what is not there, or somebody else's", () => {
      run([bob], dataBy(bob), signerBy(bob));
      assert.equal(result([alice], ofAccount(dave)), `${CODE}DoesNotExist`);
      assert.equal(result([alice], ofTrustline(alice)), `${CODE}DoesNotExist`);
      assert.equal(result([alice], ofSigner(dave)), `${CODE}DoesNotExist`);
      assert.equal(result([alice], ofSigner(alice)), `${CODE}DoesNotExist`);
      for (const operation of [ofAccount(bob), ofData(bob), ofSigner(bob)]) {
        assert.equal(result([alice], operation), `${CODE}NotSponsor`);
      }
    });

    test("what can never be sponsored: Malformed", () => {
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
});
