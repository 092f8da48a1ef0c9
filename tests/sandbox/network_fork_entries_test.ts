// needs: once
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Account, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import {
  accountKeyXdr,
  extensionsOf,
  newAccount,
  withExtensions,
  withFields,
} from "../../lib/sandbox/ledger/accounts.ts";
import type { Remote } from "../../lib/sandbox/fork/remote.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { AUTHORIZED, lineKey, trust, usd } from "./asset_network.ts";
import { create, merge } from "./envelope_parts.ts";
import { FORKED, openFork, openOrigin, remoteWith } from "./fork.ts";
import { alice, bob, keypair } from "./people.ts";
import { accountOf, apply, build, codesOf, fund, signed, startNetwork } from "./sandbox_network.ts";
import { accountKey, balanceBy, dave, revoke, sponsored } from "./sponsorship.ts";

const cosigner = keypair("cosigner");
const alices = newAccount(alice.rawPublicKey(), 1_000_000_000n, 7);
const bobs = newAccount(bob.rawPublicKey(), 1_000_000_000n, 7);
const held = (account: xdr.AccountEntry): [Uint8Array, xdr.LedgerEntryData] => [
  accountKeyXdr(account.accountId.ed25519.value),
  xdr.LedgerEntryData.account(account),
];

/** Alice's first transaction on the fork, unsigned. */
function transactionOf(operation: xdr.Operation): Transaction {
  const source = new Account(alice.publicKey(), alices.seqNum.toString());
  return new TransactionBuilder(source, { fee: "100", networkPassphrase: FORKED })
    .addOperation(operation).setTimeout(0).build();
}

/** Forks the network, reads what the transaction needs, and applies it. */
async function applyOnFork(
  forkOf: Remote,
  transaction: Transaction,
): Promise<{ network: SandboxNetwork; codes: string }> {
  const { network } = await startNetwork({ forkOf });
  const { complete, tryOut } = network.fork!;
  await complete(() => tryOut(transaction.toEnvelope().toXdr()));
  return { network, codes: codesOf(apply(network, transaction).resultXdr) };
}

/** A node, a node of its fork, and both nodes' extensions of an entry. */
async function forkedNodes(t: TestContext, prepare: (network: SandboxNetwork) => void) {
  const origin = await openOrigin();
  t.after(origin.stop);
  await fund(origin.network, alice, bob);
  prepare(origin.network);
  const fork = await openFork(origin.url);
  t.after(fork.stop);
  const extensions = (key: Uint8Array) =>
    Promise.all([origin, fork].map(async (node) => {
      const { result } = await node.call("getLedgerEntries", { keys: [key.toBase64()] });
      return result.entries[0].extXdr;
    }));
  return { fork, extensions };
}

describe("a fork", () => {
  test("reads the sponsor of a claimable balance, and returns the reserve when the balance is claimed", async (t) => {
    let id = "";
    const { fork, extensions } = await forkedNodes(t, (network) => {
      const creation = signed(build(network, alice, [balanceBy(alice, [bob])]), alice);
      id = creation.getClaimableBalanceId(0);
      assert.equal(apply(network, creation).successful, true);
    });
    const balanceId = xdr.ClaimableBalanceId.fromXdr(id, "hex");
    const key = xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId }));
    const [there, here] = await extensions(key.toXdr());
    assert.equal(here, there);
    await fork.rpc.getAccountEntry(bob.publicKey());
    const claim = build(fork.network, bob, [Operation.claimClaimableBalance({ balanceId: id })]);
    const { hash } = await fork.rpc.sendTransaction(signed(claim, bob));
    assert.equal((await fork.rpc.pollTransaction(hash)).status, "SUCCESS");
    await fork.rpc.getAccountEntry(alice.publicKey());
    assert.equal(extensionsOf(accountOf(fork.network, alice)).numSponsoring, 0);
  });

  test("reads an account whose sponsorship was revoked", async (t) => {
    const { fork, extensions } = await forkedNodes(t, (network) => {
      const creation = build(network, alice, sponsored(dave, alice, create(dave, "10")));
      apply(network, signed(creation, alice, dave));
      assert.equal(apply(network, signed(build(network, alice, [revoke.account(dave)]), alice)).successful, true);
    });
    // An extension without a sponsor, as stellar-core leaves it.
    assert.deepEqual(await extensions(accountKey(dave)), ["AAAAAQAAAAAAAAAA", "AAAAAQAAAAAAAAAA"]);
    assert.equal((await fork.rpc.getAccountEntry(dave.publicKey())).balance, 100_000_000n);
  });

  const removal = { signer: { ed25519PublicKey: cosigner.publicKey(), weight: 0 } };
  const removals: [how: string, operation: xdr.Operation, isPreAuthorized: boolean][] = [
    ["SetOptions removes the signer", Operation.setOptions(removal), false],
    ["the account is merged", merge(bob), false],
    ["the pre-authorised transaction is applied", Operation.bumpSequence({ bumpTo: "0" }), true],
  ];
  for (const [how, operation, isPreAuthorized] of removals) {
    for (const numSponsoring of [1, 0]) {
      const late = numSponsoring === 0 ? ", also if the sponsorship has ended there meanwhile" : "";
      test(`returns a signer's reserve to its sponsor when ${how}${late}`, async () => {
        const transaction = transactionOf(operation);
        const key = isPreAuthorized
          ? xdr.SignerKey.signerKeyTypePreAuthTx(transaction.hash())
          : xdr.SignerKey.signerKeyTypeEd25519(cosigner.rawPublicKey());
        if (!isPreAuthorized) transaction.sign(alice);
        const signers = [new xdr.Signer({ key, weight: 1 })];
        const sponsorship = { numSponsored: 1, signerSponsors: [bob.xdrAccountId()] };
        const forkOf = remoteWith(
          held(withExtensions(withFields(alices, { signers, numSubEntries: 1 }), sponsorship)),
          held(withExtensions(bobs, { numSponsoring })),
        );
        const { network, codes } = await applyOnFork(forkOf, transaction);
        assert.match(codes, /^txSuccess/);
        await network.fork!.complete(() => network.entry(accountKey(bob)));
        assert.equal(extensionsOf(accountOf(network, bob)).numSponsoring, 0);
        if (operation.body.type === "accountMerge") return;
        assert.equal(extensionsOf(accountOf(network, alice)).numSponsored, 0);
        assert.equal(accountOf(network, alice).numSubEntries, 0);
      });
    }
  }

  /** A trustline extension that counts the liquidity pools with the asset whose shares the account holds. */
  function withPoolUse(liquidityPoolUseCount: number): xdr.TrustLineEntryExt {
    const v2 = new xdr.TrustLineEntryExtensionV2({ liquidityPoolUseCount, ext: xdr.TrustLineEntryExtensionV2Ext.v0() });
    const liabilities = new xdr.Liabilities({ buying: 0n, selling: 0n });
    return xdr.TrustLineEntryExt.v1(new xdr.TrustLineEntryV1({ liabilities, ext: xdr.TrustLineEntryV1Ext.v2(v2) }));
  }

  const plain = xdr.TrustLineEntryExt.v0();
  const CLOSED = "txSuccess/changeTrust/changeTrustSuccess";
  const trustlines: [what: string, numSubEntries: number, ext: xdr.TrustLineEntryExt, code: string][] = [
    ["closes a trustline", 1, plain, CLOSED],
    ["closes a trustline opened there after the fork had read the account", 0, plain, CLOSED],
    ["closes the trustline of an asset that was in a liquidity pool", 1, withPoolUse(0), CLOSED],
    [
      "does not close the trustline of an asset that is in a liquidity pool: CannotDelete",
      1,
      withPoolUse(1),
      "txFailed/changeTrust/changeTrustCannotDelete",
    ],
  ];
  for (const [what, numSubEntries, ext, code] of trustlines) {
    test(what, async () => {
      const line = new xdr.TrustLineEntry({
        accountId: alice.xdrAccountId(),
        asset: xdr.TrustLineAsset.fromXdr(usd.toXdrObject().toXdr()),
        balance: 0n,
        limit: 100n,
        flags: AUTHORIZED,
        ext,
      });
      const [account, entry] = [withFields(alices, { numSubEntries }), xdr.LedgerEntryData.trustline(line)];
      const forkOf = remoteWith(held(account), [lineKey(alice), entry]);
      const { network, codes } = await applyOnFork(forkOf, signed(transactionOf(trust("0")), alice));
      assert.equal(codes, code);
      if (code.startsWith("txSuccess")) assert.equal(accountOf(network, alice).numSubEntries, 0);
    });
  }
});
