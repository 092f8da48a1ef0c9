// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, type Keypair, Memo, MuxedAccount, Operation, xdr } from "@stellar/stellar-sdk";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import {
  alice,
  type AssetNetwork,
  AUTHORIZED,
  bob,
  carol,
  CLAWBACK,
  CLAWBACK_ENABLED,
  flags,
  IMMUTABLE,
  issuer,
  lineFlags,
  MAINTAINS,
  pay,
  raw,
  REQUIRED,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  UNITS,
  usd,
} from "./asset_network.ts";
import { accountOf, apply, balanceOf, build, codesOf, eventsOf, signed } from "./sandbox_network.ts";

const name = `USD:${issuer.publicKey()}`;

describe("issued assets", () => {
  let n: AssetNetwork;
  const line = (holder: Keypair) => trustlineOf(n.network, holder);
  /** Topics and data of the events, which are all of the asset's contract. */
  const events = (applied: AppliedTransaction) =>
    eventsOf(applied).map(({ contractId, topics, data }) => {
      assert.equal(contractId, usd.contractId(n.network.passphrase));
      return { topics, data };
    });

  beforeEach(async () => {
    n = await startAssetNetwork();
  });

  test("changeTrust opens a trustline, which is a subentry, changes its limit, and closes it", () => {
    n.run(alice, trust("100"));
    assert.deepEqual(
      { balance: line(alice)?.balance, limit: line(alice)?.limit, flags: line(alice)?.flags },
      { balance: 0n, limit: 100n * UNITS, flags: AUTHORIZED },
    );
    assert.equal(accountOf(n.network, alice).numSubEntries, 1);
    n.run(alice, trust("200"));
    assert.equal(line(alice)?.limit, 200n * UNITS);
    assert.equal(accountOf(n.network, alice).numSubEntries, 1);
    n.run(alice, trust("0"));
    assert.equal(line(alice), undefined);
    assert.equal(accountOf(n.network, alice).numSubEntries, 0);
  });

  test("changeTrust fails where stellar-core's does", () => {
    const nobody = new Asset("USD", carol.publicKey());
    assert.equal(n.result(alice, trust("0")), "txFailed/changeTrust/changeTrustInvalidLimit");
    assert.equal(n.result(alice, trust("1", nobody)), "txFailed/changeTrust/changeTrustNoIssuer");
    assert.equal(n.refused(issuer, trust("1")), "txFailed/changeTrust/changeTrustMalformed");
    assert.equal(n.refused(alice, trust("1", Asset.native())), "txFailed/changeTrust/changeTrustMalformed");
    n.run(alice, trust("100"));
    n.run(issuer, pay(alice, "60"));
    assert.equal(n.result(alice, trust("59")), "txFailed/changeTrust/changeTrustInvalidLimit");
    assert.equal(n.result(alice, trust("0")), "txFailed/changeTrust/changeTrustInvalidLimit");
    assert.equal(n.result(alice, trust("60")), "txSuccess/changeTrust/changeTrustSuccess");
  });

  test("changeTrust for pool shares is refused: opNotSupported", () => {
    const params = xdr.LiquidityPoolParameters.liquidityPoolConstantProduct(
      new xdr.LiquidityPoolConstantProductParameters({
        assetA: Asset.native().toXdrObject(),
        assetB: usd.toXdrObject(),
        fee: 30,
      }),
    );
    const op = new xdr.ChangeTrustOp({ line: xdr.ChangeTrustAsset.assetTypePoolShare(params), limit: 1n });
    assert.equal(n.refused(alice, raw(xdr.OperationBody.changeTrust(op))), "txFailed/opNotSupported");
  });

  test("a trustline needs a reserve: changeTrustLowReserve", () => {
    // Two base reserves, the fee of the payment and of the trustline, and one stroop less than a third reserve.
    const keep = 10_000_000n + 200n + 4_999_999n;
    const reserved = (balanceOf(n.network, alice) - keep).toString().padStart(8, "0");
    const amount = `${reserved.slice(0, -7)}.${reserved.slice(-7)}`;
    n.run(alice, Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount }));
    assert.equal(n.result(alice, trust()), "txFailed/changeTrust/changeTrustLowReserve");
  });

  test("an account has at most 1,000 subentries: opTooManySubentries", () => {
    const data = (i: number) => Operation.manageData({ name: `entry ${i}`, value: "x" });
    for (let from = 0; from < 1_000; from += 100) {
      n.run(alice, ...Array.from({ length: 100 }, (_, i) => data(from + i)));
    }
    assert.equal(accountOf(n.network, alice).numSubEntries, 1_000);
    assert.equal(n.result(alice, trust()), "txFailed/opTooManySubentries");
    assert.equal(n.result(alice, data(1_000)), "txFailed/opTooManySubentries");
  });

  test("payments mint, transfer and burn, and say so in events", () => {
    n.run(alice, trust());
    n.run(bob, trust());
    const minted = n.run(issuer, pay(alice, "10"));
    assert.equal(line(alice)?.balance, 10n * UNITS);
    assert.deepEqual(events(minted), [{ topics: ["mint", alice.publicKey(), name], data: 10n * UNITS }]);
    const moved = n.run(alice, pay(bob, "4"));
    assert.deepEqual([line(alice)?.balance, line(bob)?.balance], [6n * UNITS, 4n * UNITS]);
    assert.deepEqual(events(moved), [
      { topics: ["transfer", alice.publicKey(), bob.publicKey(), name], data: 4n * UNITS },
    ]);
    const burnt = n.run(bob, pay(issuer, "3"));
    assert.equal(line(bob)?.balance, 1n * UNITS);
    assert.deepEqual(events(burnt), [{ topics: ["burn", bob.publicKey(), name], data: 3n * UNITS }]);
    const idle = n.run(issuer, pay(issuer, "3"));
    assert.deepEqual(events(idle), [
      { topics: ["transfer", issuer.publicKey(), issuer.publicKey(), name], data: 3n * UNITS },
    ]);
  });

  test("whom a payment is meant for is in the event: a muxed id, else the memo, and never of a burn", () => {
    n.run(alice, trust());
    const withMemo = (source: Keypair, operation: xdr.Operation) =>
      apply(n.network, signed(build(n.network, source, [operation], { memo: Memo.text("rent") }), source));
    const muxed = new MuxedAccount({ accountId: () => alice.publicKey() } as never, "7").accountId();
    assert.deepEqual(events(withMemo(issuer, pay(alice, "1"))), [
      { topics: ["mint", alice.publicKey(), name], data: { amount: 1n * UNITS, to_muxed_id: "rent" } },
    ]);
    const toMuxed = Operation.payment({ destination: muxed, asset: usd, amount: "1" });
    assert.deepEqual(events(withMemo(issuer, toMuxed)), [
      { topics: ["mint", alice.publicKey(), name], data: { amount: 1n * UNITS, to_muxed_id: 7n } },
    ]);
    assert.deepEqual(events(withMemo(alice, pay(issuer, "1"))), [
      { topics: ["burn", alice.publicKey(), name], data: 1n * UNITS },
    ]);
  });

  test("payments fail where stellar-core's do, the receiver's fault first", () => {
    assert.equal(n.result(alice, pay(bob, "1")), "txFailed/payment/paymentNoTrust");
    assert.equal(n.result(alice, pay(carol, "1")), "txFailed/payment/paymentNoDestination");
    assert.equal(n.result(alice, pay(issuer, "1")), "txFailed/payment/paymentSrcNoTrust");
    n.run(alice, trust("5"));
    assert.equal(n.result(issuer, pay(alice, "6")), "txFailed/payment/paymentLineFull");
    assert.equal(n.result(bob, pay(alice, "1")), "txFailed/payment/paymentSrcNoTrust");
    n.run(bob, trust());
    assert.equal(n.result(bob, pay(alice, "1")), "txFailed/payment/paymentUnderfunded");
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, pay(alice, "5"), pay(bob, "5"), lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(bob, pay(alice, "1")), "txFailed/payment/paymentNotAuthorized");
    assert.equal(n.result(alice, pay(bob, "1")), "txFailed/payment/paymentSrcNotAuthorized");
    assert.equal(n.result(alice, pay(issuer, "1")), "txFailed/payment/paymentSrcNotAuthorized");
  });

  test("an issuer that requires authorization gives it and takes it away, and events say so", () => {
    n.run(issuer, flags(REQUIRED | REVOCABLE));
    n.run(alice, trust());
    assert.equal(line(alice)?.flags, 0);
    assert.equal(n.result(issuer, pay(alice, "1")), "txFailed/payment/paymentNotAuthorized");
    const given = n.run(issuer, lineFlags(alice, AUTHORIZED));
    assert.equal(line(alice)?.flags, AUTHORIZED);
    assert.deepEqual(events(given), [{ topics: ["set_authorized", alice.publicKey(), name], data: true }]);
    assert.deepEqual(events(n.run(issuer, lineFlags(alice, AUTHORIZED))), [], "nothing was added");
    const lowered = n.run(issuer, lineFlags(alice, MAINTAINS, AUTHORIZED));
    assert.equal(line(alice)?.flags, MAINTAINS);
    assert.deepEqual(events(lowered), [{ topics: ["set_authorized", alice.publicKey(), name], data: false }]);
    assert.deepEqual(events(n.run(issuer, lineFlags(alice, 0, MAINTAINS))), []);
  });

  test("setTrustLineFlags fails where stellar-core's does", () => {
    const code = "txFailed/setTrustLineFlags/setTrustLineFlags";
    assert.equal(n.result(issuer, lineFlags(alice, AUTHORIZED)), `${code}NoTrustLine`);
    n.run(alice, trust());
    assert.equal(n.result(issuer, lineFlags(alice, 0, AUTHORIZED)), `${code}CantRevoke`);
    assert.equal(n.result(issuer, lineFlags(alice, MAINTAINS, AUTHORIZED)), `${code}CantRevoke`);
    assert.equal(n.result(issuer, lineFlags(alice, MAINTAINS)), `${code}InvalidState`);
    for (
      const malformed of [
        lineFlags(alice, AUTHORIZED | MAINTAINS),
        lineFlags(alice, CLAWBACK),
        lineFlags(alice, AUTHORIZED, AUTHORIZED),
        lineFlags(alice, 0, 8),
        lineFlags(issuer, AUTHORIZED),
        lineFlags(bob, AUTHORIZED, 0, Asset.native()),
        lineFlags(bob, AUTHORIZED, 0, new Asset("USD", alice.publicKey())),
      ]
    ) assert.equal(n.refused(issuer, malformed), `${code}Malformed`);
  });

  test("allowTrust is the older form of it", () => {
    const allow = (trustor: Keypair, authorize: 0 | 1 | 2) =>
      Operation.allowTrust({ trustor: trustor.publicKey(), assetCode: "USD", authorize });
    const code = "txFailed/allowTrust/allowTrust";
    assert.equal(n.result(issuer, allow(alice, 0)), `${code}CantRevoke`);
    assert.equal(n.result(issuer, allow(alice, AUTHORIZED)), `${code}NoTrustLine`);
    assert.equal(n.refused(issuer, allow(issuer, AUTHORIZED)), `${code}Malformed`);
    n.run(alice, trust());
    assert.equal(n.result(issuer, allow(alice, MAINTAINS)), `${code}CantRevoke`);
    n.run(issuer, flags(REVOCABLE));
    const revoked = n.run(issuer, allow(alice, 0));
    assert.equal(line(alice)?.flags, 0);
    assert.deepEqual(events(revoked), [{ topics: ["set_authorized", alice.publicKey(), name], data: false }]);
    n.run(issuer, allow(alice, AUTHORIZED));
    assert.equal(line(alice)?.flags, AUTHORIZED);
  });

  test("what an issuer may claw back, it can take from a trustline, authorized or not", () => {
    const clawback = (from: Keypair, amount: string) =>
      Operation.clawback({ asset: usd, from: from.publicKey(), amount });
    n.run(bob, trust());
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    assert.equal(line(alice)?.flags, AUTHORIZED | CLAWBACK);
    n.run(issuer, pay(alice, "5"), pay(bob, "5"), lineFlags(alice, 0, AUTHORIZED));
    const taken = n.run(issuer, clawback(alice, "2"));
    assert.equal(line(alice)?.balance, 3n * UNITS);
    assert.deepEqual(events(taken), [{ topics: ["clawback", alice.publicKey(), name], data: 2n * UNITS }]);
    const code = "txFailed/clawback/clawback";
    assert.equal(n.result(issuer, clawback(alice, "4")), `${code}Underfunded`);
    assert.equal(n.result(issuer, clawback(bob, "1")), `${code}NotClawbackEnabled`, "it trusted before");
    assert.equal(n.result(issuer, clawback(carol, "1")), `${code}NoTrust`);
    assert.equal(n.refused(issuer, clawback(issuer, "1")), `${code}Malformed`);
    assert.equal(n.refused(bob, clawback(alice, "1")), `${code}Malformed`);
    n.run(issuer, lineFlags(alice, AUTHORIZED, CLAWBACK));
    assert.equal(n.result(issuer, clawback(alice, "1")), `${code}NotClawbackEnabled`);
  });

  test("flags of an issuer that has made itself immutable stay", () => {
    n.run(issuer, flags(IMMUTABLE));
    assert.equal(n.result(issuer, flags(REQUIRED)), "txFailed/setOptions/setOptionsCantChange");
    assert.equal(
      n.result(issuer, Operation.accountMerge({ destination: alice.publicKey() })),
      "txFailed/accountMerge/accountMergeImmutableSet",
    );
  });

  test("offers, paths, pools and inflation are refused: opNotSupported", () => {
    const price = { n: 1, d: 1 };
    for (
      const operation of [
        Operation.manageSellOffer({ selling: usd, buying: Asset.native(), amount: "1", price }),
        Operation.manageBuyOffer({ selling: usd, buying: Asset.native(), buyAmount: "1", price }),
        Operation.createPassiveSellOffer({ selling: usd, buying: Asset.native(), amount: "1", price }),
        Operation.pathPaymentStrictSend({
          sendAsset: usd,
          sendAmount: "1",
          destination: bob.publicKey(),
          destAsset: Asset.native(),
          destMin: "1",
        }),
        Operation.inflation({}),
      ]
    ) assert.equal(n.refused(alice, operation), "txFailed/opNotSupported");
  });

  test("the thresholds are those of stellar-core: trust flags low, payments medium, merging high", () => {
    const thresholds = Operation.setOptions({ masterWeight: 1, lowThreshold: 1, medThreshold: 2, highThreshold: 2 });
    n.run(alice, trust());
    n.run(issuer, thresholds);
    assert.equal(
      n.result(issuer, lineFlags(alice, AUTHORIZED)),
      "txSuccess/setTrustLineFlags/setTrustLineFlagsSuccess",
    );
    assert.equal(n.refused(issuer, pay(alice, "1")), "txFailed/opBadAuth");
    assert.equal(n.refused(issuer, Operation.accountMerge({ destination: alice.publicKey() })), "txFailed/opBadAuth");
    assert.equal(codesOf(n.run(issuer, Operation.bumpSequence({ bumpTo: "0" })).resultXdr).split("/")[0], "txSuccess");
  });
});
