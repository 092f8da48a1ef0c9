// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, Claimant, type Keypair, Memo, Operation, StrKey, xdr } from "@stellar/stellar-sdk";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import {
  alice,
  type AssetNetwork,
  AUTHORIZED,
  bob,
  carol,
  CLAWBACK_ENABLED,
  flags,
  issuer,
  lineFlags,
  pay,
  raw,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  UNITS,
  usd,
} from "./asset_network.ts";
import { accountOf, apply, balanceOf, build, eventsOf, signed, START_SECONDS } from "./sandbox_network.ts";

const { predicateUnconditional: always, predicateBeforeAbsoluteTime: until, predicateNot: not } = Claimant;
const create = (asset: Asset, amount: string, ...claimants: Claimant[]) =>
  Operation.createClaimableBalance({ asset, amount, claimants });
const forWhom = (who: Keypair, predicate = always()) => new Claimant(who.publicKey(), predicate);

/** Hex of the ClaimableBalanceID that the first operation answered. */
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
const topicsAndData = (applied: AppliedTransaction) => eventsOf(applied).map(({ topics, data }) => ({ topics, data }));

describe("claimable balances", () => {
  let n: AssetNetwork;
  const sponsoring = (pair: Keypair) => {
    const { ext } = accountOf(n.network, pair);
    return ext.type === "v1" && ext.v1.ext.type === "v2" ? ext.v1.ext.v2.numSponsoring : 0;
  };
  const held = (balanceId: string) => {
    const id = xdr.ClaimableBalanceId.fromXdr(balanceId, "hex");
    const key = xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId: id }));
    return n.network.entry(key.toXdr());
  };
  /** As an event has it: the strkey of the id's type and hash (SEP-23). */
  const address = (balanceId: string) => StrKey.encodeClaimableBalance(Uint8Array.fromHex(balanceId.slice(6)));

  beforeEach(async () => {
    n = await startAssetNetwork();
  });

  test("lumens wait for one of the claimants; the creator sponsors a reserve for each", () => {
    const before = balanceOf(n.network, alice);
    const made = n.run(alice, create(Asset.native(), "5", forWhom(bob), forWhom(carol)));
    const id = balanceIdOf(made);
    assert.equal(before - balanceOf(n.network, alice), 5n * UNITS + 100n);
    assert.equal(sponsoring(alice), 2);
    assert.equal(accountOf(n.network, alice).numSubEntries, 0);
    const ext = xdr.LedgerEntryExt.fromXdr(held(id)!.extXdr);
    assert.ok(ext.type === "v1");
    assert.deepEqual(ext.v1.sponsoringId?.toXdr(), alice.xdrAccountId().toXdr());
    assert.deepEqual(topicsAndData(made), [
      { topics: ["transfer", alice.publicKey(), address(id), "native"], data: 5n * UNITS },
    ]);
    const bobs = balanceOf(n.network, bob);
    const claimed = n.run(bob, claim(id));
    assert.equal(balanceOf(n.network, bob) - bobs, 5n * UNITS - 100n);
    assert.deepEqual(topicsAndData(claimed), [
      { topics: ["transfer", address(id), bob.publicKey(), "native"], data: 5n * UNITS },
    ]);
    assert.equal(sponsoring(alice), 0);
    assert.equal(held(id), undefined);
    assert.equal(n.result(bob, claim(id)), "txFailed/claimClaimableBalance/claimClaimableBalanceDoesNotExist");
  });

  test("an id is made of the transaction and the operation's place in it", () => {
    const { seqNum } = accountOf(n.network, alice);
    const id = balanceIdOf(n.run(alice, create(Asset.native(), "5", forWhom(bob))));
    const preimage = xdr.HashIdPreimage.envelopeTypeOpId(
      new xdr.HashIdPreimageOperationId({ sourceAccount: alice.xdrAccountId(), seqNum: seqNum + 1n, opNum: 0 }),
    );
    const hash = new Uint8Array(xdr.ClaimableBalanceId.fromXdr(id, "hex").v0.value);
    return crypto.subtle.digest("SHA-256", preimage.toXdr() as BufferSource).then((digest) =>
      assert.deepEqual(hash, new Uint8Array(digest))
    );
  });

  test("an issued asset is minted into one, and burnt when the issuer claims it", () => {
    const minted = n.run(issuer, create(usd, "5", forWhom(alice), forWhom(issuer)));
    const id = balanceIdOf(minted);
    const name = `USD:${issuer.publicKey()}`;
    assert.deepEqual(topicsAndData(minted), [{ topics: ["mint", address(id), name], data: 5n * UNITS }]);
    const code = "txFailed/claimClaimableBalance/claimClaimableBalance";
    assert.equal(n.result(alice, claim(id)), `${code}NoTrust`);
    assert.equal(n.result(bob, claim(id)), `${code}CannotClaim`);
    n.run(alice, trust("4"));
    assert.equal(n.result(alice, claim(id)), `${code}LineFull`);
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(alice, claim(id)), `${code}NotAuthorized`);
    const burnt = n.run(issuer, claim(id));
    assert.deepEqual(topicsAndData(burnt), [{ topics: ["burn", address(id), name], data: 5n * UNITS }]);
  });

  test("the memo of a claim is in its event, of a creation it is not", () => {
    const withMemo = (source: Keypair, operation: xdr.Operation) =>
      apply(n.network, signed(build(n.network, source, [operation], { memo: Memo.id("9") }), source));
    const made = withMemo(alice, create(Asset.native(), "5", forWhom(bob)));
    assert.equal(topicsAndData(made)[0]?.data, 5n * UNITS);
    const claimed = withMemo(bob, claim(balanceIdOf(made)));
    assert.deepEqual(topicsAndData(claimed)[0]?.data, { amount: 5n * UNITS, to_muxed_id: 9n });
  });

  test("predicates decide by the close time; times counted from now are kept as points in time", () => {
    const later = START_SECONDS + 100;
    const relative = Claimant.predicateBeforeRelativeTime("100");
    const id = balanceIdOf(
      n.run(alice, create(Asset.native(), "5", forWhom(bob, not(relative)), forWhom(carol, relative))),
    );
    const entry = xdr.LedgerEntryData.fromXdr(held(id)!.dataXdr);
    assert.ok(entry.type === "claimableBalance");
    const predicate = entry.claimableBalance.claimants[1]!.v0.predicate;
    assert.ok(predicate.type === "claimPredicateBeforeAbsoluteTime");
    assert.equal(predicate.absBefore, BigInt(later));
    assert.equal(n.result(bob, claim(id)), "txFailed/claimClaimableBalance/claimClaimableBalanceCannotClaim");
    n.clock.seconds = later;
    assert.equal(n.result(bob, claim(id)), "txSuccess/claimClaimableBalance/claimClaimableBalanceSuccess");
  });

  test("`and`, `or` and an absolute time", () => {
    const now = String(START_SECONDS + 50);
    const { predicateAnd: and, predicateOr: or } = Claimant;
    const never = not(always());
    const make = (predicate: xdr.ClaimPredicate) =>
      balanceIdOf(n.run(alice, create(Asset.native(), "1", forWhom(bob, predicate))));
    const failed = "txFailed/claimClaimableBalance/claimClaimableBalanceCannotClaim";
    const worked = "txSuccess/claimClaimableBalance/claimClaimableBalanceSuccess";
    assert.equal(n.result(bob, claim(make(and(until(now), never)))), failed);
    assert.equal(n.result(bob, claim(make(and(until(now), always())))), worked);
    assert.equal(n.result(bob, claim(make(or(never, until(now))))), worked);
    const late = make(until(now));
    n.clock.seconds = START_SECONDS + 50;
    assert.equal(n.result(bob, claim(late)), failed);
  });

  test("creating one fails where stellar-core does", () => {
    const code = "txFailed/createClaimableBalance/createClaimableBalance";
    const malformed = (claimants: xdr.Claimant[], amount = 1n) =>
      raw(xdr.OperationBody.createClaimableBalance(
        new xdr.CreateClaimableBalanceOp({ asset: xdr.Asset.assetTypeNative(), amount, claimants }),
      ));
    const claimant = (predicate: xdr.ClaimPredicate) =>
      xdr.Claimant.claimantTypeV0(new xdr.ClaimantV0({ destination: bob.xdrAccountId(), predicate }));
    const deep = [1, 2, 3, 4].reduce((inner) => not(inner), always());
    for (
      const operation of [
        malformed([]),
        malformed([claimant(always())], 0n),
        malformed([claimant(always()), claimant(always())]),
        malformed([claimant(deep)]),
        malformed([claimant(xdr.ClaimPredicate.claimPredicateNot(null))]),
        malformed([claimant(xdr.ClaimPredicate.claimPredicateAnd([always()]))]),
        malformed([claimant(xdr.ClaimPredicate.claimPredicateBeforeAbsoluteTime(-1n))]),
      ]
    ) assert.equal(n.refused(alice, operation), `${code}Malformed`);
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}NoTrust`);
    n.run(alice, trust());
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}Underfunded`);
    n.run(issuer, flags(REVOCABLE));
    n.run(issuer, pay(alice, "5"), lineFlags(alice, 0, AUTHORIZED));
    assert.equal(n.result(alice, create(usd, "1", forWhom(bob))), `${code}NotAuthorized`);
    assert.equal(n.result(alice, create(Asset.native(), "9999.9", forWhom(bob))), `${code}Underfunded`);
    const allButOneReserve = "9998.4";
    assert.equal(n.result(alice, create(Asset.native(), allButOneReserve, forWhom(bob))), `${code}LowReserve`);
  });

  test("one that comes from a clawback-enabled trustline can be clawed back by its issuer alone", () => {
    n.run(bob, trust());
    n.run(issuer, pay(bob, "5"));
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    n.run(issuer, pay(alice, "5"));
    const id = balanceIdOf(n.run(alice, create(usd, "3", forWhom(bob))));
    const older = balanceIdOf(n.run(bob, create(usd, "3", forWhom(alice))));
    const code = "txFailed/clawbackClaimableBalance/clawbackClaimableBalance";
    assert.equal(n.result(bob, clawBack(id)), `${code}NotIssuer`);
    assert.equal(n.result(issuer, clawBack(older)), `${code}NotClawbackEnabled`);
    const taken = n.run(issuer, clawBack(id));
    assert.deepEqual(topicsAndData(taken), [
      { topics: ["clawback", address(id), `USD:${issuer.publicKey()}`], data: 3n * UNITS },
    ]);
    assert.equal(sponsoring(alice), 0);
    assert.equal(n.result(issuer, clawBack(id)), `${code}DoesNotExist`);
    assert.equal(trustlineOf(n.network, alice)?.balance, 2n * UNITS);
  });

  test("an account that sponsors one cannot be merged: accountMergeIsSponsor", () => {
    n.network.closeLedger();
    n.run(alice, create(Asset.native(), "1", forWhom(bob)));
    const merge = Operation.accountMerge({ destination: bob.publicKey() });
    assert.equal(n.result(alice, merge), "txFailed/accountMerge/accountMergeIsSponsor");
  });
});
