// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, type Keypair, Memo, MuxedAccount, Operation, xdr } from "@stellar/stellar-sdk";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import {
  AUTHORIZED,
  CLAWBACK,
  clawback,
  CLAWBACK_ENABLED,
  flags,
  IMMUTABLE,
  lineFlags,
  MAINTAINS,
  payUsd,
  REQUIRED,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  UNITS,
  USD,
  usd,
} from "./asset_network.ts";
import { merge, pay, raw } from "./envelope_parts.ts";
import { alice, bob, carol, codesOf, eventsOf, issuer, signed, type TestNetwork } from "./sandbox_network.ts";

let n: TestNetwork;
beforeEach(async () => {
  n = await startAssetNetwork();
});

const line = (holder: Keypair) => trustlineOf(n.network, holder);
/** Topics without the asset's name, and data. The asset's contract publishes all events. */
const events = (applied: AppliedTransaction) =>
  eventsOf(applied).map(({ contractId, topics, data }) => {
    assert.equal(contractId, usd.contractId(n.network.passphrase));
    assert.equal(topics.at(-1), USD);
    return [...topics.slice(0, -1), data];
  });

describe("an issued asset", () => {
  test("has trustlines that changeTrust opens, changes and closes, and that count as subentries", () => {
    n.run(alice, trust("100"));
    const { balance, limit, flags } = line(alice)!;
    assert.deepEqual({ balance, limit, flags }, { balance: 0n, limit: 100n * UNITS, flags: AUTHORIZED });
    assert.equal(n.account(alice).numSubEntries, 1);
    n.run(alice, trust("200"));
    assert.equal(line(alice)?.limit, 200n * UNITS);
    assert.equal(n.account(alice).numSubEntries, 1);
    n.run(alice, trust("0"));
    assert.equal(line(alice), undefined);
    assert.equal(n.account(alice).numSubEntries, 0);
  });

  test("needs a reserve for a trustline: changeTrustLowReserve", () => {
    // Two base reserves, the fees of the payment and of the trustline, and one stroop less than a third reserve.
    const kept = 10_000_000n + 200n + 4_999_999n;
    n.run(alice, pay(bob, n.balance(alice) - kept));
    assert.equal(n.result(alice, trust()), "txFailed/changeTrust/changeTrustLowReserve");
  });

  test("is minted, transferred and burnt by payments, which publish events", () => {
    n.run(alice, trust());
    n.run(bob, trust());
    const [alices, bobs, issuers] = [alice, bob, issuer].map((pair) => pair.publicKey());
    const payments: [source: Keypair, to: Keypair, amount: string, event: unknown[], held: bigint[]][] = [
      [issuer, alice, "10", ["mint", alices, 10n * UNITS], [10n, 0n]],
      [alice, bob, "4", ["transfer", alices, bobs, 4n * UNITS], [6n, 4n]],
      [bob, issuer, "3", ["burn", bobs, 3n * UNITS], [6n, 1n]],
      [issuer, issuer, "3", ["transfer", issuers, issuers, 3n * UNITS], [6n, 1n]],
    ];
    for (const [source, to, amount, event, held] of payments) {
      assert.deepEqual(events(n.run(source, payUsd(to, amount))), [event]);
      assert.deepEqual([line(alice)?.balance, line(bob)?.balance], held.map((units) => units * UNITS));
    }
  });

  test("has the receiver's muxed id or else the memo in the event of a payment, but not of a burn", () => {
    n.run(alice, trust());
    const muxedAlice = new MuxedAccount({ accountId: () => alice.publicKey() } as never, "7").accountId();
    const payments: [source: Keypair, destination: string, name: string, data: unknown][] = [
      [issuer, alice.publicKey(), "mint", { amount: 1n * UNITS, to_muxed_id: "rent" }],
      [issuer, muxedAlice, "mint", { amount: 1n * UNITS, to_muxed_id: 7n }],
      [alice, issuer.publicKey(), "burn", 1n * UNITS],
    ];
    for (const [source, destination, name, data] of payments) {
      const payment = Operation.payment({ destination, asset: usd, amount: "1" });
      const transaction = n.build(source, [payment], { memo: Memo.text("rent") });
      assert.deepEqual(events(n.apply(signed(transaction, source))), [[name, alice.publicKey(), data]]);
    }
  });

  test("has an event for each authorization and deauthorization by an issuer that requires it", () => {
    n.run(issuer, flags(REQUIRED | REVOCABLE));
    n.run(alice, trust());
    assert.equal(line(alice)?.flags, 0);
    assert.equal(n.result(issuer, payUsd(alice, "1")), "txFailed/payment/paymentNotAuthorized");
    const changes: [set: number, clear: number, flags: number, events: boolean[]][] = [
      [AUTHORIZED, 0, AUTHORIZED, [true]],
      [AUTHORIZED, 0, AUTHORIZED, []],
      [MAINTAINS, AUTHORIZED, MAINTAINS, [false]],
      [0, MAINTAINS, 0, []],
    ];
    for (const [set, clear, flags, authorized] of changes) {
      const published = events(n.run(issuer, lineFlags(alice, set, clear)));
      assert.equal(line(alice)?.flags, flags);
      assert.deepEqual(published, authorized.map((is) => ["set_authorized", alice.publicKey(), is]));
    }
  });

  test("can be clawed back from a trustline, authorized or not, if the issuer enabled that before", () => {
    n.run(bob, trust());
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    assert.equal(line(alice)?.flags, AUTHORIZED | CLAWBACK);
    n.run(issuer, payUsd(alice, "5"), payUsd(bob, "5"), lineFlags(alice, 0, AUTHORIZED));
    const taken = n.run(issuer, clawback(alice, "2"));
    assert.equal(line(alice)?.balance, 3n * UNITS);
    assert.deepEqual(events(taken), [["clawback", alice.publicKey(), 2n * UNITS]]);
    const code = "txFailed/clawback/clawback";
    assert.equal(n.result(issuer, clawback(alice, "4")), `${code}Underfunded`);
    assert.equal(n.result(issuer, clawback(bob, "1")), `${code}NotClawbackEnabled`, "an older trustline");
    assert.equal(n.result(issuer, clawback(carol, "1")), `${code}NoTrust`);
    assert.equal(n.refused(issuer, clawback(issuer, "1")), `${code}Malformed`);
    assert.equal(n.refused(bob, clawback(alice, "1")), `${code}Malformed`);
    n.run(issuer, lineFlags(alice, AUTHORIZED, CLAWBACK));
    assert.equal(n.result(issuer, clawback(alice, "1")), `${code}NotClawbackEnabled`);
  });

  test("keeps the flags and the account of an immutable issuer", () => {
    n.run(issuer, flags(IMMUTABLE));
    assert.equal(n.result(issuer, flags(REQUIRED)), "txFailed/setOptions/setOptionsCantChange");
    assert.equal(n.result(issuer, merge(alice)), "txFailed/accountMerge/accountMergeImmutableSet");
  });
});

describe("with stellar-core's result codes, the network", () => {
  test("fails or refuses changeTrust", () => {
    const code = "txFailed/changeTrust/changeTrust";
    assert.equal(n.result(alice, trust("0")), `${code}InvalidLimit`);
    assert.equal(n.result(alice, trust("1", new Asset("USD", carol.publicKey()))), `${code}NoIssuer`);
    assert.equal(n.refused(issuer, trust("1")), `${code}Malformed`);
    assert.equal(n.refused(alice, trust("1", Asset.native())), `${code}Malformed`);
    n.run(alice, trust("100"));
    n.run(issuer, payUsd(alice, "60"));
    assert.equal(n.result(alice, trust("59")), `${code}InvalidLimit`);
    assert.equal(n.result(alice, trust("0")), `${code}InvalidLimit`);
    assert.equal(n.run(alice, trust("60")).successful, true);
  });

  test("fails payments, and checks the receiver before the source", () => {
    const code = "txFailed/payment/payment";
    assert.equal(n.result(alice, payUsd(bob, "1")), `${code}NoTrust`);
    assert.equal(n.result(alice, payUsd(carol, "1")), `${code}NoDestination`);
    assert.equal(n.result(alice, payUsd(issuer, "1")), `${code}SrcNoTrust`);
    n.run(alice, trust("5"));
    assert.equal(n.result(issuer, payUsd(alice, "6")), `${code}LineFull`);
    assert.equal(n.result(bob, payUsd(alice, "1")), `${code}SrcNoTrust`);
    n.run(bob, trust());
    assert.equal(n.result(bob, payUsd(alice, "1")), `${code}Underfunded`);
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, payUsd(alice, "5"), payUsd(bob, "5"), lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(bob, payUsd(alice, "1")), `${code}NotAuthorized`);
    assert.equal(n.result(alice, payUsd(bob, "1")), `${code}SrcNotAuthorized`);
    assert.equal(n.result(alice, payUsd(issuer, "1")), `${code}SrcNotAuthorized`);
  });

  test("fails or refuses setTrustLineFlags", () => {
    const code = "txFailed/setTrustLineFlags/setTrustLineFlags";
    assert.equal(n.result(issuer, lineFlags(alice, AUTHORIZED)), `${code}NoTrustLine`);
    n.run(alice, trust());
    assert.equal(n.result(issuer, lineFlags(alice, 0, AUTHORIZED)), `${code}CantRevoke`);
    assert.equal(n.result(issuer, lineFlags(alice, MAINTAINS, AUTHORIZED)), `${code}CantRevoke`);
    assert.equal(n.result(issuer, lineFlags(alice, MAINTAINS)), `${code}InvalidState`);
    const malformed: [what: string, operation: xdr.Operation][] = [
      ["two authorizations", lineFlags(alice, AUTHORIZED | MAINTAINS)],
      ["a clawback flag that is set", lineFlags(alice, CLAWBACK)],
      ["a flag both set and cleared", lineFlags(alice, AUTHORIZED, AUTHORIZED)],
      ["an unknown flag", lineFlags(alice, 0, 8)],
      ["the issuer's own trustline", lineFlags(issuer, AUTHORIZED)],
      ["the native asset", lineFlags(bob, AUTHORIZED, 0, Asset.native())],
      ["another issuer's asset", lineFlags(bob, AUTHORIZED, 0, new Asset("USD", alice.publicKey()))],
    ];
    for (const [what, operation] of malformed) assert.equal(n.refused(issuer, operation), `${code}Malformed`, what);
  });

  test("applies allowTrust, the older form of setTrustLineFlags", () => {
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
    assert.deepEqual(events(revoked), [["set_authorized", alice.publicKey(), false]]);
    n.run(issuer, allow(alice, AUTHORIZED));
    assert.equal(line(alice)?.flags, AUTHORIZED);
  });

  test("allows at most 1,000 subentries: opTooManySubentries", () => {
    const data = (i: number) => Operation.manageData({ name: `entry ${i}`, value: "x" });
    for (let from = 0; from < 1_000; from += 100) {
      n.run(alice, ...Array.from({ length: 100 }, (_, i) => data(from + i)));
    }
    assert.equal(n.account(alice).numSubEntries, 1_000);
    assert.equal(n.result(alice, trust()), "txFailed/opTooManySubentries");
    assert.equal(n.result(alice, data(1_000)), "txFailed/opTooManySubentries");
  });

  test("needs the low threshold for trust flags, the medium one for payments, and the high one for merging", () => {
    n.run(alice, trust());
    n.run(issuer, Operation.setOptions({ masterWeight: 1, lowThreshold: 1, medThreshold: 2, highThreshold: 2 }));
    assert.equal(n.run(issuer, lineFlags(alice, AUTHORIZED)).successful, true);
    assert.equal(n.refused(issuer, payUsd(alice, "1")), "txFailed/opBadAuth");
    assert.equal(n.refused(issuer, merge(alice)), "txFailed/opBadAuth");
    assert.match(codesOf(n.run(issuer, Operation.bumpSequence({ bumpTo: "0" })).resultXdr), /^txSuccess/);
  });
});

describe("the sandbox does not support", () => {
  const trade = { selling: usd, buying: Asset.native(), price: { n: 1, d: 1 } };
  const path = Operation.pathPaymentStrictSend({
    sendAsset: usd,
    sendAmount: "1",
    destination: bob.publicKey(),
    destAsset: Asset.native(),
    destMin: "1",
  });
  const [assetA, assetB] = [Asset.native().toXdrObject(), usd.toXdrObject()];
  const pool = xdr.ChangeTrustAsset.assetTypePoolShare(
    xdr.LiquidityPoolParameters.liquidityPoolConstantProduct(
      new xdr.LiquidityPoolConstantProductParameters({ assetA, assetB, fee: 30 }),
    ),
  );
  const cases: [what: string, operation: xdr.Operation][] = [
    ["sell offers", Operation.manageSellOffer({ ...trade, amount: "1" })],
    ["buy offers", Operation.manageBuyOffer({ ...trade, buyAmount: "1" })],
    ["passive offers", Operation.createPassiveSellOffer({ ...trade, amount: "1" })],
    ["path payments", path],
    ["pool shares", raw(xdr.OperationBody.changeTrust(new xdr.ChangeTrustOp({ line: pool, limit: 1n })))],
    ["inflation", Operation.inflation({})],
  ];
  for (const [what, operation] of cases) {
    test(`${what}: opNotSupported`, () => assert.equal(n.refused(alice, operation), "txFailed/opNotSupported"));
  }
});
