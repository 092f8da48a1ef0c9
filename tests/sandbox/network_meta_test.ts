// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Asset, Claimant, Operation, xdr } from "@stellar/stellar-sdk";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import {
  AUTHORIZED,
  clawback,
  CLAWBACK_ENABLED,
  flags,
  lineFlags,
  MAINTAINS,
  payUsd,
  REVOCABLE,
  startAssetNetwork,
  trust,
  usd,
} from "./asset_network.ts";
import { alice, bob, build, carol, issuer, signed, submit } from "./sandbox_network.ts";
import { revoke, sponsored } from "./sponsorship.ts";

/** All changes in a ledger's metadata: of fees, transactions, operations and refunds. */
function changesOf(metadataXdr: Uint8Array): xdr.LedgerEntryChange[] {
  const meta = xdr.LedgerCloseMeta.fromXdr(metadataXdr);
  assert.ok(meta.type === "v2");
  const { txProcessing } = meta.v2;
  const applied = txProcessing.flatMap(({ txApplyProcessing }) => {
    assert.ok(txApplyProcessing.type === "v4");
    const { txChangesBefore, operations, txChangesAfter } = txApplyProcessing.v4;
    return [...txChangesBefore, ...operations.flatMap(({ changes }) => changes), ...txChangesAfter];
  });
  return [
    ...txProcessing.flatMap(({ feeProcessing }) => feeProcessing),
    ...applied,
    ...txProcessing.flatMap(({ postTxApplyFeeProcessing }) => postTxApplyFeeProcessing),
  ];
}

/** LedgerKey of an entry, hex. */
function keyOf({ data }: xdr.LedgerEntry): string {
  switch (data.type) {
    case "account":
      return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: data.account.accountId })).toXdr("hex");
    case "trustline": {
      const { accountId, asset } = data.trustLine;
      return xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId, asset })).toXdr("hex");
    }
    case "data": {
      const { accountId, dataName } = data.data;
      return xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId, dataName })).toXdr("hex");
    }
    case "claimableBalance": {
      const { balanceId } = data.claimableBalance;
      return xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId })).toXdr("hex");
    }
    default:
      throw new Error(`no ${data.type} is made here`);
  }
}

type Replayed = Map<string, xdr.LedgerEntry>;

/** Applies the changes to the state. Each change must fit the state before it. */
function replay(state: Replayed, changes: xdr.LedgerEntryChange[], ledger: number): void {
  const now = (key: string) => state.get(key)?.toXdr("hex");
  let before: string | undefined;
  for (const change of changes) {
    if (change.type === "ledgerEntryState") {
      before = keyOf(change.state);
      assert.equal(now(before) ?? change.state.toXdr("hex"), change.state.toXdr("hex"), "a state is that of the entry");
      continue;
    }
    if (change.type === "ledgerEntryRemoved") {
      assert.equal(change.removed.toXdr("hex"), before, "a removal follows the state of its entry");
      state.delete(change.removed.toXdr("hex"));
      continue;
    }
    const entry = change.value as xdr.LedgerEntry;
    const key = keyOf(entry);
    assert.equal(entry.lastModifiedLedgerSeq, ledger);
    if (change.type === "ledgerEntryCreated") assert.equal(state.has(key), false, "a creation is of a new entry");
    else assert.equal(key, before, "an update follows the state of its entry");
    state.set(key, entry);
  }
}

interface Sums {
  entry: xdr.AccountEntry;
  subentries: number;
  sponsored: number;
  sponsoring: number;
}

/** Checks that the counts in accounts agree with the entries. */
function checkSums(state: Replayed): void {
  const accounts = new Map<string, Sums>();
  for (const { data } of state.values()) {
    if (data.type !== "account") continue;
    const sums = { entry: data.account, subentries: data.account.signers.length, sponsored: 0, sponsoring: 0 };
    accounts.set(data.account.accountId.toXdr("hex"), sums);
  }
  const of = (account: xdr.PublicKey) => accounts.get(account.toXdr("hex"))!;
  const sponsor = (owner: xdr.PublicKey | undefined, payer: xdr.PublicKey | null, reserves: number) => {
    if (payer === null) return;
    of(payer).sponsoring += reserves;
    if (owner) of(owner).sponsored += reserves;
  };
  for (const { data, ext } of state.values()) {
    const payer = ext.type === "v1" ? ext.v1.sponsoringId : null;
    if (data.type === "account") {
      const { accountId } = data.account;
      sponsor(accountId, payer, 2);
      for (const signerPayer of extensionsOf(data.account).signerSponsors) sponsor(accountId, signerPayer, 1);
    } else if (data.type === "trustline" || data.type === "data") {
      const { accountId } = data.type === "trustline" ? data.trustLine : data.data;
      of(accountId).subentries++;
      sponsor(accountId, payer, 1);
    } else if (data.type === "claimableBalance") {
      assert.ok(payer);
      sponsor(undefined, payer, data.claimableBalance.claimants.length);
    }
  }
  for (const { entry, subentries, sponsored, sponsoring } of accounts.values()) {
    const { numSponsored, numSponsoring, signerSponsors } = extensionsOf(entry);
    assert.equal(entry.numSubEntries, subentries);
    assert.deepEqual({ numSponsored, numSponsoring }, { numSponsored: sponsored, numSponsoring: sponsoring });
    assert.equal(signerSponsors.length, entry.signers.length);
    assert.ok(entry.balance >= BigInt(2 + subentries + sponsoring - sponsored) * 5_000_000n, "the reserve");
  }
}

const people = [issuer, alice, bob];
const anybody = fc.constantFrom(...people);
const amount = fc.integer({ min: 1, max: 3_000 }).map(String);
const asset = fc.constantFrom(usd, Asset.native());
const byAnybody = fc.oneof(
  fc.record({ to: anybody, amount, asset }).map(({ to, amount, asset }) =>
    Operation.payment({ destination: to.publicKey(), asset, amount })
  ),
  fc.constantFrom("0", "10", "10000").map((limit) => trust(limit)),
  fc.record({ name: fc.constantFrom("a", "b"), value: fc.constantFrom("x", null) }).map(Operation.manageData),
  fc.record({ asset, amount, whom: anybody }).map(({ asset, amount, whom }) =>
    Operation.createClaimableBalance({ asset, amount, claimants: [new Claimant(whom.publicKey())] })
  ),
  fc.constant(Operation.claimClaimableBalance),
  fc.constantFrom(0, 1, 2).map((weight) =>
    Operation.setOptions({ signer: { ed25519PublicKey: carol.publicKey(), weight } })
  ),
  ...Object.values(revoke).map((operation) => anybody.map(operation)),
  fc.constant(Operation.revokeClaimableBalanceSponsorship),
);
const byIssuer = fc.oneof(
  fc.record({ who: anybody, set: fc.constantFrom(0, AUTHORIZED, MAINTAINS), clear: fc.integer({ min: 0, max: 3 }) })
    .map(({ who, set, clear }) => lineFlags(who, set, clear & ~set)),
  fc.record({ to: fc.constantFrom(alice, bob), amount }).map(({ to, amount }) => payUsd(to, amount)),
  fc.record({ from: fc.constantFrom(alice, bob), amount }).map(({ from, amount }) => clawback(from, amount)),
  fc.constant(Operation.clawbackClaimableBalance),
);
const few = { minLength: 1, maxLength: 3 };
const step = fc.oneof(
  fc.record({ source: anybody, sponsor: fc.option(anybody), operations: fc.array(byAnybody, few) }),
  fc.record({ source: fc.constant(issuer), sponsor: fc.constant(null), operations: fc.array(byIssuer, few) }),
);

describe("a client that replays the metadata of classic operations", () => {
  test(
    "gets the network's entries, and the counts in them agree",
    { timeout: 120_000 },
    async () => {
      const applied = new Map<string, number>();
      const steps = fc.array(step, { minLength: 20, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(steps, async (steps) => {
          const { network, run } = await startAssetNetwork();
          run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
          for (const holder of [alice, bob]) run(holder, trust());
          const state: Replayed = new Map();
          const follow = () =>
            replay(state, changesOf(network.latestLedger().metadataXdr), network.latestLedger().sequence);
          for (let ledger = network.oldestLedger().sequence + 1; ledger <= network.latestLedger().sequence; ledger++) {
            replay(state, changesOf(network.ledger(ledger)!.metadataXdr), ledger);
          }
          const balances = () =>
            [...state.values()].flatMap(({ data }) =>
              data.type === "claimableBalance" ? [data.claimableBalance.balanceId.toXdr("hex")] : []
            );
          for (const { source, sponsor, operations: wanted } of steps) {
            const own = wanted.map((operation) =>
              typeof operation === "function" ? operation({ balanceId: balances()[0] ?? "00".repeat(36) }) : operation
            );
            const isSponsored = sponsor !== null && sponsor !== source;
            const made = isSponsored ? sponsored(source, sponsor, ...own) : own;
            const signers = isSponsored ? [source, sponsor] : [source];
            const { hash } = submit(network, signed(build(network, source, made), ...signers));
            network.closeLedger();
            follow();
            checkSums(state);
            const transaction = network.transaction(hash);
            for (const { body } of transaction?.successful ? made : []) {
              applied.set(body.type, (applied.get(body.type) ?? 0) + 1);
            }
          }
          for (const [key, entry] of state) {
            const held = network.entry(Uint8Array.fromHex(key));
            assert.ok(held, "the network has the entry");
            assert.equal(held.dataXdr.toHex(), entry.data.toXdr("hex"));
            assert.equal(held.extXdr.toHex(), entry.ext.toXdr("hex"));
            assert.equal(held.lastModifiedLedger, entry.lastModifiedLedgerSeq);
          }
          await network.stop();
        }),
        { numRuns: 8, seed: 67 },
      );
      assert.deepEqual([...applied.keys()].sort(), [
        "beginSponsoringFutureReserves",
        "changeTrust",
        "claimClaimableBalance",
        "clawback",
        "clawbackClaimableBalance",
        "createClaimableBalance",
        "endSponsoringFutureReserves",
        "manageData",
        "payment",
        "revokeSponsorship",
        "setOptions",
        "setTrustLineFlags",
      ], "every operation succeeded at least once");
    },
  );
});
