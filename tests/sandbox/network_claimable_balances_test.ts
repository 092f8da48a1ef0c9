// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, Claimant, type Keypair, Memo, Operation, StrKey, xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import {
  AUTHORIZED,
  CLAWBACK_ENABLED,
  flags,
  lineFlags,
  payUsd,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  UNITS,
  USD,
  usd,
} from "./asset_network.ts";
import { raw } from "./envelope_parts.ts";
import { alice, bob, carol, eventsOf, issuer, signed, START_SECONDS, type TestNetwork } from "./sandbox_network.ts";

const { predicateUnconditional: always, predicateBeforeAbsoluteTime: until, predicateNot: not } = Claimant;
const create = (asset: Asset, amount: string, ...claimants: Claimant[]) =>
  Operation.createClaimableBalance({ asset, amount, claimants });
const lumens = (...claimants: Claimant[]) => create(Asset.native(), "5", ...claimants);
const forWhom = (who: Keypair, predicate = always()) => new Claimant(who.publicKey(), predicate);

/** Hex of the ClaimableBalanceID in the result of the first operation. */
function balanceIdOf(applied: AppliedTransaction): string {
  const { result } = xdr.TransactionResult.fromXdr(applied.resultXdr);
  assert.ok(result.type === "txSuccess");
  const [first] = result.results;
  assert.ok(first?.type === "opInner" && first.tr.type === "createClaimableBalance");
  const made = first.tr.createClaimableBalanceResult;
  assert.ok(made.type === "createClaimableBalanceSuccess");
  return made.balanceId.toXdr("hex");
}

const claim = (balanceId: string) => Operation.claimClaimableBalance({ balanceId });
const clawBack = (balanceId: string) => Operation.clawbackClaimableBalance({ balanceId });
const topicsAndData = (applied: AppliedTransaction) => eventsOf(applied).map(({ topics, data }) => [...topics, data]);
const CLAIM = "txFailed/claimClaimableBalance/claimClaimableBalance";

describe("a claimable balance", () => {
  let n: TestNetwork;
  const sponsoring = (pair: Keypair) => extensionsOf(n.account(pair)).numSponsoring;
  const held = (balanceId: string) => {
    const id = xdr.ClaimableBalanceId.fromXdr(balanceId, "hex");
    const key = xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId: id }));
    return n.network.entry(key.toXdr());
  };
  /** The balance's address in events: the strkey of the id's type and hash (SEP-23). */
  const address = (balanceId: string) => StrKey.encodeClaimableBalance(Uint8Array.fromHex(balanceId.slice(6)));

  beforeEach(async () => {
    n = await startAssetNetwork();
  });

  test("holds lumens until a claimant claims them, and its creator sponsors a reserve for each claimant", () => {
    const before = n.balance(alice);
    const made = n.run(alice, lumens(forWhom(bob), forWhom(carol)));
    const id = balanceIdOf(made);
    assert.equal(before - n.balance(alice), 5n * UNITS + 100n);
    assert.equal(sponsoring(alice), 2);
    assert.equal(n.account(alice).numSubEntries, 0);
    const ext = xdr.LedgerEntryExt.fromXdr(held(id)!.extXdr);
    assert.ok(ext.type === "v1");
    assert.deepEqual(ext.v1.sponsoringId?.toXdr(), alice.xdrAccountId().toXdr());
    assert.deepEqual(topicsAndData(made), [["transfer", alice.publicKey(), address(id), "native", 5n * UNITS]]);
    const bobs = n.balance(bob);
    const claimed = n.run(bob, claim(id));
    assert.equal(n.balance(bob) - bobs, 5n * UNITS - 100n);
    assert.deepEqual(topicsAndData(claimed), [["transfer", address(id), bob.publicKey(), "native", 5n * UNITS]]);
    assert.equal(sponsoring(alice), 0);
    assert.equal(held(id), undefined);
    assert.equal(n.result(bob, claim(id)), `${CLAIM}DoesNotExist`);
  });

  test("has an id that is the hash of the source, the sequence number and the operation's index", () => {
    const seqNum = n.account(alice).seqNum + 1n;
    const id = balanceIdOf(n.run(alice, lumens(forWhom(bob))));
    const preimage = xdr.HashIdPreimage.envelopeTypeOpId(
      new xdr.HashIdPreimageOperationId({ sourceAccount: alice.xdrAccountId(), seqNum, opNum: 0 }),
    );
    assert.deepEqual(xdr.ClaimableBalanceId.fromXdr(id, "hex").v0.value, sha256(preimage.toXdr()));
  });

  test("of an issued asset is minted by the issuer, and burnt when the issuer claims it", () => {
    const minted = n.run(issuer, create(usd, "5", forWhom(alice), forWhom(issuer)));
    const id = balanceIdOf(minted);
    assert.deepEqual(topicsAndData(minted), [["mint", address(id), USD, 5n * UNITS]]);
    assert.equal(n.result(alice, claim(id)), `${CLAIM}NoTrust`);
    assert.equal(n.result(bob, claim(id)), `${CLAIM}CannotClaim`);
    n.run(alice, trust("4"));
    assert.equal(n.result(alice, claim(id)), `${CLAIM}LineFull`);
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(alice, claim(id)), `${CLAIM}NotAuthorized`);
    assert.deepEqual(topicsAndData(n.run(issuer, claim(id))), [["burn", address(id), USD, 5n * UNITS]]);
  });

  test("has the memo in the event of its claim, but not in the event of its creation", () => {
    const withMemo = (source: Keypair, operation: xdr.Operation) =>
      n.apply(signed(n.build(source, [operation], { memo: Memo.id("9") }), source));
    const made = withMemo(alice, lumens(forWhom(bob)));
    assert.equal(eventsOf(made)[0]?.data, 5n * UNITS);
    const claimed = withMemo(bob, claim(balanceIdOf(made)));
    assert.deepEqual(eventsOf(claimed)[0]?.data, { amount: 5n * UNITS, to_muxed_id: 9n });
  });

  test("stores a relative time of a predicate as an absolute one", () => {
    const relative = Claimant.predicateBeforeRelativeTime("100");
    const entry = xdr.LedgerEntryData.fromXdr(held(balanceIdOf(n.run(alice, lumens(forWhom(bob, relative)))))!.dataXdr);
    assert.ok(entry.type === "claimableBalance");
    const { predicate } = entry.claimableBalance.claimants[0]!.v0;
    assert.ok(predicate.type === "claimPredicateBeforeAbsoluteTime");
    assert.equal(predicate.absBefore, BigInt(START_SECONDS + 100));
  });

  const { predicateAnd: and, predicateOr: or } = Claimant;
  const never = not(always());
  const soon = until(String(START_SECONDS + 50));
  const notSoon = not(Claimant.predicateBeforeRelativeTime("50"));
  const predicates: [what: string, predicate: xdr.ClaimPredicate, now: boolean, later: boolean][] = [
    ["before an absolute time", soon, true, false],
    ["not before a relative time", notSoon, false, true],
    ["before a time and always", and(soon, always()), true, false],
    ["before a time and never", and(soon, never), false, false],
    ["never or before a time", or(never, soon), true, false],
  ];
  for (const [what, predicate, now, later] of predicates) {
    const when = now ? "only before that time" : later ? "only after that time" : "at no time";
    test(`with the predicate "${what}" can be claimed ${when}`, () => {
      for (const [seconds, isClaimed] of [[0, now], [50, later]] as const) {
        const id = balanceIdOf(n.run(alice, lumens(forWhom(bob, predicate))));
        n.clock.seconds += seconds;
        const expected = isClaimed
          ? "txSuccess/claimClaimableBalance/claimClaimableBalanceSuccess"
          : `${CLAIM}CannotClaim`;
        assert.equal(n.result(bob, claim(id)), expected, `${seconds} s later`);
      }
    });
  }

  test("has stellar-core's result codes when its creation fails", () => {
    const code = "txFailed/createClaimableBalance/createClaimableBalance";
    const creation = (claimants: xdr.Claimant[], amount = 1n) =>
      raw(xdr.OperationBody.createClaimableBalance(
        new xdr.CreateClaimableBalanceOp({ asset: xdr.Asset.assetTypeNative(), amount, claimants }),
      ));
    const claimant = (predicate: xdr.ClaimPredicate) =>
      xdr.Claimant.claimantTypeV0(new xdr.ClaimantV0({ destination: bob.xdrAccountId(), predicate }));
    const deep = [1, 2, 3, 4].reduce((inner) => not(inner), always());
    const malformed: [what: string, operation: xdr.Operation][] = [
      ["no claimant", creation([])],
      ["no amount", creation([claimant(always())], 0n)],
      ["a claimant twice", creation([claimant(always()), claimant(always())])],
      ["a predicate of five levels", creation([claimant(deep)])],
      ["a negation of nothing", creation([claimant(xdr.ClaimPredicate.claimPredicateNot(null))])],
      ["a conjunction of one", creation([claimant(xdr.ClaimPredicate.claimPredicateAnd([always()]))])],
      ["a negative time", creation([claimant(xdr.ClaimPredicate.claimPredicateBeforeAbsoluteTime(-1n))])],
    ];
    for (const [what, operation] of malformed) assert.equal(n.refused(alice, operation), `${code}Malformed`, what);
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}NoTrust`);
    n.run(alice, trust());
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}Underfunded`);
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, payUsd(alice, "5"), lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}NotAuthorized`);
    assert.equal(n.result(alice, create(Asset.native(), "9999.9", forWhom(bob))), `${code}Underfunded`);
    const allButOneReserve = "9998.4";
    assert.equal(n.result(alice, create(Asset.native(), allButOneReserve, forWhom(bob))), `${code}LowReserve`);
  });

  test("from a clawback-enabled trustline can be clawed back, by the issuer only", () => {
    n.run(bob, trust());
    n.run(issuer, payUsd(bob, "5"));
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    n.run(issuer, payUsd(alice, "5"));
    const id = balanceIdOf(n.run(alice, create(usd, "3", forWhom(bob))));
    const older = balanceIdOf(n.run(bob, create(usd, "3", forWhom(alice))));
    const code = "txFailed/clawbackClaimableBalance/clawbackClaimableBalance";
    assert.equal(n.result(bob, clawBack(id)), `${code}NotIssuer`);
    assert.equal(n.result(issuer, clawBack(older)), `${code}NotClawbackEnabled`);
    const taken = n.run(issuer, clawBack(id));
    assert.deepEqual(topicsAndData(taken), [["clawback", address(id), USD, 3n * UNITS]]);
    assert.equal(sponsoring(alice), 0);
    assert.equal(n.result(issuer, clawBack(id)), `${code}DoesNotExist`);
    assert.equal(trustlineOf(n.network, alice)?.balance, 2n * UNITS);
  });
});
